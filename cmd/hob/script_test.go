package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hob/engine/model"
	"hob/engine/model/wire/wiretest"
	"hob/journal/durable"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"hob": hobUnderTest})
}

// hobUnderTest is main, but that it can be killed after the n-th durable step.
func hobUnderTest() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	w := world{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ(), Signals: signals, Exit: os.Exit, FS: durable.OS()}
	if n, err := strconv.Atoi(os.Getenv("HOB_CRASH_AT")); err == nil {
		k := &killer{left: n, log: os.Getenv("HOB_CRASH_LOG")}
		w.FS = durable.Watched(w.FS, func(op, name string) { k.point(op + " " + filepath.Base(name)) })
		w.Step = k.point
	}
	os.Exit(run(w, os.Args[1:]))
}

// hobOn is a call of hob in a folder, with home, settings, state and caches below dir.
// env comes last, and so wins.
func hobOn(dir, repo string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command("hob", args...)
	cmd.Dir = repo
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+filepath.Join(dir, "config"),
		"XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// TestScripts shows every command as a user meets it.
func TestScripts(t *testing.T) {
	testscript.Run(t, params("../../testdata/script", viaScript))
}

// TestAgentScripts works whole items twice: with the scripted model, and through
// the OpenAI wire against a server that says the same as badly as it can.
func TestAgentScripts(t *testing.T) {
	for name, via := range map[string]modelVia{"script": viaScript, "wire": viaWire} {
		t.Run(name, func(t *testing.T) { testscript.Run(t, params("../../testdata/agent", via)) })
	}
}

// A modelVia writes the [[model]] entry for a script file.
type modelVia func(ts *testscript.TestScript, script string) string

func viaScript(_ *testscript.TestScript, script string) string {
	return fmt.Sprintf("[[model]]\nprovider = \"script\"\nmodel = \"test\"\nscript = %q\n", script)
}

func viaWire(ts *testscript.TestScript, script string) string {
	url := serve(ts, script)
	return fmt.Sprintf("[[model]]\nprovider = \"openai-compat\"\nmodel = \"test\"\nbase_url = %q\n", url+"/v1")
}

// serve plays a script over HTTP, badly, until the test script ends.
func serve(ts *testscript.TestScript, script string) string {
	data, err := os.ReadFile(script)
	ts.Check(err)
	s, err := model.NewScript(data, model.Info{ID: "script"})
	ts.Check(err)
	o := wiretest.Chaos(7)
	o.Text = itemText
	server := httptest.NewServer(wiretest.New(s, o))
	ts.Defer(server.Close)
	return server.URL
}

// itemText finds the item in what hob's prompt says first, so that a script's
// match may be anchored as for the scripted model.
func itemText(ms []model.Message) string {
	for _, m := range ms {
		if m.Role == model.User {
			_, rest, _ := strings.Cut(m.Text, "\n\n")
			text, _, _ := strings.Cut(rest, "\n")
			return text
		}
	}
	return ""
}

func params(dir string, via modelVia) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               homes,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"gitrepo":   gitRepo,
			"usemodel":  func(ts *testscript.TestScript, neg bool, args []string) { useModel(ts, neg, args, via) },
			"remember":  remember,
			"untouched": untouched,
			"honest":    honest,
			"waitfor":   waitFor,
		},
	}
}

// sharedCache is one place for all tests and runs, as a cold Go cache costs 20 s.
func sharedCache() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("hob-test-cache-%d", os.Getuid()))
}

// homes gives each script folders of its own, and a git that knows nobody.
func homes(env *testscript.Env) error {
	for name, dir := range map[string]string{"HOME": "home", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "TMPDIR": "tmp"} {
		path := filepath.Join(env.WorkDir, ".homes", dir)
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		env.Setenv(name, path)
	}
	env.Setenv("XDG_CACHE_HOME", sharedCache())
	env.Setenv("GOMODCACHE", os.Getenv("GOMODCACHE"))
	env.Setenv("NO_COLOR", "1")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		env.Setenv("GIT_"+who+"_NAME", "A User")
		env.Setenv("GIT_"+who+"_EMAIL", "user@example.org")
	}
	return nil
}

// gitRepo DIR [REMOTE] commits all files of DIR, and pushes to a new bare REMOTE.
func gitRepo(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: gitrepo DIR [REMOTE]")
	}
	dir := ts.MkAbs(args[0])
	git := func(args ...string) { ts.Check(ts.Exec("git", append([]string{"-C", dir}, args...)...)) }
	git("init", "-q", "-b", "main", ".")
	git("add", "-A")
	git("commit", "-q", "-m", "start")
	if len(args) > 1 {
		remote := ts.MkAbs(args[1])
		git("init", "-q", "-b", "main", "--bare", remote)
		git("remote", "add", "origin", remote)
		git("push", "-q", "origin", "main")
	}
}

// useModel SCRIPT [text] [FILE…] writes the user's settings: the model, with tool
// calls in its text if asked, and no cage. The lines of the files are added.
func useModel(ts *testscript.TestScript, _ bool, args []string, via modelVia) {
	text := via(ts, ts.MkAbs(args[0])) + "price = { input = 1.0, output = 4.0 }\ncontext_window = 100000\n"
	if len(args) > 1 && args[1] == "text" {
		text, args = text+"tools = \"text\"\n", args[1:]
	}
	text += "\n[sandbox]\nmode = \"off\"\ncache = \"shared\"\n"
	for _, more := range args[1:] {
		text += "\n" + ts.ReadFile(more)
	}
	dir := filepath.Join(ts.Getenv("XDG_CONFIG_HOME"), "hob")
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600))
}

// honest DIR BRANCH checks what a commit of hob's promises: its tree is the one
// that was validated, its trailers stand in order, the object store is sound.
func honest(ts *testscript.TestScript, _ bool, args []string) {
	dir, branch := ts.MkAbs(args[0]), args[1]
	out := gitOutput(ts, dir, "log", "--format=%T %(trailers:key=Hob-Validated-Tree,valueonly,separator=)%n%(trailers:only,keyonly,separator=%x2c)", "main.."+branch)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		tree, validated, _ := strings.Cut(lines[i], " ")
		if tree != validated {
			ts.Fatalf("tree %s was committed, %s was validated", tree, validated)
		}
		if want := "Hob-Task,Hob-Item,Hob-Run,Hob-Base,Hob-Validated-Tree"; lines[i+1] != want {
			ts.Fatalf("trailers are %s, want %s", lines[i+1], want)
		}
	}
	if len(lines) < 2 {
		ts.Fatalf("no commit on %s", branch)
	}
	gitOutput(ts, dir, "fsck", "--strict", "--no-dangling")
}

func gitOutput(ts *testscript.TestScript, dir string, args ...string) string {
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		ts.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// remember DIR notes everything hob must not change; untouched DIR compares.
func remember(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0])+".before", fingerprint(ts.MkAbs(args[0]), "agent-dev"), 0o600))
}

func untouched(ts *testscript.TestScript, _ bool, args []string) {
	before, err := os.ReadFile(ts.MkAbs(args[0]) + ".before")
	ts.Check(err)
	if now := fingerprint(ts.MkAbs(args[0]), "agent-dev"); !bytes.Equal(before, now) {
		ts.Fatalf("the repository changed:\n%s", lineDiff(before, now))
	}
}

// waitFor FILE TEXT waits until a file holds a text, for half a minute.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && strings.Contains(string(data), args[1]) {
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("%s never said %q; it says:\n%s", args[0], args[1], data)
		case <-tick.C:
		}
	}
}
