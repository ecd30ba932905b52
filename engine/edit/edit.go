// Package edit turns a model's reply into new file contents, or into a refusal that says what to send next.
//
// The package is pure: a reply and a read-only [Tree] go in, a list of [Change] values or a [Code] comes out.
// Whoever called writes. That split is what lets a reply be all or nothing: every edit is tried on an overlay
// in memory, and one that fails leaves nothing to undo.
//
// # What a reply may hold
//
// The block decides, not the format that was asked for. A search/replace block
//
//	path/to/file.go
//	<<<<<<< SEARCH
//	lines as they are now
//	=======
//	lines as they should be
//	>>>>>>> REPLACE
//
// is read under every [Format]. A whole file (a path, then a fence) is read only under [FullFile] and [Auto]:
// unasked, a path above a fence is usually an excerpt, and writing it would gut the file. Patches are
// recognised so that they can be refused by name; they are never taken for content.
//
// # What makes an edit safe
//
// Comparison goes through a table of tiers, strictest first, and the first tier with a hit decides: two hits
// are refused as [AmbiguousMatch], never resolved by taking the first (Aider-AI/aider#1988) or by a similarity
// score (cline/cline#2544). Paths are not guessed. A comment such as "rest unchanged" is refused
// ([ElidedContent]) unless the file already has it. Lines that an edit leaves alone keep their bytes: line
// ending, trailing blanks, byte order mark, missing final newline, file mode.
//
// # How to use it
//
// Call [Apply], record [Result.Ops], hand [Result.Changes] to the writer, or send [Result.Feedback] back to the
// model and tell the [Ladder] with [Ladder.Note]. The ladder says which format to ask for next. The writer must
// compare [Change.Before] with the file it replaces, and must not follow links: paths in changes are already
// free of them.
package edit

import (
	"io/fs"
	"strings"
)

// A Tree is the folder that edits are computed against. Names are slash-separated, relative to its root, and
// never hold "..", a link or an empty element except as the last element given to Lstat and Readlink.
// Apply calls it from one goroutine and expects it not to change meanwhile.
//
// A Tree that also has ReadDir(name string) ([]fs.DirEntry, error), with "." for the root, lets the feedback
// suggest names for a path that does not exist.
type Tree interface {
	// Lstat describes name without following a link; the error wraps fs.ErrNotExist when nothing is there.
	Lstat(name string) (fs.FileInfo, error)
	// Readlink returns the text of a link, unresolved.
	Readlink(name string) (string, error)
	// Read returns the whole regular file. Apply has checked its size with Lstat first.
	Read(name string) ([]byte, error)
}

// A Format names a way of writing edits that the model can be asked for.
type Format string

const (
	// SearchReplace asks for blocks that quote the lines to change; the first rung of the ladder.
	SearchReplace Format = "search_replace"
	// Patch asks for patches. They are not read yet; a reply is treated as under SearchReplace.
	Patch Format = "patch"
	// FullFile asks for whole files, which are read under this format and Auto alone.
	FullFile Format = "full_file"
	// Auto takes whatever can be recognised: blocks first, whole files when there are none.
	Auto Format = "auto"
)

// An Op reports one edit of an applied reply, for the journal. There is one for each edit of the reply, also
// for those that were skipped: they change no lines and say why in Warnings.
type Op struct {
	N            int      `json:"n"`              // position in the reply, from 1
	Kind         string   `json:"kind"`           // update or create
	Path         string   `json:"path"`           // the file changed, after links
	Tier         string   `json:"tier,omitempty"` // how SEARCH was found; "eol" is exact but for CRLF
	StartLine    int      `json:"start_line"`     // first line of the range, from 1, in the file as earlier edits left it
	LinesRemoved int      `json:"lines_removed"`  // length of the range before
	LinesAdded   int      `json:"lines_added"`    // length of the range after
	Format       Format   `json:"format_used"`    // the form the model chose
	Warnings     []string `json:"warnings"`       // noop_skipped, duplicate_dropped, ignored_fence
}

