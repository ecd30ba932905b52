package validators_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hob/configs"
	"hob/validators"
	"hob/validators/sandbox"
)

// tool is a real test runner with a small suite of two tests in two files.
type tool struct {
	name    string
	line    string            // the validator
	probe   []string          // succeeds where the tool is installed
	files   map[string]string // the project
	suite   []string          // what "deleting the suite" deletes
	killer  map[string]string // files that make a test kill its runner
	failing map[string]string // files that make one test fail
	failed  string            // how that test is named
	missing string            // a line whose program isn't there
	cached  string            // what the output of a second run shows, where the tool has a cache
}

func goFile(name string, hour int) string {
	const text = `package tide

import "testing"

func Test%s(t *testing.T) {
	if got := Height(%d); got != 7 {
		t.Errorf("height is %%d, want 7", got)
	}
}
`
	return fmt.Sprintf(text, name, hour)
}

var tools = []tool{
	{
		name: "go", line: "go test ./...", probe: []string{"go", "version"},
		files: map[string]string{
			"go.mod": "module example.org/tide\n\ngo 1.21\n", "tide.go": "package tide\n\n// Height is the height at an hour.\nfunc Height(hour int) int { return hour }\n",
			"a_test.go": goFile("Noon", 7), "b_test.go": goFile("Night", 7),
		},
		suite: []string{"a_test.go", "b_test.go"},
		killer: map[string]string{
			"a_test.go": "package tide\n\nimport (\n\t\"os\"\n\t\"syscall\"\n\t\"testing\"\n)\n\nfunc TestNoon(t *testing.T) { syscall.Kill(os.Getppid(), syscall.SIGKILL); select {} }\n",
		},
		failing: map[string]string{"b_test.go": goFile("Night", 6)}, failed: "example.org/tide.TestNight",
		missing: "go-hob-missing test ./...", cached: "(cached)",
	},
	{
		name: "pytest", line: "python3 -m pytest", probe: []string{"python3", "-m", "pytest", "--version"},
		files: map[string]string{
			"tide.py":      "def height(hour):\n    return hour\n",
			"test_noon.py": "from tide import height\n\ndef test_noon():\n    assert height(7) == 7\n", "test_night.py": "from tide import height\n\ndef test_night():\n    assert height(7) == 7\n",
		},
		suite:   []string{"test_noon.py", "test_night.py"},
		killer:  map[string]string{"test_noon.py": "import os, signal\n\ndef test_noon():\n    os.kill(os.getpid(), signal.SIGKILL)\n"},
		failing: map[string]string{"test_night.py": "from tide import height\n\ndef test_night():\n    assert height(6) == 7\n"}, failed: "test_night.py::test_night",
		missing: "python3 -m pytest_hob_missing",
	},
	{
		name: "unittest", line: "python3 -m unittest", probe: []string{"python3", "--version"},
		files: map[string]string{
			"test_noon.py":  "import unittest\n\nclass Noon(unittest.TestCase):\n    def test_noon(self):\n        self.assertEqual(7, 7)\n",
			"test_night.py": "import unittest\n\nclass Night(unittest.TestCase):\n    def test_night(self):\n        self.assertEqual(7, 7)\n",
		},
		suite:   []string{"test_noon.py", "test_night.py"},
		killer:  map[string]string{"test_noon.py": "import os, signal, unittest\n\nclass Noon(unittest.TestCase):\n    def test_noon(self):\n        os.kill(os.getpid(), signal.SIGKILL)\n"},
		failing: map[string]string{"test_night.py": "import unittest\n\nclass Night(unittest.TestCase):\n    def test_night(self):\n        self.assertEqual(6, 7)\n"}, failed: "test_night.Night.test_night",
		missing: "python-hob-missing -m unittest",
	},
	{
		name: "node", line: "node --test", probe: []string{"node", "--version"},
		files: map[string]string{
			"noon.test.js":  "const {test} = require('node:test');\nconst assert = require('node:assert');\ntest('noon', () => assert.equal(7, 7));\n",
			"night.test.js": "const {test, describe} = require('node:test');\nconst assert = require('node:assert');\ndescribe('dark', () => { test('night', () => assert.equal(7, 7)); });\n",
		},
		suite:   []string{"noon.test.js", "night.test.js"},
		killer:  map[string]string{"noon.test.js": "process.kill(process.ppid, 'SIGKILL');\n"},
		failing: map[string]string{"night.test.js": "const {test, describe} = require('node:test');\nconst assert = require('node:assert');\ndescribe('dark', () => { test('night', () => assert.equal(6, 7)); });\n"}, failed: "dark > night",
		missing: "node-hob-missing --test",
	},
	{
		name: "cargo", line: "cargo test --offline", probe: []string{"cargo", "--version"},
		files: map[string]string{
			"Cargo.toml": "[package]\nname = \"tide\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n", "src/lib.rs": "pub fn height(hour: i32) -> i32 {\n    hour\n}\n",
			"tests/noon.rs": "#[test]\nfn noon() {\n    assert_eq!(tide::height(7), 7);\n}\n", "tests/night.rs": "#[test]\nfn night() {\n    assert_eq!(tide::height(7), 7);\n}\n",
		},
		suite:   []string{"tests"},
		killer:  map[string]string{"tests/noon.rs": "#[test]\nfn noon() {\n    std::process::Command::new(\"sh\").args([\"-c\", &format!(\"kill -9 {}\", std::process::id())]).status().unwrap();\n}\n"},
		failing: map[string]string{"tests/night.rs": "#[test]\nfn night() {\n    assert_eq!(tide::height(6), 7);\n}\n"}, failed: "tests/night.rs: night",
		missing: "cargo hob-missing",
	},
}

