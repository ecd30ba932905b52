package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hob/journal/durable"
)

// Base is where the next item starts.
type Base struct {
	OID      string // the commit the item's tree is taken from, and the parent of its commit
	Branch   string // the user's branch the base was taken from; "" on a detached HEAD
	OnAgent  bool   // OID is the tip of the agent branch, ahead of Branch
	Behind   int    // commits of Branch that OID doesn't hold
	Warnings []string
}

// fetchRemoteTimeout bounds the look at the remote before an item; it is best effort.
const fetchRemoteTimeout = 30 * time.Second

// Base refreshes the store from the user's repository and decides where the next
// item starts: at the tip of the agent branch, unless everything there is merged
// into the base, then at the base. The base is configured, or with "" the branch
// HEAD is on; during a rebase the branch being rebased.
//
// Three copies of the agent branch count: the store's, the user's repository's and
// the remote's. The one that holds the others wins, so commits of people become the
// base. A copy that a person deleted or moved back after it was published is a
// rejection: hob follows when no other copy and no unpublished work stand against
// it. What can't be settled by moving forward is [ErrDiverged]. An unreachable
// remote is only a warning.
//
// The store's agent branch is moved to the copy that wins. The error is
// [ErrNoCommits] in an empty repository and [ErrNoBase] when configured names nothing.
func (r *Repo) Base(ctx context.Context, configured, agentBranch string) (Base, error) {
	ref, err := branchRef(agentBranch)
	if err != nil {
		return Base{}, err
	}
	var b Base
	start, err := r.userBase(ctx, configured, &b)
	if err != nil {
		return Base{}, err
	}
	c := copies{ref: ref}
	if c.here, err = r.userRef(ctx, ref); err != nil {
		return Base{}, err
	}
	want := []string{start.name}
	if c.here != "" {
		want = append(want, ref)
	}
	if err := r.fetchUser(ctx, want, start.oid, c.here); err != nil {
		return Base{}, err
	}
	if err := r.seeCopies(ctx, agentBranch, &c, &b); err != nil {
		return Base{}, err
	}
	tip, err := r.settle(ctx, &c, start.oid, &b)
	if err != nil {
		return Base{}, err
	}
	if tip != c.store {
		if err := r.setRef(ctx, ref, tip, c.store); err != nil {
			return Base{}, fmt.Errorf("adopt %s: %w", agentBranch, err)
		}
	}
	if err := r.noteSeen(ctx, agentBranch, &c); err != nil {
		return Base{}, err
	}
	return b, r.choose(ctx, &b, start.oid, tip, agentBranch)
}

// branchRef returns the full name of a branch, refusing what git would not take.
func branchRef(branch string) (string, error) {
	if !validRef(branch) {
		return "", fmt.Errorf("branch %q: not a valid name", branch)
	}
	return "refs/heads/" + branch, nil
}

// revision is a name in the user's repository and the commit it stood for.
type revision struct{ name, oid string }

// userBase finds the base commit in the user's repository without writing there.
func (r *Repo) userBase(ctx context.Context, configured string, b *Base) (revision, error) {
	if configured != "" {
		return r.configuredBase(ctx, configured, b)
	}
	name, err := r.headBranch(ctx)
	if err != nil {
		return revision{}, err
	}
	if name == "" {
		name = "HEAD"
		b.Warnings = append(b.Warnings, "HEAD is detached: items start from that commit")
	}
	b.Branch = strings.TrimPrefix(name, "refs/heads/")
	if name == "HEAD" {
		b.Branch = ""
	}
	oid, err := r.userRef(ctx, name)
	if err == nil && oid == "" {
		err = ErrNoCommits
	}
	return revision{name, oid}, err
}

func (r *Repo) configuredBase(ctx context.Context, configured string, b *Base) (revision, error) {
	for _, prefix := range []string{"refs/heads/", "refs/remotes/", "refs/tags/"} {
		oid, err := r.userRef(ctx, prefix+configured)
		if err != nil {
			return revision{}, err
		}
		if oid != "" {
			b.Branch = configured
			return revision{prefix + configured, oid}, nil
		}
	}
	if head, err := r.userRef(ctx, "HEAD"); err != nil || head == "" {
		return revision{}, errors.Join(err, ErrNoCommits)
	}
	return revision{}, fmt.Errorf("find base %q: %w", configured, ErrNoBase)
}

// headBranch returns the full name of the branch HEAD is on, or of the branch that
// a rebase has taken HEAD off; "" when HEAD is plainly detached.
func (r *Repo) headBranch(ctx context.Context) (string, error) {
	out, err := r.git.run(ctx, call{
		gitDir: r.place.GitDir, timeout: askTimeout, quiet: true, args: []string{"symbolic-ref", "--quiet", "HEAD"},
	})
	if name := strings.TrimSpace(string(out)); err != nil || name != "" {
		return name, err
	}
	// The files of git-rebase(1): one folder for each of its two backends.
	for _, file := range []string{"rebase-merge/head-name", "rebase-apply/head-name"} {
		name, err := readSmall(filepath.Join(r.place.GitDir, file))
		if err == nil && strings.HasPrefix(name, "refs/heads/") && validRef(name) {
			return name, nil
		}
	}
	return "", nil
}

