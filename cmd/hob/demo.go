package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"

	"hob/engine"
	"hob/engine/task"
	"hob/journal"
	"hob/repo"
)

// demoFiles is the demo's repository, and beside it the script that plays the model.
//
//go:embed demo.txtar
var demoFiles []byte

func demoCmd(w *world) *cobra.Command {
	var dir string
	var keep bool
	c := &cobra.Command{
		Use: "demo", Short: "watch hob work two items, with no key and no network", GroupID: setup, Args: exactly(0),
		Long: "Makes a small Go repository with a remote and a TODO.md of two items, and works them with a\n" +
			"scripted model through the code that real models use. One item lands at once; the other\n" +
			"fails its test first, is repaired, then lands. Needs git and go on the PATH.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := w.newDemo(dir, keep)
			if err != nil {
				return err
			}
			return d.run(cmd.Context())
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "make it in `D`, which must be empty or new, and keep it")
	c.Flags().BoolVar(&keep, "keep", false, "keep the repository to look around")
	return c
}

// A demo is one run of the demo in a folder of its own.
type demo struct {
	w                 *world
	dir, repo, remote string
	keep              bool
}

func (w *world) newDemo(dir string, keep bool) (*demo, error) {
	if dir == "" {
		made, err := os.MkdirTemp(w.getenv("TMPDIR"), "hob-demo-")
		if err != nil {
			return nil, err
		}
		dir = made
	} else {
		keep = true
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			return nil, withHint(usagef("%s is not empty", dir), "name a new folder with --dir")
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &demo{w: w, dir: dir, repo: filepath.Join(dir, "tide"), remote: filepath.Join(dir, "remote.git"), keep: keep}, nil
}

func (d *demo) run(ctx context.Context) error {
	if !d.keep {
		defer os.RemoveAll(d.dir)
	}
	if err := d.make(ctx); err != nil {
		return err
	}
	if !d.w.json {
		fmt.Fprintf(d.w.Err, "working two items in %s\n(the first time Go compiles its standard library for it: about a minute)\n\n", d.repo)
	}
	sh, err := d.open(ctx)
	if err != nil {
		return err
	}
	out, err := sh.once(ctx)
	if err != nil {
		return err
	}
	return d.tell(ctx, out.Ended)
}

// make lays out the repository, its remote and the script.
func (d *demo) make(ctx context.Context) error {
	if err := os.Mkdir(filepath.Join(d.dir, "home"), 0o700); err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, f := range txtar.Parse(demoFiles).Files {
		beside, ok := map[string]string{"script.toml": "script.toml", "config.toml": "home/config.toml"}[f.Name]
		if !ok {
			files[f.Name] = f.Data
			continue
		}
		if err := os.WriteFile(filepath.Join(d.dir, beside), f.Data, 0o600); err != nil {
			return err
		}
	}
	return repo.Create(ctx, d.repo, d.remote, files, d.w.Env)
}

// open opens the demo's repository with settings and state of its own, and the
// caches of the user's hob: a cold Go cache would make the demo wait for a minute.
func (d *demo) open(ctx context.Context) (*shop, error) {
	caches, err := d.w.folders()
	if err != nil {
		return nil, err
	}
	home := filepath.Join(d.dir, "home")
	w := *d.w
	w.repoDir, w.configFile, w.set = d.repo, "", nil
	w.set = []string{"log.level=warn"}
	w.tell = func(journal.Entry) {}
	if !w.json {
		w.tell = (&story{out: w.Err}).tell
	}
	// Nothing of the user's own settings: the demo must never ask a real model.
	w.Env = slices.DeleteFunc(slices.Clone(w.Env), func(kv string) bool { return strings.HasPrefix(kv, "HOB_") })
	w.Env = append(w.Env, "HOB_HOME="+home)
	s, err := w.found(ctx)
	if err != nil {
		return nil, err
	}
	s.dirs.cache = caches.cache
	own, err := readRegular(filepath.Join(d.repo, "hob.toml"))
	if err != nil {
		return nil, err
	}
	if err := s.trust(own); err != nil {
		return nil, err
	}
	if s.config, err = s.load(); err != nil {
		return nil, err
	}
	return s.open(ctx, "manual")
}

// A demoItem is one line of the demo's result.
type demoItem struct {
	ID       string      `json:"id"`
	Text     string      `json:"text"`
	State    task.State  `json:"state"`
	Reason   task.Reason `json:"reason"`
	Commit   string      `json:"commit"`
	Attempts int         `json:"attempts"`
	CostUSD  json.Number `json:"cost_usd"`
	Seconds  float64     `json:"seconds"`
}

// want is how the script makes the items end, in their order.
var want = []task.State{task.Pushed, task.Pushed}

// demoBranch is where the demo's work goes: the default of [autonomous] git_branch.
const demoBranch = "agent-dev"

func (d *demo) tell(ctx context.Context, ended []engine.Ended) error {
	items := make([]demoItem, 0, len(ended))
	scripted := len(ended) == len(want)
	for i, t := range ended {
		items = append(items, demoItem{
			t.ID, t.Text, t.State, t.Reason, t.Commit, t.Attempts,
			json.Number(usd(t.CostMicroUSD)), t.Took.Round(time.Millisecond).Seconds(),
		})
		scripted = scripted && t.State == want[i]
	}
	if err := d.print(ctx, items); err != nil {
		return err
	}
	if !scripted {
		return exitCode(exitFailed)
	}
	return nil
}

func (d *demo) print(ctx context.Context, items []demoItem) error {
	w := d.w
	if w.json {
		return w.printJSON(map[string]any{"dir": d.dir, "repo": d.repo, "remote": d.remote, "branch": demoBranch, "items": items})
	}
	w.printf("\n%-10s  %-40s  %-7s  %-18s  %-12s  %9s  %6s\n", "item", "text", "state", "why", "commit", "cost", "time")
	for _, i := range items {
		w.printf("%-10s  %-40s  %-7s  %-18s  %-12s  %9s  %5.1fs\n",
			i.ID, shorten(i.Text, 40), i.State, i.Reason, short(i.Commit, ""), "$"+string(i.CostUSD), i.Seconds)
	}
	log, err := repo.ShowLog(ctx, d.repo, demoBranch, w.Env)
	if err != nil {
		return err
	}
	w.printf("\n$ git log --reverse --stat main..%s\n\n%s\n", demoBranch, log)
	d.further(items)
	return nil
}

// further names the commands to look around with, or how to get a demo to look around in.
func (d *demo) further(items []demoItem) {
	if !d.keep {
		d.w.printf("All of this is gone now. To keep it and look around: hob demo --dir DIR\n")
		return
	}
	d.w.printf("Look further:\n  cd %s\n  export HOB_HOME=%s\n  git log -p %s\n  hob status\n", d.repo, filepath.Join(d.dir, "home"), demoBranch)
	if len(items) > 0 {
		d.w.printf("  hob show %s\n", items[len(items)-1].ID)
	}
	d.w.printf("  hob runs list\n  hob runs verify\n")
}
