package edit

import (
	"bytes"
	"io/fs"
	"path"
)

// An overlay is the tree as the edits so far would leave it. Only what edits touch is loaded.
type overlay struct {
	tree    Tree
	files   map[string]*file // by resolved path
	order   []*file          // as first touched
	folders map[string]bool  // that new files will need
	stats   map[string]stat
	work    int // lines that may still be looked at
}

// A stat is an answer of the tree about one name.
type stat struct {
	mode fs.FileMode
	size int64
	ok   bool
	no   *refusal // it could not be asked
}

// A file is one file in the overlay.
type file struct {
	path    string
	existed bool // in the tree
	present bool // now
	mode    fs.FileMode
	before  []byte
	text    *text
	whole   []string // what a whole-file edit made of it
	replace bool     // whether there was one
	no      *refusal // why it cannot be edited at all
}

func newOverlay(t Tree) *overlay {
	return &overlay{tree: t, files: map[string]*file{}, folders: map[string]bool{}, stats: map[string]stat{}, work: maxWork}
}

// spend takes n lines from the allowance and reports whether there was enough.
func (v *overlay) spend(n int) bool {
	v.work -= n
	return v.work >= 0
}

// length is the number of lines of the file as it stands.
func (f *file) length() int { return len(f.text.lines) }

// open resolves a path and loads its file. A path with nothing there opens as an absent file.
func (v *overlay) open(raw string) (*file, *refusal) {
	name, no := v.resolve(raw)
	if no != nil {
		return nil, no
	}
	f := v.files[name]
	if f == nil {
		f = v.load(name)
		v.files[name] = f
		v.order = append(v.order, f)
	}
	if f.no != nil {
		return nil, f.no
	}
	return f, nil
}

func (v *overlay) load(name string) *file {
	f := &file{path: name, mode: 0o644, text: fresh()}
	s := v.stats[name]
	if !s.ok {
		return f
	}
	f.existed, f.mode = true, s.mode.Perm()
	if s.size > maxFile {
		f.no = refuse(TooLarge, "the file has %d bytes; the limit is %d", s.size, maxFile)
		return f
	}
	b, err := v.tree.Read(name)
	if err != nil {
		f.no = refuse(IOError, "read %s: %v", name, err)
		return f
	}
	if len(b) > maxFile {
		f.no = refuse(TooLarge, "the file has %d bytes; the limit is %d", len(b), maxFile)
		return f
	}
	f.present, f.before = true, b
	if f.text, f.no = decode(b); f.no != nil {
		f.text = fresh()
	}
	return f
}

// put makes t the content of f, creating f if need be.
func (v *overlay) put(f *file, t *text) *refusal {
	if t.size() > maxFile {
		return refuse(TooLarge, "the file would grow over %d bytes", maxFile)
	}
	f.text, f.present = t, true
	for dir := path.Dir(f.path); !f.existed && dir != "." && !v.folders[dir]; dir = path.Dir(dir) {
		v.folders[dir] = true
	}
	return nil
}

// changes lists what differs from the tree, in the order of first touch.
func (v *overlay) changes() []Change {
	var list []Change
	for _, f := range v.order {
		if !f.present || f.no != nil {
			continue
		}
		after := f.text.encode()
		if f.existed && bytes.Equal(f.before, after) {
			continue
		}
		list = append(list, Change{Path: f.path, Before: f.before, After: after, Existed: f.existed, Mode: f.mode})
	}
	return list
}
