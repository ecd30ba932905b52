package repo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"hob/journal/durable"
)

// copyTimeout bounds what copies a whole repository or writes a whole tree.
const copyTimeout = 30 * time.Minute

// storeConfig is all the configuration the store has. Nothing of the user's is
// copied, and no remote is kept: a URL is read afresh for each push.
const storeConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
	logallrefupdates = false
[gc]
	auto = 0
[maintenance]
	auto = 0
`

// storeAttributes switches off whatever a .gitattributes file asks for:
// info/attributes has the highest precedence (gitattributes(5)).
const storeAttributes = "* -text -eol -ident -filter -working-tree-encoding !diff -merge\n"

// makeStore clones the store beside its name and renames it, so that a store that
// exists is complete. It is a clone, not a borrower of the user's objects: a gc of
// theirs can't take an object that hob's work stands on.
func (r *Repo) makeStore(ctx context.Context) error {
	if _, err := os.Stat(r.store); err == nil && r.sound(ctx) {
		return nil
	} else if err == nil {
		// What is in it may be the only copy of unpushed work: kept, and made anew beside.
		r.damaged = r.store + ".damaged-" + rand.Text()
		if err := os.Rename(r.store, r.damaged); err != nil {
			return err
		}
	}
	old, err := filepath.Glob(filepath.Join(r.opt.State, "store.new*"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.RemoveAll(name); err != nil {
			return err
		}
	}
	// A new name each time: the git of a killed process may still write to the old.
	half := filepath.Join(r.opt.State, "store.new-"+rand.Text())
	if err := r.clone(ctx, half); err != nil {
		return err
	}
	if err := settleStore(half); err != nil {
		return err
	}
	if err := os.Rename(half, r.store); err != nil {
		return err
	}
	if err := syncDir(r.opt.State); err != nil {
		return err
	}
	r.step(StepStore)
	return nil
}

// sound reports whether git takes the store for a repository at all.
func (r *Repo) sound(ctx context.Context) bool {
	_, err := r.inStore(ctx, "for-each-ref", "--count=1")
	return err == nil
}

// Damaged is where a store that git no longer took for one was put on opening; empty
// when it was sound.
func (r *Repo) Damaged() string { return r.damaged }

func (r *Repo) clone(ctx context.Context, to string) error {
	var err error
	for _, how := range []string{"--local", "--no-local"} {
		if rerr := os.RemoveAll(to); rerr != nil {
			return rerr
		}
		// --dissociate: go-git parses a pack's whole index again for each object it
		// finds through an alternate, so the store must borrow from nobody.
		_, err = r.git.run(ctx, call{
			timeout: copyTimeout,
			args:    []string{"clone", "--quiet", "--bare", how, "--dissociate", "--no-tags", "--template=", "--", r.place.CommonDir, to},
		})
		if err == nil {
			break // a gc of the user's may pull a pack from under --local
		}
	}
	if err != nil {
		return err
	}
	odd, err := oddPacks(to)
	if err != nil || !odd {
		return err
	}
	_, err = r.git.run(ctx, call{timeout: copyTimeout, gitDir: to, args: []string{"repack", "-a", "-d", "--quiet"}})
	return err
}

// oddPacks reports whether a store has packs that go-git can't name: those of
// git maintenance are called loose-<hash> (git-maintenance(1), loose-objects).
func oddPacks(store string) (bool, error) {
	packs, err := filepath.Glob(filepath.Join(store, "objects", "pack", "*.pack"))
	if err != nil {
		return false, err
	}
	plain := regexp.MustCompile(`^pack-[0-9a-f]{40}\.pack$`)
	for _, p := range packs {
		if !plain.MatchString(filepath.Base(p)) {
			return true, nil
		}
	}
	return false, nil
}

// settleStore drops the copied branches and the origin, and writes the store's own files.
func settleStore(store string) error {
	for _, name := range []string{"refs", "packed-refs", "hooks", "logs"} {
		if err := os.RemoveAll(filepath.Join(store, name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"refs/heads", "info"} {
		if err := os.MkdirAll(filepath.Join(store, name), 0o700); err != nil {
			return err
		}
	}
	files := map[string]string{"config": storeConfig, "HEAD": "ref: refs/heads/none\n", "info/attributes": storeAttributes}
	for name, text := range files {
		if err := durable.WriteFile(durable.OS(), filepath.Join(store, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// inStore is a sealed git command on the store.
func (r *Repo) inStore(ctx context.Context, args ...string) ([]byte, error) {
	return r.git.run(ctx, call{gitDir: r.store, timeout: 5 * time.Minute, args: args})
}

// ref returns what a full ref name of the store points at; "" when there is none.
func (r *Repo) ref(ctx context.Context, name string) (string, error) {
	out, err := r.git.run(ctx, call{
		gitDir: r.store, timeout: askTimeout, quiet: true,
		args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", name},
	})
	return strings.TrimSpace(string(out)), err
}

// setRef moves a ref of the store from old to oid, or fails; "" for old means
// absent, for oid deleted.
func (r *Repo) setRef(ctx context.Context, name, oid, old string) error {
	args := []string{"update-ref", name, oid, orZero(old)}
	if oid == "" {
		args = []string{"update-ref", "-d", name, orZero(old)}
	}
	_, err := r.inStore(ctx, args...)
	return err
}

func orZero(oid string) string {
	if oid == "" {
		return plumbing.ZeroHash.String()
	}
	return oid
}

// contains reports whether tip is oid or has it among its ancestors. Both must be
// in the store.
func (r *Repo) contains(ctx context.Context, tip, oid string) (bool, error) {
	if tip == oid {
		return true, nil
	}
	_, err := r.inStore(ctx, "merge-base", "--is-ancestor", oid, tip)
	var ge *gitError
	if errors.As(err, &ge) && ge.code == 1 && ge.cause == nil {
		return false, nil
	}
	return err == nil, err
}

// objects are the blobs, trees and commits of the store, through go-git. It sees
// the packs that were there when it was opened: open one per act, after fetching.
type objects struct {
	*filesystem.Storage

	dir     string // the store's folder of objects
	written map[plumbing.Hash]bool
}

func (r *Repo) objects() *objects {
	s := filesystem.NewStorage(osfs.New(r.store), cache.NewObjectLRU(16*cache.MiByte))
	return &objects{Storage: s, dir: filepath.Join(r.store, "objects"), written: map[plumbing.Hash]bool{}}
}

// encodable is a tree or a commit.
type encodable interface {
	Encode(plumbing.EncodedObject) error
}

func (o *objects) encode(e encodable) (plumbing.Hash, error) {
	obj := &plumbing.MemoryObject{}
	if err := e.Encode(obj); err != nil {
		return plumbing.ZeroHash, err
	}
	return o.put(obj)
}

func (o *objects) blob(content []byte) (plumbing.Hash, error) {
	obj := &plumbing.MemoryObject{}
	obj.SetType(plumbing.BlobObject)
	if _, err := obj.Write(content); err != nil {
		return plumbing.ZeroHash, err
	}
	return o.put(obj)
}

// put writes an object as a loose file unless the store has it. It lasts after sync.
func (o *objects) put(obj plumbing.EncodedObject) (plumbing.Hash, error) {
	h := obj.Hash()
	loose := o.loose(h)
	if info, err := os.Lstat(loose); err == nil && info.Size() == 0 {
		// Power went before an earlier sync; go-git would leave the empty file.
		if err := os.Remove(loose); err != nil {
			return h, err
		}
	}
	o.written[h] = true
	if o.HasEncodedObject(h) == nil {
		return h, nil
	}
	_, err := o.SetEncodedObject(obj)
	return h, err
}

func (o *objects) loose(h plumbing.Hash) string {
	hex := h.String()
	return filepath.Join(o.dir, hex[:2], hex[2:])
}

// sync makes all that was put last: go-git syncs nothing. What was there before is
// synced too, because a killed process may have written it.
func (o *objects) sync() error {
	dirs := map[string]bool{o.dir: true}
	for h := range o.written {
		name := o.loose(h)
		err := syncFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // in a pack, which git synced
		}
		if err != nil {
			return err
		}
		dirs[filepath.Dir(name)] = true
	}
	for dir := range dirs {
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	clear(o.written)
	return nil
}

func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// syncDir makes the names in a folder last.
func syncDir(name string) error { return syncFile(name) }

// treeOf returns the tree of a commit or tree, named by object id or branch.
func (r *Repo) treeOf(ctx context.Context, o *objects, rev string) (*object.Tree, error) {
	out, err := r.git.run(ctx, call{
		gitDir: r.store, timeout: askTimeout,
		args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", rev + "^{tree}"},
	})
	if err != nil {
		return nil, fmt.Errorf("find tree of %s: %w", rev, err)
	}
	return object.GetTree(o, plumbing.NewHash(strings.TrimSpace(string(out))))
}

// content reads a whole blob.
func (o *objects) content(h plumbing.Hash) ([]byte, error) {
	b, err := object.GetBlob(o, h)
	if err != nil {
		return nil, err
	}
	rd, err := b.Reader()
	if err != nil {
		return nil, err
	}
	defer rd.Close()
	return io.ReadAll(rd)
}

// File returns the content of the file at path in a commit or tree, given by
// object id or by branch of the store; [fs.ErrNotExist] when nothing is there, an
// error when it is no regular file. Nothing of the user's work tree is read.
func (r *Repo) File(ctx context.Context, rev, path string) ([]byte, error) {
	o := r.objects()
	tree, err := r.treeOf(ctx, o, rev)
	if err != nil {
		return nil, err
	}
	entry, err := o.lookup(tree, path)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	if !entry.Mode.IsFile() || entry.Mode == filemode.Symlink {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	return o.content(entry.Hash)
}

// lookup finds a path in a tree; [fs.ErrNotExist] when it isn't there.
func (o *objects) lookup(tree *object.Tree, path string) (*object.TreeEntry, error) {
	dir, rest, below := strings.Cut(path, "/")
	i := slices.IndexFunc(tree.Entries, func(e object.TreeEntry) bool { return e.Name == dir })
	if i < 0 || below && tree.Entries[i].Mode != filemode.Dir {
		return nil, fs.ErrNotExist
	}
	if !below {
		return &tree.Entries[i], nil
	}
	sub, err := object.GetTree(o, tree.Entries[i].Hash)
	if err != nil {
		return nil, err
	}
	return o.lookup(sub, rest)
}
