package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"
)

// A Report is what verifying a run found out.
type Report struct {
	Run string `json:"run"`
	// OK is true for the class ok, and for nothing else.
	OK bool `json:"ok"`
	// Code is the first failure in the order of checks, or OK or OKOpen; Class
	// groups it.
	Code  Code   `json:"code"`
	Class string `json:"class"`
	// AtSeq is the line where the failure shows, counted from 0; -1 for none.
	AtSeq int `json:"at_seq"`
	// Trust says whose word the chain is: "unsigned" is that of whoever could
	// write the files. See the package's doc on what that leaves open.
	Trust string `json:"trust"`
	// Binding says what ties the run to its commit: "unchecked".
	Binding string `json:"binding"`
	// Findings are all failures and remarks, at most 100.
	Findings []Finding `json:"findings"`
	Checked  Checked   `json:"checked"`
}

// A Finding is one thing worth knowing about a run.
type Finding struct {
	Code    Code   `json:"code"`
	Class   string `json:"class"`
	AtSeq   int    `json:"at_seq"` // -1 for none
	Message string `json:"message"`
}

// Checked is how much was read.
type Checked struct {
	Events int   `json:"events"`
	Bytes  int64 `json:"bytes"` // of events, with their line breaks
	MS     int64 `json:"ms"`
}

// maxFindings bounds a report.
const maxFindings = 100

// Exit returns the exit code for the report: 0 ok, 1 tampered with or not
// there, 2 a kept text is gone, 3 cut by a crash, 4 could not be read, 5 of a
// newer version.
func (r Report) Exit() int { return r.Code.class().exit }

// Verify checks a run: that its files are what they should be, its manifest,
// each line, the chain, the texts. It changes nothing, takes no lock, holds a
// line at a time, and goes on after a failure as far as it can, to find all.
// It may be called while the run is written: half a line on its way to the
// disk then looks like one cut by a crash.
func (l *Log) Verify(run string) Report {
	start := time.Now()
	v := verifier{report: Report{Run: run, AtSeq: -1, Trust: "unsigned", Binding: "unchecked", Findings: []Finding{}}}
	v.check(l)
	v.report.Checked.MS = time.Since(start).Milliseconds()
	return v.verdict()
}

// A verifier goes through one run.
type verifier struct {
	report Report
	failed bool
	damage bool   // a failure other than a torn tail
	run    string // id that lines must have
	state         // behind the last line read
	refs   []keptRef
}

// A keptRef is a Ref and the event it was found in.
type keptRef struct {
	Ref
	seq int
}

func (v *verifier) check(l *Log) {
	dir, err := l.folder(v.report.Run)
	if err != nil {
		v.fault(err)
		return
	}
	defer dir.Close()
	if !v.checkManifest(dir) || !v.checkEvents(dir) {
		return
	}
	v.checkBodies(dir)
}

// add notes a finding. The first one that is a failure becomes the verdict.
func (v *verifier) add(code Code, seq int, format string, args ...any) {
	c := code.class()
	f := Finding{code, c.name, seq, fmt.Sprintf(format, args...)}
	if len(v.report.Findings) < maxFindings {
		v.report.Findings = append(v.report.Findings, f)
	}
	if c.exit == 0 {
		return
	}
	v.damage = v.damage || code != IncompleteTail
	if !v.failed {
		v.failed = true
		v.report.Code, v.report.AtSeq = code, seq
	}
}

// fault notes an error; one without a code means that reading failed.
func (v *verifier) fault(err error) {
	code := IOError
	if f, ok := errors.AsType[*fault](err); ok {
		code, err = f.code, f.err
	}
	v.add(code, -1, "%v", err)
}

func (v *verifier) verdict() Report {
	r := v.report
	switch {
	case v.failed:
	case v.finished:
		r.Code = OK
	default:
		r.Code = OKOpen
	}
	r.Class, r.OK = r.Code.class().name, r.Exit() == 0
	return r
}

// checkManifest reports whether there is an id to compare lines with.
func (v *verifier) checkManifest(dir *os.Root) bool {
	m, raw, err := readManifest(dir)
	if f, ok := errors.AsType[*fault](err); ok && f.code == RunMissing {
		err = &fault{ManifestMismatch, f.err}
	}
	if err != nil {
		v.fault(err)
		return false
	}
	if m.Run != v.report.Run {
		v.add(RunIDMismatch, -1, "the folder is %s, its manifest is of run %s", v.report.Run, m.Run)
	}
	v.run, v.prev = m.Run, genesis(m.Run, raw)
	return true
}

// checkEvents reports whether all lines could be read.
func (v *verifier) checkEvents(dir *os.Root) bool {
	f, err := openIn(dir, eventsFile)
	if err != nil {
		v.fault(err)
		return false
	}
	defer f.Close()
	v.checkLinks(f)
	lines := newLines(f)
	for n := 0; ; n++ {
		line, err := lines.next()
		switch {
		case err == nil:
			v.checkLine(n, line)
			v.report.Checked.Events++
			v.report.Checked.Bytes += int64(len(line)) + 1
		case errors.Is(err, io.EOF):
			return true
		case errors.Is(err, errTorn) && v.finished:
			v.add(MalformedLine, n, "something follows the end of the run")
			return true
		case errors.Is(err, errTorn):
			v.add(IncompleteTail, n, "event %d is not whole: a crash cut it", n)
			return true
		case errors.Is(err, errLong):
			v.add(LineTooLong, n, "event %d is longer than %d bytes", n, maxLine)
			return false
		default:
			v.fault(err)
			return false
		}
	}
}

