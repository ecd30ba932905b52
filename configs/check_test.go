package configs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/configs"
)

// Values at the edge of what a key takes; a want is what the problem says, "" for none.
func TestValues(t *testing.T) {
	tests := []struct {
		key, text, want string
	}{
		{"autonomous.todo_path", "docs/TODO.md", ""},
		{"autonomous.todo_path", "a..b/TODO.md", ""},
		{"autonomous.todo_path", "", "is empty"},
		{"autonomous.todo_path", "/etc/passwd", "is not a path inside the work tree"},
		{"autonomous.todo_path", "a/../../b", "is not a path inside the work tree"},
		{"autonomous.todo_path", `a\b`, "is not a path inside the work tree"},
		{"autonomous.todo_path", ".git/TODO.md", "lies in a .git folder"},
		{"autonomous.todo_path", "a\x1b[2Jb", "has a control character"},
		{"autonomous.status_path", "/var/lib/hob/status.toml", ""},
		{"autonomous.interval", "0", ""},
		{"autonomous.interval", "1s", ""},
		{"autonomous.interval", "999ms", "is shorter than a second"},
		{"autonomous.interval", "-5m", "is negative"},
		{"autonomous.stop_grace", "0", ""},
		{"autonomous.git_remote", "", ""},
		{"autonomous.git_remote", "up/stream", ""},
		{"autonomous.git_remote", "--upload-pack=x", "is not the name of a remote"},
		{"autonomous.git_remote", "ext::sh -c x", "is not the name of a remote"},
		{"autonomous.git_remote", "git@example.org:x", "is not the name of a remote"},
		{"autonomous.git_remote", "../other", "is not the name of a remote"},
		{"schedule.tz", "UTC", ""},
		{"schedule.tz", "../../etc/passwd", "is not a time zone"},
		{"schedule.cron", "not checked here", ""},
		{"schedule.cron", `["a\u0001b"]`, "has a control character"},
		{"budget.warn_pct", "1", ""},
		{"budget.warn_pct", "100", ""},
		{"budget.warn_pct", "0x65", "101 is not between"},
		{"sandbox.memory", "0B", "must be more than 0"},
		{"taste.min_confidence", "0.50", ""},
		{"taste.min_confidence", "2", "is not between 0 and 1"},
		{"taste.min_confidence", "1", "1.0 is not available yet"},
		{"git.base", "", ""},
		{"git.base", "release/1.x", ""},
		{"git.author_name", "a\nb", "has a character git leaves out"},
		{"git.author_email", "a@b>", "has a character git leaves out"},
		{"journal.max_payload_bytes", "1024", ""},
		{"model", "[{ provider = 'script', script = 's', headers = { 'A B' = '' } }]", "is not the name of a header"},
		{"model", "[{ provider = 'script', script = 's', secret_ref = '' }]", ""},
		{"validators", "[{ name = 'a', run = 'x', env = { A = \"\\u0000\" } }]", "has a NUL byte"},
		{"validators", "[{ name = 'A.b-c_1', argv = ['x', ''], run = '' }]", ""},
		{"validators", "[{ name = 'a', argv = 'x' }]", "expected array of strings, got string"},
	}
	for _, tt := range tests {
		_, err := configs.Load(configs.Layers{Flags: map[string]string{tt.key: tt.text}})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s = %q: %v, want no problem", tt.key, tt.text, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s = %q: %v, want one problem with %q", tt.key, tt.text, err, tt.want)
		}
	}
}

// All ways TOML has to write the same tables are read alike, and positions stay right.
func TestSpellingsOfTables(t *testing.T) {
	headers := "[[model]]\nprovider = 'script'\nscript = 's'\n[model.price]\ninput = 1\noutput = 2\n[model.headers]\nX-A = 'b'\n[[model]]\nprovider = 'script'\nscript = 't'\nprice.input = 0\nprice.output = 0\n"
	inline := "model = [{ provider = 'script', script = 's', price = { input = 1, output = 2 }, headers = { X-A = 'b' } },\n{ provider = 'script', script = 't', price = { input = 0, output = 0 } }]"
	if diff := cmp.Diff(load(t, user(headers)).Model, load(t, user(inline)).Model); diff != "" {
		t.Errorf("models by headers and inline differ:\n%s", diff)
	}
	got := refused(t, user("model = [ { script = 's',\n  provider = 'script', \"größe\" = 2, tols = 'text' } ]")).Error()
	want := "config.toml:2:24: model[0].\"größe\": unknown key\nconfig.toml:2:39: model[0].tols: unknown key, did you mean \"tools\"?"
	if got != want {
		t.Errorf("problems = %s, want %s", got, want)
	}
}

// No text reaches a message unless it is short, printable and no key.
func TestProblemsAreFitToPrint(t *testing.T) {
	for _, text := range []string{
		"[log]\nlevel = \"\\u001b[2J\\nforged: line\"",
		"[log]\n\"\\u001b[2J\\n\" = 1",
		"\"\\u202e\\n\" = 1",
		"[log]\nlevel = '" + strings.Repeat("long", 1000) + "'",
		"[" + strings.Repeat("long", 1000) + "]",
		"[log]\n" + strings.Repeat("long", 1000) + " = 1",
	} {
		for line := range strings.SplitSeq(refused(t, user(text)).Error(), "\n") {
			if len(line) > 300 || strings.ContainsAny(line, "\x1b\u202e") || strings.HasPrefix(line, "forged") {
				t.Errorf("problem %q is not fit to print", line)
			}
		}
	}
}