// A Change is one file to write. Before is what was loaded: a writer that finds something else must refuse with
// [StaleFile]. Changes of one result have distinct paths.
type Change struct {
	Path          string // relative, slash-separated, without links
	Before, After []byte
	Existed       bool        // false: parents may have to be made
	Delete        bool        // After is nil; no format of today deletes files
	Mode          fs.FileMode // permission bits: the file's own, or 0644 for a new file
}

// A Failure is one edit that could not be applied. Message is one sentence in lower case.
type Failure struct {
	N           int    `json:"n"` // position in the reply, from 1; 0 when the reply as a whole failed
	Code        Code   `json:"code"`
	Path        string `json:"path"` // after links where they could be followed, else as written
	Message     string `json:"message"`
	AfterFailed bool   `json:"after_failed"` // an earlier edit of the same file failed, which may be the cause
	Lines       int    `json:"-"`            // length of the file; the ladder asks for whole files only when it is short
}

// A Result is what became of a reply. With a Code there are no Ops and no Changes.
type Result struct {
	Code     Code // of the first failing edit; "" = every edit applied
	Ops      []Op
	Changes  []Change
	Failures []Failure // every edit that failed, in the order of the reply
	Feedback string    // what to tell the model, at most 60 lines; "" on success
	Tried    bool      // the reply tried to edit; false for plain prose, which costs no retry
}

// maxWork bounds one Apply in lines looked at. It is a fifth of a second on a small machine, and far beyond
// any reply a model can write: 1,000 edits of a 30,000-line file. What exceeds it is refused as too_large.
const maxWork = 1 << 25

// Apply computes the edits of reply against t. f is the format the model was asked for: it decides whether
// whole files are read and which example the feedback shows. Apply writes nothing and returns no error; what
// goes wrong with t is reported as [IOError].
func Apply(reply string, f Format, t Tree) Result {
	v := newOverlay(t)
	found := scan(normalise(reply), f, v)
	if len(found.ops) == 0 {
		return refuseWhole(f, found)
	}
	r := report{total: len(found.ops), format: f, view: v}
	ops := v.run(found.ops, &r)
	if len(r.failures) > 0 {
		return r.result()
	}
	changes := v.changes()
	if len(changes) == 0 {
		r.add(nil, refuse(NoOp, "the reply changes nothing: every edit leaves its file as it is"), false)
		return r.result()
	}
	return Result{Ops: ops, Changes: changes, Tried: true}
}

// normalise makes the reply's own line endings and byte order mark disappear: they belong to the transport.
func normalise(reply string) string {
	return strings.ReplaceAll(strings.TrimPrefix(reply, "\uFEFF"), "\r\n", "\n")
}

// run tries every operation in order. A failed one is left out of the overlay and the rest are still tried, so
// that the model hears of all its mistakes at once.
func (v *overlay) run(ops []op, r *report) []Op {
	done := make([]Op, 0, len(ops))
	seen := map[string]bool{}
	failed := map[string]bool{}
	for i := range ops {
		o := &ops[i]
		if key := o.identity(); key != "" && seen[key] {
			done = append(done, Op{N: o.n, Kind: "update", Path: o.path, Format: o.format, Warnings: []string{"duplicate_dropped"}})
			continue
		} else if key != "" {
			seen[key] = true
		}
		made, no := v.apply(o)
		if no != nil {
			r.add(o, no, failed[no.path])
			failed[no.path] = true
			continue
		}
		made.Warnings = append(made.Warnings, o.warnings...)
		done = append(done, made)
	}
	return done
}

// apply does one operation on the overlay, or says why not.
func (v *overlay) apply(o *op) (Op, *refusal) {
	if o.code != "" {
		return Op{}, refuse(o.code, "%s", o.note).at(o.path)
	}
	f, no := v.open(o.path)
	if no != nil {
		return Op{}, no.at(o.path)
	}
	if !v.spend(f.length() + o.length()) {
		return Op{}, refuse(TooLarge, "the reply asks for more edits than can be checked at once").in(f)
	}
	do := v.searchReplace
	if o.format == FullFile {
		do = v.fullFile
	}
	made, no := do(o, f)
	if no != nil {
		return Op{}, no.in(f)
	}
	made.N, made.Path, made.Format = o.n, f.path, o.format
	return made, nil
}
