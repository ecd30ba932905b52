package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hob/journal/durable"
	"hob/journal/redact"
)

// A profile is what configuration a git command sees.
type profile int

const (
	// sealed sees none but a file of hob's own: for everything on this machine.
	sealed profile = iota
	// network sees the user's and the system's: for talk with a remote, run from
	// hob's store, so that no repository's configuration counts.
	network
	// asUser sees what network sees and trusts what the user's git trusts
	// (safe.directory, git-config(1)): for finding the repository.
	asUser
)

const (
	outputCap = 4 << 20 // bytes of stdout that are kept; more is an error
	stderrCap = 64 << 10
	// killGrace is how long a git that was told to stop may take to remove its
	// lock files before it is killed.
	killGrace = 5 * time.Second
)

// git runs the git binary. The zero value with env set serves profile asUser only.
type git struct {
	env    []string // what PATH, HOME and the like are taken from
	state  string
	redact *redact.Set
}

func newGit(o Options) *git { return &git{env: o.Env, state: o.State, redact: o.Redact} }

// A call is one git command.
type call struct {
	profile  profile
	dir      string   // working folder; "" = tmp of the state folder
	gitDir   string   // --git-dir
	workTree string   // --work-tree
	args     []string // the command and its arguments
	env      []string // added last
	keep     []string // names passed on from the caller's environment
	timeout  time.Duration
	quiet    bool // exit status 1 without a word is an answer, not an error
}

// run runs one command in its own process group, with nothing on stdin, and
// returns what it printed. When ctx or the timeout ends it, the whole group gets
// SIGTERM and, after killGrace, SIGKILL. A non-zero exit is a *gitError.
func (g *git) run(ctx context.Context, c call) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", g.argv(c)...)
	cmd.Env = g.environ(c)
	cmd.Dir = c.dir
	if c.dir == "" {
		cmd.Dir = filepath.Join(g.state, "tmp")
	}
	out, errs := &capped{max: outputCap}, &capped{max: stderrCap}
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killGrace
	err := cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		// The children of git too; WaitDelay has killed git alone.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	var exit *exec.ExitError
	switch {
	case err == nil && out.cut:
		return nil, fmt.Errorf("run git %s: more than %d bytes of output", c.args[0], outputCap)
	case err == nil:
		return out.buf.Bytes(), nil
	case errors.As(err, &exit):
		stderr := g.clean(errs.buf.String())
		if c.quiet && exit.ExitCode() == 1 && strings.TrimSpace(stderr) == "" {
			return nil, nil
		}
		return out.buf.Bytes(), newGitError(c.args[0], exit.ExitCode(), stderr, ctx.Err())
	case errors.Is(err, exec.ErrNotFound):
		return nil, &UnsupportedError{Why: "the git program isn't installed"}
	default:
		return nil, fmt.Errorf("run git %s: %w", c.args[0], err)
	}
}

// userinfo finds the name and password part of a URL in what git says.
var userinfo = regexp.MustCompile(`://[^/@\s]+@`)

// clean masks secrets in what git said, so that it may be shown and kept.
func (g *git) clean(s string) string {
	return g.redact.String(userinfo.ReplaceAllString(s, "://***@"))
}

func (g *git) argv(c call) []string {
	args := slices.Clone(hardened())
	switch c.profile {
	case sealed:
		args = append(args, "-c", "protocol.file.allow=always")
	case network:
		args = append(args, "-c", "protocol.https.allow=always", "-c", "protocol.ssh.allow=always", "-c", "protocol.file.allow=always")
	case asUser:
	}
	if c.gitDir != "" {
		args = append(args, "--git-dir="+c.gitDir)
	}
	if c.workTree != "" {
		args = append(args, "-c", "core.bare=false", "--work-tree="+c.workTree)
	}
	return append(args, c.args...)
}

