package journal

// A Code names what [Log.Verify] found. It never changes its meaning.
type Code string

// The codes that can be judged without seals, a log across runs and keys.
const (
	OK     Code = "ok"      // chained from the first event to run.finished
	OKOpen Code = "ok_open" // chained, and not finished

	UnknownKind    Code = "unknown_kind"    // finding only: a newer version wrote it
	TimeRegression Code = "time_regression" // finding only: a clock was set back
	UnsafeLink     Code = "unsafe_link"     // finding only: a file has a second name
	BodyWithheld   Code = "body_withheld"   // finding only: its text was never kept

	RunNotFound    Code = "run_not_found"
	RunMissing     Code = "run_missing"      // its folder is there, its events are not
	UnsafePath     Code = "unsafe_path"      // a symbolic link, or an id that is no name
	NotRegularFile Code = "not_regular_file" // a pipe, a device, a folder

	MalformedLine        Code = "malformed_line"
	LineTooLong          Code = "line_too_long"
	InvalidUTF8          Code = "invalid_utf8"
	DuplicateKey         Code = "duplicate_key"
	NoncanonicalEnvelope Code = "noncanonical_envelope"

	RunIDMismatch    Code = "run_id_mismatch"   // folder and manifest disagree
	ManifestMismatch Code = "manifest_mismatch" // the first event names another manifest
	ForeignRun       Code = "foreign_run"       // an event of another run
	SeqGap           Code = "seq_gap"
	SeqRepeat        Code = "seq_repeat"
	PrevMismatch     Code = "prev_mismatch" // the line before was altered
	BodyMismatch     Code = "body_mismatch" // a kept text was altered
	WriterConflict   Code = "writer_conflict"

	IncompleteTail     Code = "incomplete_tail" // a crash cut the last line; Recover mends it
	BodyMissing        Code = "body_missing"    // a kept text is gone; the chain holds
	UnsupportedVersion Code = "unsupported_version"
	IOError            Code = "io_error" // could not be read, so nothing is known
)

// A class is a group of codes with one exit code.
type class struct {
	name string
	exit int
}

var (
	classOK      = class{"ok", 0}
	classPath    = class{"run_not_found", 1}
	classLine    = class{"corrupt_event_line", 1}
	classChain   = class{"chain_verification_failed", 1}
	classPartial = class{"ok_partial", 2}
	classTail    = class{"incomplete_tail", 3}
	classIO      = class{"io", 4}
	classVersion = class{"unsupported", 5}
)

// class is that of io for anything unknown: what can't be judged isn't ok.
func (c Code) class() class {
	switch c {
	case OK, OKOpen, UnknownKind, TimeRegression, UnsafeLink, BodyWithheld:
		return classOK
	case RunNotFound, RunMissing, UnsafePath, NotRegularFile:
		return classPath
	case MalformedLine, LineTooLong, InvalidUTF8, DuplicateKey, NoncanonicalEnvelope:
		return classLine
	case RunIDMismatch, ManifestMismatch, ForeignRun, SeqGap, SeqRepeat, PrevMismatch, BodyMismatch, WriterConflict:
		return classChain
	case BodyMissing:
		return classPartial
	case IncompleteTail:
		return classTail
	case UnsupportedVersion:
		return classVersion
	default:
		return classIO
	}
}