// readSmall reads a one-line file.
func readSmall(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	return strings.TrimSpace(string(b)), err
}

// userRef returns the commit a full ref name stands for in the user's repository;
// "" when there is none.
func (r *Repo) userRef(ctx context.Context, name string) (string, error) {
	out, err := r.git.run(ctx, call{
		gitDir: r.place.GitDir, timeout: askTimeout, quiet: true,
		args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"},
	})
	return strings.TrimSpace(string(out)), err
}

// fetchUser brings refs of the user's repository into the store, objects only. It
// reads through upload-pack, which writes nothing there. A branch that moved
// between asking and fetching is fetched once more.
func (r *Repo) fetchUser(ctx context.Context, names []string, oids ...string) error {
	args := append([]string{
		"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules",
		"--update-shallow", "--", r.place.GitDir,
	}, names...)
	if r.hasCommits(ctx, oids) {
		return nil
	}
	for range 2 {
		if _, err := r.git.run(ctx, call{gitDir: r.store, timeout: copyTimeout, args: args}); err != nil {
			return fmt.Errorf("refresh store: %w", err)
		}
		if r.hasCommits(ctx, oids) {
			return nil
		}
	}
	return fmt.Errorf("refresh store: %s moves faster than it can be fetched", strings.Join(names, ", "))
}

// hasCommits reports whether the store holds commits with everything they need. An
// object alone proves nothing: a killed fetch may have left it without its parents.
func (r *Repo) hasCommits(ctx context.Context, oids []string) bool {
	args := []string{"rev-list", "--quiet", "--objects"}
	for _, oid := range oids {
		if oid != "" {
			args = append(args, oid)
		}
	}
	args = append(args, "--not", "--all")
	_, err := r.inStore(ctx, args...)
	return err == nil
}

// copies are the tips of one agent branch; "" where it doesn't exist.
type copies struct {
	ref                 string
	store, here, remote string
	// wasHere and wasRemote are the tips hob last published to, or saw at, each place.
	wasHere, wasRemote string
	asked              bool // the remote answered, so remote is what it has now
}

// seeCopies fills in the copies besides the user's own.
func (r *Repo) seeCopies(ctx context.Context, branch string, c *copies, b *Base) error {
	var err error
	if c.store, err = r.ref(ctx, c.ref); err != nil {
		return err
	}
	published, err := r.published()
	if err != nil {
		return err
	}
	c.wasHere = published[branch]
	if c.wasRemote, err = r.ref(ctx, upstreamRef(branch)); err != nil {
		return err
	}
	if r.opt.Remote == "" {
		c.wasRemote = ""
		return nil
	}
	url, err := r.remoteURL(ctx, r.opt.Remote)
	if err != nil || url.text == "" {
		c.wasRemote = ""
		return err
	}
	listed, err := r.listRemote(ctx, url, c.ref)
	if err == nil && listed.tip != "" {
		err = r.fetchRemote(ctx, url, c.ref, listed.tip)
	}
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		c.remote = c.wasRemote
		b.Warnings = append(b.Warnings, fmt.Sprintf("the remote %s could not be read: %v", r.opt.Remote, err))
		return nil
	}
	c.remote, c.asked = listed.tip, true
	return nil
}

func upstreamRef(branch string) string { return "refs/hob/upstream/" + branch }

// fetchRemote brings a ref of the remote into the store, objects only: what was seen
// there before is remembered until the new is settled.
func (r *Repo) fetchRemote(ctx context.Context, url remoteURL, ref, tip string) error {
	if r.hasCommits(ctx, []string{tip}) {
		return nil
	}
	_, err := r.onRemote(ctx, url, fetchRemoteTimeout, []string{
		"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules",
		"--", url.text, ref,
	})
	if err == nil && !r.hasCommits(ctx, []string{tip}) {
		err = fmt.Errorf("fetch %s: it moved meanwhile", ref)
	}
	return err
}

// settle returns the tip that holds all copies of the agent branch; "" for none.
func (r *Repo) settle(ctx context.Context, c *copies, base string, b *Base) (string, error) {
	took, err := r.takenBack(ctx, c, base)
	if err != nil {
		return "", err
	}
	if took.was == "" {
		return r.highest(ctx, c.ref, c.store, c.here, c.remote)
	}
	live, err := r.highest(ctx, c.ref, c.here, c.remote)
	if err != nil {
		return "", err
	}
	if live != "" {
		stands, err := r.contains(ctx, live, took.was)
		if err != nil {
			return "", err
		}
		if stands {
			return "", fmt.Errorf("%s was taken back %s but stands elsewhere: %w", c.ref, took.place, ErrDiverged)
		}
	}
	if c.store != "" && c.store != live && c.store != c.wasHere && c.store != c.wasRemote {
		return "", fmt.Errorf("%s was taken back %s while hob had more to publish: %w", c.ref, took.place, ErrDiverged)
	}
	b.Warnings = append(b.Warnings, fmt.Sprintf("%s was taken back %s: what it held is not done again", c.ref, took.place))
	return live, nil
}

