package repo

import "testing"

// TestUnderstand has a whole message of git, as seen, for each line of the table: the
// line must be found in it and no line above it may win by mistake.
func TestUnderstand(t *testing.T) {
	messages := map[string]struct {
		message string
		want    says
	}{
		"detected dubious ownership":                    {"fatal: detected dubious ownership in repository at '/x'", saysDubious},
		"unknown repository extension":                  {"fatal: unknown repository extension found:\n\trefstorage", saysExtension},
		"Expected git repo version":                     {"fatal: Expected git repo version <= 1, found 2", saysExtension},
		"invalid ref storage format":                    {"fatal: invalid ref storage format: x", saysExtension},
		"No space left on device":                       {"error: unable to write file: No space left on device\nfatal: unpack-objects failed", saysDisk},
		"Disk quota exceeded":                           {"fatal: write error: Disk quota exceeded", saysDisk},
		"branch is currently checked out":               {"! [remote rejected] x -> agent-dev (branch is currently checked out)", saysCheckedOut},
		"refusing to update checked out branch":         {"remote: error: refusing to update checked out branch: refs/heads/agent-dev", saysCheckedOut},
		"exists; cannot create":                         {"remote: error: cannot lock ref 'refs/heads/a': 'refs/heads/a/x' exists; cannot create 'refs/heads/a'", saysNameTaken},
		" but expected ":                                {"error: cannot lock ref 'refs/heads/a': is at 1111 but expected 2222", saysNotForward},
		".lock': File exists":                           {"fatal: Unable to create '/x/.git/index.lock': File exists.", saysLocked},
		"Unable to create '":                            {"fatal: Unable to create '/x/packed-refs.lock': Permission denied", saysLocked},
		"cannot lock ref":                               {"error: cannot lock ref 'refs/heads/a': unable to resolve reference", saysLocked},
		"(failed to update ref)":                        {"! [remote rejected] x -> y (failed to update ref)", saysLocked},
		"Host key verification failed":                  {"Host key verification failed.\nfatal: Could not read from remote repository.", saysHostKey},
		"HOST IDENTIFICATION HAS CHANGED":               {"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @", saysHostKey},
		"Authentication failed":                         {"fatal: Authentication failed for 'https://h/r.git/'", saysAuth},
		"could not read Username":                       {"fatal: could not read Username for 'https://h': terminal prompts disabled", saysAuth},
		"could not read Password":                       {"fatal: could not read Password for 'https://u@h': No such device or address", saysAuth},
		"terminal prompts disabled":                     {"fatal: unable to get credentials: terminal prompts disabled", saysAuth},
		"Permission denied (":                           {"git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.", saysAuth},
		"The requested URL returned error: 401":         {"fatal: unable to access 'https://h/': The requested URL returned error: 401", saysAuth},
		"The requested URL returned error: 403":         {"fatal: unable to access 'https://h/': The requested URL returned error: 403", saysAuth},
		"Permission to ":                                {"remote: Permission to o/r.git denied to bot.", saysAuth},
		"pre-receive hook declined":                     {"! [remote rejected] x -> y (pre-receive hook declined)", saysDeclined},
		"update hook declined":                          {"! [remote rejected] x -> y (update hook declined)", saysDeclined},
		"hook declined":                                 {"! [remote rejected] x -> y (hook declined)", saysDeclined},
		"protected branch":                              {"remote: GitLab: You are not allowed to push code to protected branches on this project.", saysDeclined},
		"GH006":                                         {"remote: error: GH006: Protected branch update failed for refs/heads/x.", saysDeclined},
		"push declined":                                 {"! [remote rejected] x -> y (push declined due to repository rule violations)", saysDeclined},
		"(deny updating a hidden ref)":                  {"! [remote rejected] x -> y (deny updating a hidden ref)", saysDeclined},
		"(fetch first)":                                 {"! [rejected] x -> y (fetch first)", saysNotForward},
		"(non-fast-forward)":                            {"! [rejected] x -> y (non-fast-forward)", saysNotForward},
		"(stale info)":                                  {"! [rejected] x -> y (stale info)", saysNotForward},
		"denying non-fast-forward":                      {"remote: error: denying non-fast-forward refs/heads/y (you should pull first)", saysNotForward},
		"Could not resolve host":                        {"fatal: unable to access 'https://h/': Could not resolve host: h", saysUnreachable},
		"Could not resolve hostname":                    {"ssh: Could not resolve hostname h: Name or service not known", saysUnreachable},
		"Failed to connect":                             {"fatal: unable to access 'https://h/': Failed to connect to h port 443", saysUnreachable},
		"Couldn't connect to server":                    {"fatal: unable to access 'https://h/': Couldn't connect to server", saysUnreachable},
		"Connection refused":                            {"ssh: connect to host h port 22: Connection refused", saysUnreachable},
		"Connection timed out":                          {"ssh: connect to host h port 22: Connection timed out", saysUnreachable},
		"Operation timed out":                           {"ssh: connect to host h port 22: Operation timed out", saysUnreachable},
		"Operation too slow":                            {"error: RPC failed; curl 28 Operation too slow.", saysUnreachable},
		"Network is unreachable":                        {"ssh: connect to host h port 22: Network is unreachable", saysUnreachable},
		"No route to host":                              {"ssh: connect to host h port 22: No route to host", saysUnreachable},
		"The requested URL returned error: 5":           {"fatal: unable to access 'https://h/': The requested URL returned error: 503", saysUnreachable},
		"the remote end hung up unexpectedly":           {"fatal: the remote end hung up unexpectedly", saysUnreachable},
		"early EOF":                                     {"fatal: early EOF", saysUnreachable},
		"Repository not found":                          {"ERROR: Repository not found.\nfatal: Could not read from remote repository.", saysNotFound},
		"repository not found":                          {"remote: repository not found", saysNotFound},
		"does not appear to be a git repository":        {"fatal: '/x' does not appear to be a git repository\nfatal: Could not read from remote repository.", saysNotFound},
		"not found: did you run git update-server-info": {"fatal: https://h/r.git/info/refs not found: did you run git update-server-info on the server?", saysNotFound},
		"' not found":                                   {"fatal: repository 'https://h/r.git/' not found", saysNotFound},
		"The requested URL returned error: 404":         {"fatal: unable to access 'https://h/': The requested URL returned error: 404", saysNotFound},
		"does not exist":                                {"fatal: repository '/x' does not exist", saysNotFound},
		"transport '":                                   {"fatal: transport 'ext' not allowed", saysProtocol},
		"is not a valid protocol":                       {"fatal: x is not a valid protocol", saysProtocol},
		"Unable to find remote helper":                  {"fatal: Unable to find remote helper for 'foo'", saysProtocol},
		"couldn't find remote ref":                      {"fatal: couldn't find remote ref refs/heads/x", saysNoRef},
		"unknown revision":                              {"fatal: ambiguous argument 'x': unknown revision or path not in the working tree.", saysNoRef},
		"Needed a single revision":                      {"fatal: Needed a single revision", saysNoRef},
		"bad revision":                                  {"fatal: bad revision 'x'", saysNoRef},
		"must be run in a work tree":                    {"fatal: this operation must be run in a work tree", saysNoWorkTree},
		"not a git repository":                          {"fatal: not a git repository (or any of the parent directories): .git", saysNoRepository},
		"is corrupt":                                    {"error: loose object 11 (stored in x) is corrupt", saysCorrupt},
		"bad object":                                    {"fatal: bad object 11", saysCorrupt},
		"unable to read tree":                           {"fatal: unable to read tree 11", saysCorrupt},
		"[remote rejected]":                             {"! [remote rejected] x -> y (no reason)", saysDeclined},
		"Could not read from remote repository":         {"fatal: Could not read from remote repository.", saysUnreachable},
	}
	for _, s := range sayings() {
		t.Run(s.text, func(t *testing.T) {
			m, ok := messages[s.text]
			if !ok {
				t.Fatal("no message for this line of the table")
			}
			if got := understand(m.message); got != m.want || got != s.says {
				t.Errorf("understand(%q) = %q, want %q", m.message, got, m.want)
			}
		})
		delete(messages, s.text)
	}
	for text := range messages {
		t.Errorf("no line of the table has %q", text)
	}
	if got := understand("something new"); got != saysNothing {
		t.Errorf("understand of something new = %q", got)
	}
}