// hardened is in force for every command, whatever any configuration file says
// (git(1), -c). Keys that an older git doesn't know are ignored by it.
func hardened() []string {
	keys := []string{
		"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false",
		"core.attributesFile=/dev/null", "core.excludesFile=/dev/null",
		"core.symlinks=true", "core.autocrlf=false", "core.protectNTFS=true", "core.protectHFS=true",
		"core.fsync=all", "core.fsyncMethod=fsync",
		"protocol.allow=never", "transfer.fsckObjects=true", "fetch.writeCommitGraph=false",
		"gc.auto=0", "maintenance.auto=false", "submodule.recurse=false", "fetch.recurseSubmodules=no",
		"core.pager=cat", "commit.gpgsign=false", "tag.gpgsign=false",
		"push.followTags=false", "push.recurseSubmodules=no", "push.gpgSign=false",
		"credential.interactive=false", "http.lowSpeedLimit=1000", "http.lowSpeedTime=60",
	}
	args := make([]string, 0, 2*len(keys))
	for _, k := range keys {
		args = append(args, "-c", k)
	}
	return args
}

// environ builds the environment from nothing: a GIT_ variable of the caller would
// point git at another repository or trace secrets into a file (git(1), ENVIRONMENT).
func (g *git) environ(c call) []string {
	env := []string{
		"PATH=" + g.getenv("PATH"), "LC_ALL=C", "TZ=UTC",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false", "SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never",
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_LFS_SKIP_SMUDGE=1",
		"GIT_EDITOR=false", "GIT_PAGER=cat", "GIT_ADVICE=0",
	}
	if g.state != "" {
		env = append(env, "TMPDIR="+filepath.Join(g.state, "tmp"), "GIT_CEILING_DIRECTORIES="+g.state)
	}
	keep := slices.Clone(c.keep)
	switch c.profile {
	case sealed:
		env = append(env, "HOME="+filepath.Join(g.state, "home"),
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+g.sealedFile(), "GIT_ALLOW_PROTOCOL=file")
	case network:
		env = append(env, "GIT_ALLOW_PROTOCOL=https:ssh:file")
		keep = append(keep, "HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK",
			"https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
	case asUser:
		keep = append(keep, "HOME", "XDG_CONFIG_HOME")
	}
	for _, name := range keep {
		if v := g.getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return append(env, c.env...)
}

func (g *git) getenv(name string) string {
	for _, kv := range slices.Backward(g.env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

func (g *git) sealedFile() string { return filepath.Join(g.state, "gitcfg", "sealed") }

// writeSealed writes the one configuration file of the sealed profile. Only a file
// can name safe.directory: given with -c it doesn't reach the upload-pack and
// receive-pack that git starts (git-config(1), "protected configuration").
func (g *git) writeSealed(p Place) error {
	var b strings.Builder
	b.WriteString("[safe]\n")
	for _, dir := range []string{p.Root, p.GitDir, p.CommonDir, filepath.Join(p.Root, ".git")} {
		fmt.Fprintf(&b, "\tdirectory = %s\n", quoteConfig(dir))
	}
	return durable.WriteFile(durable.OS(), g.sealedFile(), []byte(b.String()), 0o600)
}

// quoteConfig quotes a value for a configuration file (git-config(1), SYNTAX).
func quoteConfig(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

// checkVersion wants git 2.38, the first with merge-tree --write-tree and with
// protection of bare repositories embedded in a tree.
func (g *git) checkVersion(ctx context.Context) error {
	out, err := g.run(ctx, call{args: []string{"version"}, timeout: askTimeout})
	if err != nil {
		return err
	}
	if major, minor := parseVersion(string(out)); major < 2 || major == 2 && minor < 38 {
		return &UnsupportedError{Why: "git 2.38 or newer is needed, here is " + strings.TrimSpace(string(out))}
	}
	return nil
}

// parseVersion reads "git version 2.39.5 (Apple Git-154)"; what it can't read is 0.
func parseVersion(s string) (major, minor int) {
	fields := strings.Fields(s)
	if len(fields) < 3 {
		return 0, 0
	}
	first, rest, _ := strings.Cut(fields[2], ".")
	second, _, _ := strings.Cut(rest, ".")
	major, err1 := strconv.Atoi(first)
	minor, err2 := strconv.Atoi(second)
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0
	}
	return major, minor
}

// capped keeps the first max bytes and swallows the rest, so that a chatty command
// neither blocks nor fills the memory.
type capped struct {
	buf bytes.Buffer
	max int
	cut bool
}

func (c *capped) Write(p []byte) (int, error) {
	room := min(len(p), c.max-c.buf.Len())
	c.cut = c.cut || room < len(p)
	c.buf.Write(p[:room])
	return len(p), nil
}