// checkLinks remarks on a second name through which a file could be changed.
func (v *verifier) checkLinks(f *os.File) {
	info, err := f.Stat()
	if err != nil {
		v.fault(err)
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
		v.add(UnsafeLink, -1, "%s has %d names", f.Name(), st.Nlink)
	}
}

// checkLine checks line n. After a failure the chain is taken up again behind
// the line, so that one change is told once or twice, not for all that follows.
func (v *verifier) checkLine(n int, line []byte) {
	e, code := parseLine(line)
	if code != "" {
		v.add(code, n, "event %d is not as it was written: %s", n, code)
		v.prev, v.seq = leafHash(line), v.seq+1
		v.size += int64(len(line)) + 1
		return
	}
	if e.Run != v.run {
		v.add(ForeignRun, n, "event %d is of run %s", n, e.Run)
	}
	switch {
	case e.Seq > v.seq:
		v.add(SeqGap, n, "event %d follows, %d was next", e.Seq, v.seq)
	case e.Seq < v.seq:
		v.add(SeqRepeat, n, "event %d comes again, %d was next", e.Seq, v.seq)
	}
	switch {
	case e.Prev == v.prev:
	case n == 0:
		v.add(ManifestMismatch, n, "event 0 is chained to another manifest, or was altered")
	default:
		v.add(PrevMismatch, n, "event %d was altered: event %d is chained to something else", n-1, n)
	}
	v.checkMeaning(n, e)
	v.advance(e, int64(len(line))+1)
}

// checkMeaning looks at what a line that is whole says.
func (v *verifier) checkMeaning(n int, e Entry) {
	if v.finished {
		v.add(WriterConflict, n, "event %d follows the end of the run", n)
	}
	if !e.checks() {
		v.add(PrevMismatch, n, "event %d was altered: it doesn't fit its own check", n)
	}
	if _, known := kinds[e.Kind]; !known {
		v.add(UnknownKind, n, "event %d is a %s, which this version doesn't know", n, e.Kind)
	}
	if n > 0 && (e.At.Before(v.at) || e.Mono < v.mono) {
		v.add(TimeRegression, n, "event %d is older than the one before", n)
	}
	switch e.Kind {
	case RunFinished{}.Kind():
		v.finished = true
	case Gap{}.Kind():
		var gap Gap
		if json.Unmarshal(e.Body, &gap) == nil && gap.Reason == reasonConflict {
			v.add(WriterConflict, gap.AtSeq, "somebody else wrote from event %d on", gap.AtSeq)
		}
	}
	for _, ref := range refsOf(e.Body) {
		if ref.I == withheld {
			v.add(BodyWithheld, n, "a text of %d bytes was not kept", ref.Len)
			continue
		}
		v.refs = append(v.refs, keptRef{ref, n})
	}
}

// refsOf finds the Refs in a canonical body. Their first key is "h", the quotes
// tell it from the same text inside of a string, and they hold no object. That
// form is part of the version of a line.
func refsOf(body []byte) []Ref {
	var all []Ref
	for {
		i := bytes.Index(body, []byte(`{"h":"`))
		if i < 0 {
			return all
		}
		body = body[i:]
		var ref Ref
		end := bytes.IndexByte(body, '}') + 1
		if json.Unmarshal(body[:end], &ref) == nil && isDigest(ref.H) {
			all = append(all, ref)
		}
		body = body[1:]
	}
}

// checkBodies compares the kept texts with their digests. Texts that no event
// refers to are leftovers of a crash.
func (v *verifier) checkBodies(dir *os.Root) {
	if len(v.refs) == 0 {
		return
	}
	slices.SortStableFunc(v.refs, func(a, b keptRef) int { return cmp.Compare(a.I, b.I) })
	f, err := openIn(dir, bodiesFile)
	if f, ok := errors.AsType[*fault](err); ok && f.code == RunMissing {
		v.add(BodyMissing, v.refs[0].seq, "%s is gone, with %d texts", bodiesFile, len(v.refs))
		return
	}
	if err != nil {
		v.fault(err)
		return
	}
	defer f.Close()
	v.checkLinks(f)
	frames := newFrames(f)
	var length int
	var digest string
	for i, ref := range v.refs {
		for frames.n <= ref.I {
			length, digest, err = frames.next(nil)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				v.add(BodyMissing, ref.seq, "text %d of event %d is gone, with %d more", ref.I, ref.seq, len(v.refs)-i-1)
				return
			}
			if err != nil {
				v.fault(err)
				return
			}
		}
		v.frames, v.bodiesSize = frames.n, frames.size
		if length != ref.Len || digest != ref.H {
			v.add(BodyMismatch, ref.seq, "text %d of event %d was altered", ref.I, ref.seq)
		}
	}
}
