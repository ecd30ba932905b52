package repo_test

import (
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hob/repo"
)

func TestPublishToRemotesThatDoNotTakeIt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		set   func(b *box, origin string)
		state string
		says  string
	}{
		{"hook declines", func(b *box, origin string) {
			hook := filepath.Join(origin, "hooks/pre-receive")
			write(b.t, hook, "#!/bin/sh\necho tried >> '"+origin+"/tries'\necho no https://u:secret@host/ >&2\nexit 1\n")
			must(b.t, os.Chmod(hook, 0o755))
		}, repo.Rejected, "declined"},
		{"gone", func(b *box, origin string) { must(b.t, os.RemoveAll(origin)) }, repo.Rejected, "does not appear to be a git repository"},
		{"nobody listens", func(b *box, _ string) { b.git("remote", "set-url", "origin", "https://127.0.0.1:9/x.git") }, repo.Unreachable, ""},
		{"http", func(b *box, _ string) { b.git("remote", "set-url", "origin", "http://127.0.0.1:9/x.git") }, repo.Rejected, "not allowed"},
		{"a command as URL", func(b *box, origin string) {
			b.git("remote", "set-url", "origin", "ext::sh -c touch% "+origin+"/HIT")
		}, repo.Rejected, "not allowed"},
		{"an option as URL", func(b *box, origin string) {
			b.git("config", "remote.origin.url", "--upload-pack=touch "+origin+"/HIT")
		}, repo.Rejected, ""},
		{"HEAD is on the agent branch", func(b *box, origin string) {
			gitIn(b.t, origin, "push", "-q", origin, "main:refs/heads/"+agent)
			gitIn(b.t, origin, "symbolic-ref", "HEAD", "refs/heads/"+agent)
		}, repo.Rejected, "HEAD"},
		{"other history", func(b *box, origin string) {
			tree := gitIn(b.t, origin, "rev-parse", "main^{tree}")
			gitIn(b.t, origin, "update-ref", "refs/heads/"+agent, gitIn(b.t, origin, "commit-tree", "-m", "unrelated", tree))
		}, repo.Diverged, "stands at"},
		{"locked", func(b *box, origin string) { write(b.t, filepath.Join(origin, "refs/heads/"+agent+".lock"), "") }, repo.Locked, ""},
		{"ahead by a person's commit", func(b *box, origin string) {}, repo.UpToDate, ""},
		{"no such remote", func(b *box, _ string) { b.git("remote", "remove", "origin") }, repo.None, "no remote origin"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.commit(map[string]string{"a": "1\n"})
			origin := b.bare()
			b.git("push", "-q", "origin", "main")
			r := b.open("")
			oid, _ := land(t, r, "t1", "n", "x\n", "")
			tt.set(b, origin)
			if tt.state == repo.UpToDate {
				b.git("push", "-q", "origin", agent)
				personCommits(b, origin)
			}
			targets, err := r.Publish(t.Context(), agent, oid, "origin")
			must(t, err)
			if got, want := states(targets), "repository=up_to_date origin="+tt.state; got != want {
				t.Fatalf("Publish = %s, want %s (%v)", got, want, targets)
			}
			if m := targets[1].Message; !strings.Contains(m, tt.says) || strings.Contains(m, "secret") {
				t.Errorf("message = %q, want %q and no secret", m, tt.says)
			}
			if exists(filepath.Join(origin, "HIT")) {
				t.Error("the URL was run as a command")
			}
			if tries := filepath.Join(origin, "tries"); exists(tries) && read(t, tries) != "tried\n" {
				t.Error("a refused push was tried again")
			}
		})
	}
}

func TestPublishToTheRepositoryThatDoesNotTakeIt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		set   func(b *box)
		state string
	}{
		{"a person went another way", func(b *box) {
			b.git("branch", agent, b.git("commit-tree", "-p", "main", "-m", "person", "main^{tree}"))
		}, repo.Diverged},
		{"locked", func(b *box) { write(b.t, filepath.Join(b.dir, ".git/refs/heads/"+agent+".lock"), "") }, repo.Locked},
		{"a branch in the way", func(b *box) { b.git("branch", agent+"/x") }, repo.Rejected},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.commit(map[string]string{"a": "1\n"})
			r := b.open("")
			base, err := r.Base(t.Context(), "", agent)
			must(t, err)
			oid, err := r.WriteCommit(t.Context(), spec("t1", b.git("rev-parse", "main^{tree}"), base.OID))
			must(t, err)
			must(t, r.Advance(t.Context(), agent, oid, base.OID))
			tt.set(b)
			before := fingerprint(t, b.dir) + b.git("for-each-ref")
			targets, err := r.Publish(t.Context(), agent, oid, "")
			must(t, err)
			if got, want := states(targets), "repository="+tt.state; got != want {
				t.Errorf("Publish = %s, want %s (%v)", got, want, targets)
			}
			if after := fingerprint(t, b.dir) + b.git("for-each-ref"); after != before {
				t.Error("a refused push changed the repository")
			}
		})
	}
}

func TestPublishAgainChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n"})
	b.bare()
	r := b.open("origin")
	oid, _ := land(t, r, "t1", "n", "x\n", "origin")
	n := len(b.steps)
	targets, err := r.Publish(t.Context(), agent, oid, "origin")
	must(t, err)
	if got, want := states(targets), "repository=up_to_date origin=up_to_date"; got != want || len(b.steps) != n {
		t.Errorf("Publish = %s after steps %v, want %s", got, b.steps[n:], want)
	}
}

func TestPublishDoesNotBringBackADeletedBranch(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n"})
	origin := b.bare()
	r := b.open("origin")
	oid, _ := land(t, r, "t1", "n", "x\n", "origin")
	b.git("branch", "-q", "-D", agent)
	gitIn(t, origin, "update-ref", "-d", "refs/heads/"+agent)
	targets, err := r.Publish(t.Context(), agent, oid, "origin")
	must(t, err)
	if got, want := states(targets), "repository=diverged origin=diverged"; got != want {
		t.Errorf("Publish = %s, want %s", got, want)
	}
}

func TestPublishRefusesReservedBranches(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	oid := b.commit(map[string]string{"a": "1\n"})
	r := b.open("")
	for _, branch := range []string{"main", "master", "release", "release/1.0"} {
		targets, err := r.Publish(t.Context(), branch, oid, "origin")
		must(t, err)
		if got, want := states(targets), "repository=rejected"; got != want {
			t.Errorf("Publish to %s = %s, want %s", branch, got, want)
		}
	}
}

func TestRemoteURLs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, key, value string }{
		{"relative", "remote.origin.url", "../origin.git"},
		{"relative below", "remote.origin.url", "sub/../../origin.git"},
		{"push URL", "remote.origin.pushurl", "../origin.git"},
		{"file URL", "remote.origin.url", "file://TOP/origin.git"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.commit(map[string]string{"a": "1\n", "sub/x": "x\n"})
			origin := filepath.Join(filepath.Dir(b.dir), "origin.git")
			gitIn(t, b.home, "init", "-q", "--bare", origin)
			b.git("config", "remote.origin.url", "https://127.0.0.1:9/nowhere")
			b.git("config", tt.key, strings.Replace(tt.value, "TOP", filepath.Dir(b.dir), 1))
			oid, _ := land(t, b.open(""), "t1", "n", "x\n", "origin")
			if got := gitIn(t, origin, "rev-parse", agent); got != oid {
				t.Errorf("origin has %s, want %s", got, oid)
			}
		})
	}
}

// TestSecretsInAURLStayOutOfTheProcessList asks a server that wants a password. While
// git waits for its answer, the command lines of all processes are looked at.
func TestSecretsInAURLStayOutOfTheProcessList(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-tok"
	var asked, right, leaked atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Error(err)
		}
		for _, name := range lines {
			if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), secret) {
				leaked.Add(1)
			}
		}
		if r.Header.Get("Authorization") == "Basic "+base64.StdEncoding.EncodeToString([]byte("bot:"+secret)) {
			right.Add(1)
			http.Error(w, "no such repository", http.StatusNotFound)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		http.Error(w, "who are you", http.StatusUnauthorized)
	}))
	defer server.Close()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n"})
	ca := filepath.Join(b.home, "ca.pem")
	write(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	write(t, filepath.Join(b.home, ".gitconfig"), "[http]\n\tsslCAInfo = "+ca+"\n[credential]\n\thelper = !echo password=wrong\n")

	r := b.open("")
	for _, tt := range []struct{ name, userinfo, state string }{
		{"name and password", "bot:" + secret + "@", repo.Rejected},
		{"no name", "", repo.Rejected},
		{"wrong password", "bot:not-it-" + secret + "@", repo.Rejected},
		{"token for a name", secret + "@", repo.Rejected},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := strings.Replace(server.URL, "https://", "https://"+tt.userinfo, 1) + "/r.git"
			b.git("config", "remote.origin.url", url)
			start := time.Now()
			_, targets := land(t, r, "t-"+strings.ReplaceAll(tt.name, " ", "-"), "n", tt.name, "origin")
			if targets[1].State != tt.state || strings.Contains(targets[1].Message, secret) {
				t.Errorf("Publish = %+v", targets[1])
			}
			if took := time.Since(start); took > 25*time.Second {
				t.Errorf("it took %v: something prompted", took)
			}
		})
	}
	if asked.Load() == 0 || right.Load() == 0 || leaked.Load() != 0 {
		t.Errorf("asked %d times, %d with the right password, seen in the process list %d times", asked.Load(), right.Load(), leaked.Load())
	}
	for _, name := range []string{"store.git/config", "gitcfg/sealed", "published.json"} {
		if strings.Contains(read(t, filepath.Join(b.state, name)), secret) {
			t.Errorf("%s holds the secret", name)
		}
	}
}
