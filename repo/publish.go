package repo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The names and states of a [Target].
const (
	Here = "repository" // name of the user's own repository as a target

	Pushed      = "pushed"      // it took the commit now
	UpToDate    = "up_to_date"  // it had the commit
	CheckedOut  = "checked_out" // the branch is checked out there; nothing was changed
	Rejected    = "rejected"    // it refused, for good: a hook, a protection, a login
	Unreachable = "unreachable" // no answer; trying again may help
	Diverged    = "diverged"    // it has commits that hob's branch hasn't
	Locked      = "locked"      // somebody holds a lock there; trying again helps
	None        = "none"        // there is no such remote, which is fine
	lsTimeout   = 10 * time.Second
	pushTimeout = 120 * time.Second
)

// A Target is one place the agent branch was to go, and how that went.
type Target struct {
	Name    string // Here, or the remote's
	State   string
	Message string // for a person; "" when there is nothing to say
}

// Publish brings a commit of the store to the agent branch of the user's repository,
// then to that of a remote; remote "" is no remote. Each target is asked first, so
// that publishing again changes nothing, and after a push that ended without a clear
// answer it is asked again. Each is pushed once: waiting and retrying is the caller's.
//
// The error is for what kept hob from trying; a target that didn't take the commit is
// no error.
func (r *Repo) Publish(ctx context.Context, branch, oid, remote string) ([]Target, error) {
	if _, err := branchRef(branch); err != nil {
		return nil, err
	}
	if why := Reserved(branch); why != "" {
		return []Target{{Name: Here, State: Rejected, Message: why}}, nil
	}
	here, err := r.publishHere(ctx, branch, oid)
	if err != nil {
		return nil, fmt.Errorf("publish %s: %w", branch, err)
	}
	targets := []Target{here}
	if remote == "" {
		return targets, nil
	}
	there, err := r.publishRemote(ctx, branch, oid, remote)
	if err != nil {
		return targets, fmt.Errorf("publish %s to %s: %w", branch, remote, err)
	}
	return append(targets, there), nil
}

// Reserved says why hob never pushes to a branch of this name; "" when it may.
func Reserved(branch string) string {
	if branch == "main" || branch == "master" || strings.HasPrefix(branch, "release") {
		return "hob never pushes to " + branch
	}
	return ""
}

// receivePack is what runs in the user's repository. Options of the pushing side
// don't reach it: without these its hooks would run, and updateInstead would write
// the work tree (git-config(1), receive.denyCurrentBranch). The command that would
// list refs of alternates is replaced because receive-pack's own quarantine counts as
// one, and would run it (tmp-objdir.c).
const receivePack = "git -c core.hooksPath=/dev/null -c receive.autogc=false -c receive.denyCurrentBranch=refuse" +
	" -c receive.denyNonFastForwards=true -c receive.denyDeletes=true -c gc.auto=0 -c core.fsync=all" +
	" -c receive.fsckObjects=true -c core.alternateRefsCommand=true receive-pack"

func (r *Repo) publishHere(ctx context.Context, branch, oid string) (Target, error) {
	t := Target{Name: Here}
	now, err := r.userRef(ctx, "refs/heads/"+branch)
	if err != nil {
		return t, err
	}
	tips, err := r.published()
	if err != nil {
		return t, err
	}
	if done, err := r.alreadyThere(ctx, &t, tips[branch], now, oid); err != nil || done {
		if t.State == UpToDate {
			err = errors.Join(err, r.notePublished(branch, now))
		}
		return t, err
	}
	out, err := r.git.run(ctx, call{
		gitDir: r.store, timeout: pushTimeout,
		args: []string{
			"push", "--porcelain", "--no-verify", "--receive-pack=" + receivePack, "--",
			r.place.CommonDir, oid + ":refs/heads/" + branch,
		},
	})
	if err != nil {
		if ctx.Err() != nil {
			return t, err
		}
		if after, aerr := r.userRef(ctx, "refs/heads/"+branch); aerr != nil || after != oid {
			t.State, t.Message = pushFailed(out, err)
			return t, nil
		}
	}
	t.State = Pushed
	if err := r.notePublished(branch, oid); err != nil {
		return t, err
	}
	r.step(StepPush + ":" + Here)
	return t, nil
}