// For each runner: a deleted suite, a missing program and a killed run are broken, a run that the
// runner's cache answers is a pass; and a failing test is a failure with the test's name.
func TestRealRunners(t *testing.T) {
	for _, tl := range tools {
		t.Run(tl.name, func(t *testing.T) {
			t.Parallel()
			env := toolEnv(t, tl.probe)
			run := func(line string, files map[string]string, without ...string) validators.Result {
				t.Helper()
				dir := filepath.Join(t.TempDir(), "slot")
				plant(t, dir, tl.files)
				plant(t, dir, files)
				for _, name := range without {
					if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
						t.Fatal(err)
					}
				}
				return runTwice(t, dir, line, env, without == nil && files == nil)
			}

			r := run(tl.line, nil)
			wantResult(t, "cached run", r, validators.Pass, "")
			if r.Tests.Ran != 2 || r.Tests.Failed != 0 || r.Tests.Tool != tl.name {
				t.Errorf("cached run: tests = %+v, want 2 by %s\n%s", r.Tests, tl.name, r.Output)
			}
			if !strings.Contains(string(r.Output), tl.cached) {
				t.Errorf("cached run: the output doesn't show %q, so it wasn't cached:\n%s", tl.cached, r.Output)
			}
			wantResult(t, "deleted suite", run(tl.line, nil, tl.suite...), validators.Broken, validators.ReasonNoTests)
			wantResult(t, "missing program", run(tl.missing, nil), validators.Broken, validators.ReasonMissing)
			wantResult(t, "killed run", run(tl.line, tl.killer), validators.Broken, validators.ReasonNoTests)

			r = run(tl.line, tl.failing)
			wantResult(t, "failing test", r, validators.Fail, "")
			if got := strings.Join(r.Tests.FailedNames, ", "); got != tl.failed {
				t.Errorf("failing test: FailedNames = %s, want %s\n%s", got, tl.failed, r.Output)
			}
			again := run(tl.line, tl.failing)
			if a, b := feedback(r), feedback(again); a != b || !strings.Contains(a, "7") {
				t.Errorf("feedback of two runs of one tree, in two folders:\n%s\n--- and ---\n%s", a, b)
			}
			if a, b := validators.Signature([]validators.Result{r}), validators.Signature([]validators.Result{again}); a != b || a == "" {
				t.Errorf("signatures of two runs of one tree are %q and %q", a, b)
			}
		})
	}
}

func feedback(r validators.Result) string {
	return validators.Feedback([]validators.Result{r}, 8<<10)
}

func wantResult(t *testing.T, what string, r validators.Result, v validators.Verdict, reason string) {
	t.Helper()
	if r.Verdict != v || r.Reason != reason {
		t.Errorf("%s: %v, reason %q (%s); want %v, %q\nexit %+v, tests %+v\n%s", what, r.Verdict, r.Reason, r.Message, v, reason, r.Exit, r.Tests, r.Output)
	}
}

// runTwice runs a line in dir, twice where the second run is to be answered by a cache.
func runTwice(t *testing.T, dir, line string, env []string, twice bool) validators.Result {
	t.Helper()
	r := runLine(t, dir, line, env)
	if twice {
		r = runLine(t, dir, line, env)
	}
	return r
}

func runLine(t *testing.T, dir, line string, env []string) validators.Result {
	t.Helper()
	set, err := validators.New([]configs.Validator{{Name: "test", Run: line, Required: true}}, sandbox.None(), env)
	if err != nil {
		t.Fatal(err)
	}
	return set.Run(t.Context(), dir, nil, validators.Watch{})[0]
}

// toolEnv is the environment of a slot, with go's build cache taken over from whoever runs the
// tests: a cold one costs 20 s. It skips where probe fails, also with the system's own programs
// first: a distribution's pytest belongs to the distribution's python.
func toolEnv(t *testing.T, probe []string) []string {
	t.Helper()
	state := t.TempDir()
	opt := sandbox.EnvOptions{
		Caller: os.Environ(), Home: filepath.Join(state, "home"), Temp: filepath.Join(state, "tmp"),
		Cache: filepath.Join(state, "cache"), Scope: "shared", Ceiling: state,
	}
	opt.UserHome, _ = os.UserHomeDir() // without a home no toolchain is found there, which is a skip
	plant(t, opt.Home, nil)
	plant(t, opt.Temp, nil)
	env := sandbox.Env(opt)
	if cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output(); err == nil {
		env = append(env, "GOCACHE="+strings.TrimSpace(string(cache)))
	}
	if works(t, env, probe) {
		return env
	}
	env = append(env, "PATH=/usr/bin:/bin:"+os.Getenv("PATH"))
	if !works(t, env, probe) {
		t.Skipf("%q doesn't work here", strings.Join(probe, " "))
	}
	return env
}

func works(t *testing.T, env, probe []string) bool {
	t.Helper()
	c := sandbox.Command{Argv: probe, Dir: t.TempDir(), Env: env}
	got, err := sandbox.None().Run(t.Context(), c, sandbox.Limits{})
	return err == nil && got.Code == 0
}

func plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