// A retreat is a published branch that isn't there any more.
type retreat struct{ place, was, now string }

// takenBack finds the place where a person deleted the published branch or moved it
// back; the zero retreat for none. A branch whose commits are in the base was merged,
// not rejected.
func (r *Repo) takenBack(ctx context.Context, c *copies, base string) (retreat, error) {
	places := []retreat{
		{"in the repository", c.wasHere, c.here},
		{"on the remote", c.wasRemote, c.remote},
	}
	for _, p := range places {
		if p.was == "" || p.was == p.now {
			continue
		}
		merged, err := r.contains(ctx, base, p.was)
		if err != nil {
			return retreat{}, err
		}
		holds := false
		if p.now != "" {
			if holds, err = r.contains(ctx, p.now, p.was); err != nil {
				return retreat{}, err
			}
		}
		if !merged && !holds {
			return p, nil
		}
	}
	return retreat{}, nil
}

// noteSeen takes what the places hold now as the last that was seen there. It comes
// after the store's branch has followed: repeated in between, settle says the same.
func (r *Repo) noteSeen(ctx context.Context, branch string, c *copies) error {
	if err := r.notePublished(branch, c.here); err != nil {
		return err
	}
	if !c.asked || c.remote == c.wasRemote {
		return nil
	}
	return r.setRef(ctx, upstreamRef(branch), c.remote, c.wasRemote)
}

// highest returns the tip that contains all the others, skipping empty ones.
func (r *Repo) highest(ctx context.Context, ref string, tips ...string) (string, error) {
	top := ""
	for _, tip := range tips {
		if tip == "" || tip == top {
			continue
		}
		if top == "" {
			top = tip
			continue
		}
		below, err := r.contains(ctx, top, tip)
		if err != nil {
			return "", err
		}
		if below {
			continue
		}
		above, err := r.contains(ctx, tip, top)
		if err != nil {
			return "", err
		}
		if !above {
			return "", fmt.Errorf("copies of %s went apart at %.10s and %.10s: %w", ref, top, tip, ErrDiverged)
		}
		top = tip
	}
	return top, nil
}

// choose fills in where the item starts, given the base and the agent branch's tip.
func (r *Repo) choose(ctx context.Context, b *Base, base, tip, branch string) error {
	b.OID = base
	if tip == "" {
		return nil
	}
	merged, err := r.contains(ctx, base, tip)
	if err != nil || merged {
		return err
	}
	holds, err := r.contains(ctx, tip, base)
	if err != nil {
		return err
	}
	if !holds {
		own, err := r.ownCommits(ctx, base, tip)
		if err != nil {
			return err
		}
		if !own {
			return fmt.Errorf("branch %s isn't hob's and doesn't hold %s: %w", branch, b.Branch, ErrDiverged)
		}
		if b.Behind, err = r.count(ctx, tip, base); err != nil {
			return err
		}
	}
	b.OID, b.OnAgent = tip, true
	return nil
}

// ownCommits reports whether the branch shares history with the base and has a
// commit of hob's beyond it.
func (r *Repo) ownCommits(ctx context.Context, base, tip string) (bool, error) {
	if _, err := r.inStore(ctx, "merge-base", base, tip); err != nil {
		var ge *gitError
		if errors.As(err, &ge) && ge.code == 1 && ge.cause == nil {
			return false, nil
		}
		return false, err
	}
	out, err := r.inStore(ctx, "rev-list", "--max-count=1", "--grep=^Hob-Task: ", tip, "--not", base)
	return len(out) > 0, err
}

// count returns how many commits of to aren't in from.
func (r *Repo) count(ctx context.Context, from, to string) (int, error) {
	out, err := r.inStore(ctx, "rev-list", "--count", to, "--not", from)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// published says which tip of each agent branch the user's repository last took. It
// is what tells a branch that was deleted from one that was never pushed.
func (r *Repo) published() (map[string]string, error) {
	b, err := os.ReadFile(r.publishedFile())
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	tips := map[string]string{}
	if err := json.Unmarshal(b, &tips); err != nil {
		return nil, fmt.Errorf("read %s: %w", r.publishedFile(), err)
	}
	return tips, nil
}

func (r *Repo) publishedFile() string { return filepath.Join(r.opt.State, "published.json") }

func (r *Repo) notePublished(branch, oid string) error {
	tips, err := r.published()
	if err != nil || tips[branch] == oid {
		return err
	}
	tips[branch] = oid
	if oid == "" {
		delete(tips, branch)
	}
	b, err := json.MarshalIndent(tips, "", "\t")
	if err != nil {
		return err
	}
	return durable.WriteFile(durable.OS(), r.publishedFile(), append(b, '\n'), 0o600)
}
