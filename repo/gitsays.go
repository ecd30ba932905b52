package repo

import (
	"fmt"
	"strings"
)

// says is what a message of git means to hob. The closed set stands in the table
// below, which is the only place that reads git's words.
type says string

const (
	saysNothing      says = "" // no line of the table matched
	saysNoRepository says = "no_repository"
	saysNoWorkTree   says = "no_work_tree"
	saysDubious      says = "dubious_ownership"
	saysExtension    says = "unknown_extension"
	saysNoRef        says = "no_such_ref"
	saysCheckedOut   says = "checked_out"
	saysNotForward   says = "not_a_fast_forward"
	saysDeclined     says = "declined"
	saysAuth         says = "auth"
	saysHostKey      says = "host_key"
	saysUnreachable  says = "unreachable"
	saysNotFound     says = "not_found"
	saysProtocol     says = "protocol_refused"
	saysLocked       says = "locked"
	saysNameTaken    says = "name_taken" // a ref named like a folder of the other
	saysDisk         says = "disk_full"
	saysCorrupt      says = "corrupt"
)

// A saying is a part of a message, as git prints it with LC_ALL=C, and its meaning.
type saying struct {
	text string
	says says
}

// sayings are tried from the top, first over the whole of what git printed: what
// names the cause stands above what names the consequence. The texts are those of
// git 2.39 to 2.47, OpenSSH and the common hosts.
func sayings() []saying {
	return []saying{
		{"detected dubious ownership", saysDubious},
		{"unknown repository extension", saysExtension},
		{"Expected git repo version", saysExtension},
		{"invalid ref storage format", saysExtension},
		{"No space left on device", saysDisk},
		{"Disk quota exceeded", saysDisk},
		{"branch is currently checked out", saysCheckedOut},
		{"refusing to update checked out branch", saysCheckedOut},
		{"exists; cannot create", saysNameTaken},
		{" but expected ", saysNotForward},
		{".lock': File exists", saysLocked},
		{"Unable to create '", saysLocked},
		{"cannot lock ref", saysLocked},
		{"(failed to update ref)", saysLocked},
		{"Host key verification failed", saysHostKey},
		{"HOST IDENTIFICATION HAS CHANGED", saysHostKey},
		{"Authentication failed", saysAuth},
		{"could not read Username", saysAuth},
		{"could not read Password", saysAuth},
		{"terminal prompts disabled", saysAuth},
		{"Permission denied (", saysAuth},
		{"The requested URL returned error: 401", saysAuth},
		{"The requested URL returned error: 403", saysAuth},
		{"Permission to ", saysAuth},
		{"pre-receive hook declined", saysDeclined},
		{"update hook declined", saysDeclined},
		{"hook declined", saysDeclined},
		{"protected branch", saysDeclined},
		{"GH006", saysDeclined},
		{"push declined", saysDeclined},
		{"(deny updating a hidden ref)", saysDeclined},
		{"(fetch first)", saysNotForward},
		{"(non-fast-forward)", saysNotForward},
		{"(stale info)", saysNotForward},
		{"denying non-fast-forward", saysNotForward},
		{"Could not resolve host", saysUnreachable},
		{"Could not resolve hostname", saysUnreachable},
		{"Failed to connect", saysUnreachable},
		{"Couldn't connect to server", saysUnreachable},
		{"Connection refused", saysUnreachable},
		{"Connection timed out", saysUnreachable},
		{"Operation timed out", saysUnreachable},
		{"Operation too slow", saysUnreachable},
		{"Network is unreachable", saysUnreachable},
		{"No route to host", saysUnreachable},
		{"The requested URL returned error: 5", saysUnreachable},
		{"the remote end hung up unexpectedly", saysUnreachable},
		{"early EOF", saysUnreachable},
		{"Repository not found", saysNotFound},
		{"repository not found", saysNotFound},
		{"does not appear to be a git repository", saysNotFound},
		{"not found: did you run git update-server-info", saysNotFound},
		{"' not found", saysNotFound},
		{"The requested URL returned error: 404", saysNotFound},
		{"does not exist", saysNotFound},
		{"transport '", saysProtocol},
		{"is not a valid protocol", saysProtocol},
		{"Unable to find remote helper", saysProtocol},
		{"couldn't find remote ref", saysNoRef},
		{"unknown revision", saysNoRef},
		{"Needed a single revision", saysNoRef},
		{"bad revision", saysNoRef},
		{"must be run in a work tree", saysNoWorkTree},
		{"not a git repository", saysNoRepository},
		{"is corrupt", saysCorrupt},
		{"bad object", saysCorrupt},
		{"unable to read tree", saysCorrupt},
		{"[remote rejected]", saysDeclined},
		{"Could not read from remote repository", saysUnreachable},
	}
}

// understand returns what text means.
func understand(text string) says {
	for _, s := range sayings() {
		if strings.Contains(text, s.text) {
			return s.says
		}
	}
	return saysNothing
}

// gitError is a git command that ended badly. Its text is masked already.
type gitError struct {
	command string
	code    int
	says    says
	all     string // stderr, up to its cap
	stderr  string // its last lines, in one
	cause   error  // the end of the context, when that ended it
}

// newGitError keeps the last lines of stderr, where git says what it died of.
func newGitError(command string, code int, stderr string, cause error) *gitError {
	const lines, bytes = 6, 600
	e := &gitError{command: command, code: code, says: understand(stderr), all: stderr, cause: cause}
	all := strings.Split(strings.TrimSpace(stderr), "\n")
	e.stderr = strings.Join(all[max(0, len(all)-lines):], "; ")
	if n := len(e.stderr); n > bytes {
		e.stderr = strings.ToValidUTF8(e.stderr[n-bytes:], "")
	}
	return e
}

func (e *gitError) Error() string {
	switch {
	case e.cause != nil:
		return fmt.Sprintf("git %s: %v", e.command, e.cause)
	case e.stderr == "":
		return fmt.Sprintf("git %s: exit status %d", e.command, e.code)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.stderr)
}

func (e *gitError) Unwrap() error { return e.cause }