// alreadyThere settles a target by what was last seen there and what it has now;
// false means that a push is due. A branch that a person deleted isn't made again.
func (r *Repo) alreadyThere(ctx context.Context, t *Target, seen, now, oid string) (bool, error) {
	if now == "" {
		if seen == "" {
			return false, nil
		}
		t.State, t.Message = Diverged, "the branch was deleted there"
		return true, nil
	}
	if now == oid {
		t.State = UpToDate
		return true, nil
	}
	if !r.hasCommits(ctx, []string{now}) {
		if t.Name != Here {
			return false, nil // it was fetched, so it went away again: let the push tell
		}
		if err := r.fetchUser(ctx, []string{now}, now); err != nil {
			return false, err
		}
	}
	holds, err := r.contains(ctx, now, oid)
	if err != nil {
		return false, err
	}
	if holds {
		t.State = UpToDate
		return true, nil
	}
	forward, err := r.contains(ctx, oid, now)
	if err != nil || forward {
		return false, err
	}
	t.State, t.Message = Diverged, fmt.Sprintf("it stands at %.10s, which hob's branch doesn't hold", now)
	return true, nil
}

// pushFailed turns the end of a push into a target's state. The report of --porcelain
// is on stdout, so both streams are read.
func pushFailed(out []byte, err error) (state, message string) {
	var ge *gitError
	if !errors.As(err, &ge) {
		return Unreachable, err.Error()
	}
	report := refusal(string(out))
	meaning := understand(report + "\n" + ge.all)
	message = ge.Error()
	if report != "" {
		message = report
		if ge.stderr != "" {
			message += ": " + ge.stderr
		}
	}
	switch meaning {
	case saysCheckedOut:
		return CheckedOut, "the branch is checked out there"
	case saysNotForward:
		return Diverged, message
	case saysLocked, saysDisk:
		return Locked, message
	case saysUnreachable, saysNothing, saysNoRef, saysCorrupt:
		return Unreachable, message
	}
	return Rejected, message
}

// refusal finds the line of a porcelain report that begins with "!" and returns its
// reason (git-push(1), OUTPUT).
func refusal(out string) string {
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, "!\t"); ok {
			_, reason, _ := strings.Cut(strings.TrimSpace(rest), "\t")
			return reason
		}
	}
	return ""
}

func (r *Repo) publishRemote(ctx context.Context, branch, oid, remote string) (Target, error) {
	t := Target{Name: remote}
	url, err := r.remoteURL(ctx, remote)
	if err != nil {
		return t, err
	}
	if url.text == "" {
		t.State, t.Message = None, "the repository has no remote "+remote
		return t, nil
	}
	ref := "refs/heads/" + branch
	listed, err := r.listRemote(ctx, url, ref)
	if err != nil {
		if ctx.Err() != nil {
			return t, err
		}
		t.State, t.Message = pushFailed(nil, err)
		return t, nil
	}
	if listed.head == ref {
		t.State, t.Message = Rejected, "hob never pushes to the branch a remote's HEAD is on"
		return t, nil
	}
	if listed.tip != "" && listed.tip != oid {
		// Best effort: without it the push itself tells.
		_ = r.fetchRemote(ctx, url, ref, listed.tip)
	}
	seen, err := r.ref(ctx, upstreamRef(branch))
	if err != nil {
		return t, err
	}
	if done, err := r.alreadyThere(ctx, &t, seen, listed.tip, oid); err != nil || done {
		if t.State == UpToDate {
			err = errors.Join(err, r.pin(ctx, upstreamRef(branch), listed.tip))
		}
		return t, err
	}
	return r.pushRemote(ctx, t, url, ref, oid)
}

func (r *Repo) pushRemote(ctx context.Context, t Target, url remoteURL, ref, oid string) (Target, error) {
	out, err := r.onRemote(ctx, url, pushTimeout, []string{"push", "--porcelain", "--no-verify", "--", url.text, oid + ":" + ref})
	if err != nil {
		if ctx.Err() != nil {
			return t, err
		}
		t.State, t.Message = pushFailed(out, err)
		if t.State != Unreachable {
			return t, nil
		}
		// The remote may have taken it before the line went dead.
		if after, lerr := r.listRemote(ctx, url, ref); lerr != nil || after.tip != oid {
			return t, nil
		}
	}
	t.State, t.Message = Pushed, ""
	if err := r.pin(ctx, upstreamRef(strings.TrimPrefix(ref, "refs/heads/")), oid); err != nil {
		return t, err
	}
	r.step(StepPush + ":" + t.Name)
	return t, nil
}
