package repo

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A remoteURL is where to push to. A name and password written into the URL are kept
// apart: they would show in the process list, of git and of its helpers.
type remoteURL struct {
	text           string // without userinfo, if that could be secret; "" when there is no such remote
	user, password string
}

// remoteURL reads a remote's URL from the user's repository: the push URL if one is
// set. A relative one counts from the work tree, as it does for the user's git.
func (r *Repo) remoteURL(ctx context.Context, remote string) (remoteURL, error) {
	for _, key := range []string{"pushurl", "url"} {
		out, err := r.git.run(ctx, call{
			gitDir: r.place.GitDir, timeout: askTimeout, quiet: true,
			args: []string{"config", "--get", "remote." + remote + "." + key},
		})
		if err != nil {
			return remoteURL{}, err
		}
		if text := strings.TrimSuffix(string(out), "\n"); text != "" {
			return parseRemote(text, r.place.Root), nil
		}
	}
	return remoteURL{}, nil
}

// parseRemote splits a URL as git understands it (git-fetch(1), GIT URLS): with a
// scheme, or scp-like host:path, or else a path.
func parseRemote(text, root string) remoteURL {
	if strings.HasPrefix(text, "-") { // no scheme and no host begins so; git would take it for an option
		return remoteURL{text: filepath.Join(root, text)}
	}
	scheme, _, isURL := strings.Cut(text, "://")
	if !isURL {
		colon, slash := strings.IndexByte(text, ':'), strings.IndexByte(text, '/')
		scp := colon >= 0 && (slash < 0 || colon < slash)
		if scp || filepath.IsAbs(text) {
			return remoteURL{text: text}
		}
		return remoteURL{text: filepath.Join(root, text)}
	}
	if scheme != "https" && scheme != "http" {
		return remoteURL{text: text}
	}
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return remoteURL{text: bareURL.ReplaceAllString(text, "://")}
	}
	out := remoteURL{user: u.User.Username()}
	out.password, _ = u.User.Password()
	u.User = nil
	out.text = u.String()
	return out
}

// bareURL finds the userinfo of a URL that can't be parsed; up to the last @ counts.
var bareURL = regexp.MustCompile(`://[^/]*@`)

// listed is what a remote says of itself.
type listed struct {
	tip  string // of the agent branch; "" when it isn't there
	head string // full name of the branch HEAD is on; "" when it doesn't say
}

// listRemote asks a remote for one ref and for what its HEAD is on.
func (r *Repo) listRemote(ctx context.Context, u remoteURL, ref string) (listed, error) {
	out, err := r.onRemote(ctx, u, lsTimeout, []string{"ls-remote", "--symref", "--", u.text, "HEAD", ref})
	if err != nil {
		return listed{}, err
	}
	var l listed
	for line := range strings.Lines(string(out)) {
		value, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case name == "HEAD" && strings.HasPrefix(value, "ref: "):
			l.head = strings.TrimPrefix(value, "ref: ")
		case name == ref:
			l.tip = value
		}
	}
	return l, nil
}

// sshOptions never ask: an unknown host key or a passphrase is a failure, not a prompt.
const sshOptions = " -oBatchMode=yes -oConnectTimeout=15 -oServerAliveInterval=15 -oServerAliveCountMax=4" +
	" -oStrictHostKeyChecking=yes -oControlMaster=no"

// credentialHelper hands over what stood in the URL, from the environment: that is
// not in the process list (gitcredentials(7), CUSTOM HELPERS).
const credentialHelper = `!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$HOB_GIT_USER" "$HOB_GIT_PASSWORD"; }; f`

// onRemote runs a git command that talks with a remote, from hob's store.
func (r *Repo) onRemote(ctx context.Context, u remoteURL, timeout time.Duration, args []string) ([]byte, error) {
	ssh, err := r.sshCommand(ctx)
	if err != nil {
		return nil, err
	}
	env := []string{"GIT_SSH_COMMAND=" + ssh + sshOptions}
	switch {
	case u.password != "":
		env = append(env, "HOB_GIT_USER="+u.user, "HOB_GIT_PASSWORD="+u.password, "GIT_CONFIG_COUNT=2",
			"GIT_CONFIG_KEY_0=credential.helper", "GIT_CONFIG_VALUE_0=", // forget the user's helpers
			"GIT_CONFIG_KEY_1=credential.helper", "GIT_CONFIG_VALUE_1="+credentialHelper)
	case u.user != "":
		env = append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=credential.username", "GIT_CONFIG_VALUE_0="+u.user)
	}
	return r.git.run(ctx, call{profile: network, gitDir: r.store, timeout: timeout, env: env, args: args})
}

// sshCommand is the user's own ssh, if their global configuration names one: it may
// be the only way to their key.
func (r *Repo) sshCommand(ctx context.Context) (string, error) {
	out, err := r.git.run(ctx, call{
		profile: network, gitDir: r.store, timeout: askTimeout, quiet: true,
		args: []string{"config", "--global", "--get", "core.sshCommand"},
	})
	var ge *gitError
	if errors.As(err, &ge) && ge.cause == nil {
		return "ssh", nil // no home, no file, or one that the command itself will complain of
	}
	if command := strings.TrimSpace(string(out)); command != "" {
		return command, err
	}
	return "ssh", err
}
