package sandbox_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/validators/sandbox"
)

func TestEnv(t *testing.T) {
	got := sandbox.Env(sandbox.EnvOptions{
		Caller: []string{
			"PATH=/usr/bin:.:relative/bin::/home/u/.cargo/bin:/home/u/.pyenv/shims", "HOME=/home/u",
			"JAVA_HOME=/opt/java", "VOLTA_HOME=relative", "GOFLAGS=-mod=mod", "GOPROXY=https://proxy.example.org",
		},
		UserHome: "/home/u",
		Home:     "/state/home", Temp: "/state/tmp", Cache: "/cache/hob", Scope: "0123456789abcdef",
		ModCache: "/home/u/go path/mod", Ceiling: "/state/slots",
	})
	want := []string{
		"CARGO_HOME=/cache/hob/cargo/0123456789abcdef",
		"CARGO_NET_OFFLINE=true",
		"CARGO_NET_RETRY=0",
		"CARGO_TERM_COLOR=never",
		"CI=1",
		"DEBIAN_FRONTEND=noninteractive",
		"GIT_CEILING_DIRECTORIES=/state/slots",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0",
		"GOCACHE=/cache/hob/go/0123456789abcdef/build",
		"GOFLAGS=-buildvcs=false -modcacherw",
		"GOMODCACHE=/cache/hob/go/0123456789abcdef/mod",
		"GOPROXY=file:///home/u/go%20path/mod/cache/download",
		"GOSUMDB=off",
		"GOTOOLCHAIN=local",
		"HOME=/state/home",
		"JAVA_HOME=/opt/java",
		"LANG=C.UTF-8",
		"MAVEN_ARGS=-o",
		"NO_COLOR=1",
		"PATH=/usr/bin:/home/u/.cargo/bin:/home/u/.pyenv/shims",
		"PIP_CACHE_DIR=/cache/hob/pip/0123456789abcdef",
		"PIP_DISABLE_PIP_VERSION_CHECK=1",
		"PIP_NO_INDEX=1",
		"PIP_RETRIES=0",
		"PYENV_ROOT=/home/u/.pyenv",
		"RUSTUP_AUTO_INSTALL=0",
		"RUSTUP_HOME=/home/u/.rustup",
		"TERM=dumb",
		"TMPDIR=/state/tmp",
		"TZ=UTC",
		"UV_CACHE_DIR=/cache/hob/uv/0123456789abcdef",
		"UV_OFFLINE=1",
		"npm_config_cache=/cache/hob/npm/0123456789abcdef",
		"npm_config_fetch_retries=0",
		"npm_config_offline=true",
		"npm_config_update_notifier=false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Env (-want +got):\n%s", diff)
	}
}

func TestEnvWithoutModules(t *testing.T) {
	got := sandbox.Env(sandbox.EnvOptions{Caller: []string{"PATH=/bin"}})
	if !strings.Contains(strings.Join(got, "\n"), "\nGOPROXY=off\n") {
		t.Errorf("Env without ModCache = %q, want GOPROXY=off", got)
	}
}

func TestNothingIsInherited(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "planted-secret-1")
	t.Setenv("HOB_SECRET", "planted-secret-2")
	dir := t.TempDir()
	caller := []string{"PATH=/usr/bin:/bin", "OPENAI_API_KEY=planted-secret-3", "HTTPS_PROXY=http://planted-secret-4@proxy", "SSH_AUTH_SOCK=/planted-secret-5"}
	env := sandbox.Env(sandbox.EnvOptions{Caller: caller, UserHome: "/home/planted-secret-6", Home: dir, Temp: dir, Cache: dir, Ceiling: dir})
	var out sandbox.Output
	for _, e := range [][]string{env, nil} {
		c := sandbox.Command{Argv: []string{"/usr/bin/env"}, Dir: dir, Env: e, Out: &out}
		if got, err := sandbox.None().Run(t.Context(), c, sandbox.Limits{}); err != nil || got.Code != 0 {
			t.Fatalf("Run(env) = %v, %v", got, err)
		}
	}
	if s := string(out.Bytes()); strings.Contains(s, "planted") || !strings.Contains(s, "HOME="+dir) {
		t.Errorf("the command's environment is\n%s\nwant HOME and none of the planted values", s)
	}
}

func TestOuterRepositoryIsNotSeen(t *testing.T) {
	outer := t.TempDir()
	slot := outer + "/slots/1"
	var out sandbox.Output
	run := func(dir, line string, env []string) sandbox.Exit {
		t.Helper()
		c := sandbox.Command{Argv: []string{"/bin/sh", "-c", line}, Dir: dir, Env: env, Out: &out}
		got, err := sandbox.None().Run(t.Context(), c, sandbox.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	opt := sandbox.EnvOptions{Caller: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Home: outer, Temp: outer, Cache: outer}
	open := sandbox.Env(opt)
	if got := run(outer, "git init -q . && mkdir -p slots/1", open); got.Code != 0 {
		t.Fatalf("git init: code %d\n%s", got.Code, out.Bytes())
	}
	if got := run(slot, "git rev-parse --show-toplevel", open); got.Code != 0 {
		t.Fatalf("without a ceiling git finds no outer repository (code %d), so this test shows nothing", got.Code)
	}
	opt.Ceiling = outer + "/slots"
	if got := run(slot, "git rev-parse --show-toplevel", sandbox.Env(opt)); got.Code != 128 {
		t.Errorf("git rev-parse in the slot: code %d, want 128 (no repository)\n%s", got.Code, out.Bytes())
	}
}
