package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileTreeRunsNothing lands an item of a repository whose tree, configuration
// and agent all try to have a program of theirs run, or a file outside written.
func TestHostileTreeRunsNothing(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	traps := t.TempDir()
	trap := func(name string) string {
		file := filepath.Join(traps, name)
		write(t, file, "#!/bin/sh\ntouch '"+traps+"/HIT-"+name+"'\ncat\n")
		must(t, os.Chmod(file, 0o755))
		return file
	}
	b.commit(map[string]string{
		".gitattributes": "*.txt filter=pwn diff=pwn merge=pwn\n* text=auto\n", "f.txt": "1\n", "d/x": "x\n",
		".gitmodules": "[submodule \"x\"]\n\tpath = x\n\turl = ext::" + trap("submodule") + "\n",
	})
	outside := t.TempDir()
	must(t, os.Symlink(outside, filepath.Join(b.dir, "out")))
	b.commit(map[string]string{"g.txt": "1\n"})
	for key, name := range map[string]string{
		"core.fsmonitor": "fsmonitor", "filter.pwn.clean": "clean", "filter.pwn.smudge": "smudge", "filter.pwn.process": "process",
		"diff.external": "external", "diff.pwn.textconv": "textconv", "diff.pwn.command": "command", "merge.pwn.driver": "driver",
		"core.sshCommand": "ssh", "core.pager": "pager", "gpg.program": "gpg", "core.editor": "editor", "core.askPass": "askpass",
		"uploadpack.packObjectsHook": "packobjects", "core.alternateRefsCommand": "alternates", "credential.helper": "credential",
	} {
		b.git("config", key, trap(name))
	}
	b.git("config", "commit.gpgsign", "true")
	hookDir := filepath.Join(traps, "hooks")
	for _, name := range []string{"update", "pre-receive", "post-receive", "post-update", "reference-transaction", "post-checkout", "post-index-change", "pre-push", "pre-auto-gc", "push-to-checkout"} {
		must(t, os.MkdirAll(hookDir, 0o755))
		must(t, os.Rename(trap(name), filepath.Join(hookDir, name)))
	}
	b.git("config", "core.hooksPath", hookDir)
	clearHits(t, traps)

	r := b.open("")
	base, err := r.Base(t.Context(), "", agent)
	must(t, err)
	ws, err := r.Snapshot(t.Context(), "t1", base.OID)
	must(t, err)
	poison(t, b, ws.Dir, hookDir, outside)
	frozen, err := ws.Freeze(t.Context())
	must(t, err)
	if _, err := ws.Diff(); err != nil {
		t.Errorf("Diff: %v", err)
	}
	_, err = r.Checkout(t.Context(), frozen.Tree, "new")
	must(t, err)
	oid, err := r.WriteCommit(t.Context(), spec("t1", frozen.Tree, base.OID))
	must(t, err)
	must(t, r.Advance(t.Context(), agent, oid, base.OID))
	targets, err := r.Publish(t.Context(), agent, oid, "")
	must(t, err)
	must(t, ws.Remove())
	again, err := r.Snapshot(t.Context(), "t2", oid)
	must(t, err)
	must(t, again.Remove())
	_, err = r.Log(t.Context(), agent, "f.txt", 5)
	must(t, err)
	_, err = r.Blame(t.Context(), agent, "f.txt", 1, 1)
	must(t, err)

	if got, want := states(targets), "repository=pushed"; got != want {
		t.Errorf("Publish = %v, want %s", targets, want)
	}
	if hits := clearHits(t, traps); len(hits) > 0 {
		t.Errorf("these ran: %v", hits)
	}
	if left := contents(t, outside); len(left) != 1 {
		t.Errorf("written outside: %v", left)
	}
	if got := b.store("diff-tree", "-r", "--name-only", base.OID, oid); got != "new.md" {
		t.Errorf("the commit changes %q, want new.md alone", got)
	}
}

// poison does to a slot what a hostile command would.
func poison(t *testing.T, b *box, slot, hookDir, outside string) {
	t.Helper()
	write(t, filepath.Join(slot, "new.md"), "fine\n")
	gitIn(t, b.home, "init", "-q", slot)
	gitIn(t, slot, "config", "core.hooksPath", hookDir)
	gitIn(t, slot, "config", "core.fsmonitor", filepath.Join(hookDir, "update"))
	gitIn(t, b.home, "init", "-q", filepath.Join(slot, "nested"))
	write(t, filepath.Join(slot, "elsewhere/.git"), "gitdir: "+filepath.Join(b.dir, ".git")+"\n")
	must(t, os.Symlink(filepath.Join(b.dir, ".git/config"), filepath.Join(slot, "CLAUDE.md")))
	must(t, os.RemoveAll(filepath.Join(slot, "d")))
	must(t, os.Symlink(outside, filepath.Join(slot, "d")))
}

// clearHits returns which traps were run and forgets them.
func clearHits(t *testing.T, traps string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(traps, "HIT-*"))
	must(t, err)
	for i, name := range files {
		must(t, os.Remove(name))
		files[i] = strings.TrimPrefix(filepath.Base(name), "HIT-")
	}
	return files
}
