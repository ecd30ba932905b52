package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"hob/configs"
	"hob/engine"
	"hob/engine/agent"
	"hob/engine/model"
	"hob/engine/model/wire"
	"hob/engine/status"
	"hob/engine/task"
	"hob/journal"
	"hob/journal/durable"
	"hob/journal/redact"
	"hob/repo"
	"hob/validators"
	"hob/validators/sandbox"
)

// A site is one repository with its state folder and settings, opened for reading.
type site struct {
	w      *world
	place  repo.Place
	dirs   folders
	state  string // the repository's own folder below folders.state
	config *configs.Loaded
}

// site finds the repository and loads its settings. Nothing is created.
func (w *world) site(ctx context.Context) (*site, error) {
	s, err := w.found(ctx)
	if err != nil {
		return nil, err
	}
	s.config, err = s.load()
	return s, err
}

// found is a site without its settings, for commands that must work when they are broken.
func (w *world) found(ctx context.Context) (*site, error) {
	dir := w.repoDir
	if dir == "" {
		dir = "."
	}
	dirs, err := w.folders()
	if err != nil {
		return nil, err
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, fmt.Errorf("%w: %s is no folder", repo.ErrNoRepository, dir)
	}
	place, err := repo.Find(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &site{w: w, place: place, dirs: dirs, state: filepath.Join(dirs.state, place.ID)}, nil
}

// load merges the layers: flag, environment, repository, user, defaults.
func (s *site) load() (*configs.Loaded, error) {
	user, err := s.userFile()
	if err != nil {
		return nil, err
	}
	own, err := optional(filepath.Join(s.place.Root, "hob.toml"))
	if err != nil {
		return nil, err
	}
	flags := map[string]string{}
	for _, kv := range s.w.set {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, usagef("--set %s: want KEY=VALUE", kv)
		}
		flags[k] = v
	}
	return configs.Load(configs.Layers{
		User: user, Repository: own, Trusted: own != nil && s.trusted(own.Data), Env: s.w.Env, Flags: flags,
	})
}

func (s *site) userFile() (*configs.File, error) {
	name := s.userName()
	f, err := optional(name)
	if f == nil && err == nil && name != filepath.Join(s.dirs.config, "config.toml") {
		return nil, withHint(fmt.Errorf("%s: %w", name, fs.ErrNotExist), "--config and HOB_CONFIG name a file that has to be there")
	}
	return f, err
}

// userName is where the user's own settings are.
func (s *site) userName() string {
	return cmp.Or(s.w.configFile, s.w.getenv("HOB_CONFIG"), filepath.Join(s.dirs.config, "config.toml"))
}

func optional(name string) (*configs.File, error) {
	data, err := readRegular(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, configs.Problems{{What: err.Error()}}
	}
	return &configs.File{Name: name, Data: data}, nil
}

// A shop is a site with everything open and locked: what once and run work with.
type shop struct {
	*site
	engine *engine.Engine
	log    *slog.Logger
	close  func() error
}

// open takes the lock and opens everything. The caller closes it.
func (s *site) open(ctx context.Context, trigger string) (*shop, error) {
	if s.place.Bare {
		return nil, &repo.UnsupportedError{Why: "a bare repository has no work tree with a TODO file"}
	}
	if err := errors.Join(s.statusAllowed(ctx), s.branchNames(ctx)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.state, 0o700); err != nil {
		return nil, withHint(err, "hob keeps its state there; HOB_HOME or XDG_STATE_HOME name another place")
	}
	unlock, err := durable.Lock(filepath.Join(s.state, "lock"))
	if errors.Is(err, durable.ErrLocked) {
		return nil, err
	}
	if err != nil {
		return nil, withHint(err, "hob keeps its state there; HOB_HOME or XDG_STATE_HOME name another place")
	}
	sh := &shop{site: s, close: unlock}
	if err := sh.build(ctx, trigger); err != nil {
		return nil, errors.Join(err, unlock())
	}
	return sh, nil
}

func (sh *shop) build(ctx context.Context, trigger string) error {
	key, keyErr := sh.secret()
	held := redact.New(sh.held(key)...)
	sh.log = newLog(sh.w, sh.config.Log, held)
	e := &engine.Engine{Config: sh.config, Log: sh.log, Blocked: sh.blocked(keyErr)}
	var err error
	e.Boot = engine.Boot{Version: version(), ConfigDigest: sh.config.Digest(), Trigger: trigger, PID: os.Getpid()}
	if e.Boot.Host, err = os.Hostname(); err != nil {
		return err
	}
	if e.Journal, err = journal.Open(filepath.Join(sh.state, "journal"), journal.Options{
		FS: sh.w.FS, Redact: held, MaxBody: sh.config.Journal.MaxPayloadBytes,
		Content: sh.config.Journal.RecordContent, Reasoning: sh.config.Journal.RecordReasoning,
		Notify: sh.notify,
	}); err != nil {
		return err
	}
	if err := e.Journal.Recover(); err != nil {
		return err
	}
	if e.Tasks, err = task.Open(filepath.Join(sh.state, "tasks"), sh.w.FS); err != nil {
		return err
	}
	for _, d := range e.Tasks.Damaged() {
		sh.log.Warn("task.damaged", "file", d.Name, "kept", d.Kept, "err", d.Err)
	}
	if e.Repo, err = repo.Open(ctx, sh.place, repo.Options{
		State: sh.state, Remote: sh.config.Autonomous.GitRemote, Redact: held, Step: sh.w.Step, Env: sh.w.Env,
	}); err != nil {
		return err
	}
	if d := e.Repo.Damaged(); d != "" {
		sh.log.Warn("store.damaged", "kept", d)
	}
	if err := sh.tools(e, key, held); err != nil {
		return err
	}
	if e.Daemon, err = e.Journal.Begin(journal.Manifest{
		Kind: "daemon", Trigger: trigger, Hob: e.Boot.Version, ConfigDigest: e.Boot.ConfigDigest, Host: e.Boot.Host,
	}); err != nil {
		return err
	}
	e.Boot.ID = e.Daemon.ID()
	e.Status = func(r status.Report) { sh.writeStatus(r, held) }
	sh.engine = e
	return e.Recover()
}

// notify says each event in the log, or in the demo's words.
func (sh *shop) notify(en journal.Entry) {
	if sh.w.tell != nil {
		sh.w.tell(en)
		return
	}
	logEntry(sh.log, en)
}

// tools makes what an attempt works with: money, model, checks, commands.
func (sh *shop) tools(e *engine.Engine, key string, held *redact.Set) error {
	c := sh.config
	loc, err := time.LoadLocation(c.Budget.Timezone)
	if err != nil {
		return err
	}
	if e.Ledger, err = model.OpenLedger(filepath.Join(sh.state, "ledger"), sh.w.FS, loc); err != nil {
		return err
	}
	if len(c.Model) > 0 && !errors.Is(e.Blocked, wire.ErrSecret) {
		if e.Model, err = sh.model(key); err != nil {
			return err
		}
	}
	if e.Env, err = sh.commandEnv("model"); err != nil {
		return err
	}
	verdict, err := sh.commandEnv("verdict")
	if err != nil {
		return err
	}
	e.Runner, err = sandbox.Pick(c.Sandbox.Mode)
	if err != nil {
		if e.Blocked == nil {
			e.Blocked = err
		}
		return nil
	}
	if e.Checks, err = validators.New(c.Validators, e.Runner, verdict); err != nil {
		return err
	}
	return sh.prompts(e)
}

// model makes the first [[model]]: a script read here, or a wire.
func (sh *shop) model(key string) (model.Provider, error) {
	m := sh.config.Model[0]
	if m.Provider != "script" {
		p, err := wire.New(m, key, nil)
		if err != nil {
			return nil, badSetting("model", err)
		}
		return p, nil
	}
	name := sh.script(m)
	data, err := readRegular(name)
	if err != nil {
		return nil, badSetting("model.script", err)
	}
	p, err := model.NewScript(data, model.InfoOf(m))
	if err != nil {
		return nil, badSetting("model.script", fmt.Errorf("%s: %w", name, err))
	}
	return p, nil
}

// badSetting is a setting that only its use shows to be wrong.
func badSetting(key string, err error) error {
	return configs.Problems{{Key: key, What: err.Error()}}
}

func (sh *shop) prompts(e *engine.Engine) error {
	name := sh.config.Agent.SystemPromptFile
	if name == "" {
		return nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(sh.place.Root, name)
	}
	text, err := readRegular(name)
	if err != nil {
		return badSetting("agent.system_prompt_file", err)
	}
	e.Prompts = agent.Prompts{System: string(text)}
	if err := e.Prompts.Check(); err != nil {
		return badSetting("agent.system_prompt_file", err)
	}
	return nil
}

// blocked is the first fact that keeps every item from being worked.
func (s *site) blocked(keyErr error) error {
	c := s.config
	switch {
	case len(c.Untrusted) > 0:
		return fmt.Errorf("%w: %s", engine.ErrUntrusted, strings.Join(c.Untrusted, ", "))
	case len(c.Model) == 0:
		return engine.ErrNoModel
	case keyErr != nil:
		return keyErr
	case c.Model[0].Price == nil:
		return model.ErrUnknownPrice
	case !slices.ContainsFunc(c.Validators, func(v configs.Validator) bool { return v.Required }):
		return engine.ErrNoChecks
	}
	return nil
}

// waits is what would keep every item from being worked, for config check.
func (s *site) waits() error {
	_, keyErr := s.secret()
	if err := s.blocked(keyErr); err != nil {
		return err
	}
	_, err := sandbox.Pick(s.config.Sandbox.Mode)
	return err
}

func (s *site) secret() (string, error) {
	if len(s.config.Model) == 0 || s.config.Model[0].SecretRef == "" {
		return "", nil
	}
	return wire.Secret(s.config.Model[0].SecretRef, s.w.getenv)
}

// secretName matches names of environment variables whose values are held secrets.
var secretName = regexp.MustCompile(`(?i)(^|_)(api)?(keys?|tokens?|secrets?|pass(wd|word|phrase)?|credentials?|auth)(_|$)`)

// held lists every value that must never be written anywhere.
func (sh *shop) held(key string) []string {
	values := []string{key}
	named := map[string]bool{}
	for _, n := range sh.config.Secrets.Env {
		named[n] = true
	}
	for _, kv := range sh.w.Env {
		k, v, _ := strings.Cut(kv, "=")
		if named[k] || secretName.MatchString(k) && len(v) >= 8 && !filepath.IsAbs(v) {
			values = append(values, v)
		}
	}
	for _, m := range sh.config.Model {
		for name, v := range m.Headers {
			if secretName.MatchString(name) {
				values = append(values, v)
			}
		}
	}
	return values
}

func (sh *shop) writeStatus(r status.Report, held *redact.Set) {
	if err := status.Write(sh.w.FS, sh.statusPath(), r, held.String); err != nil {
		sh.log.Error("status", "err", err)
	}
}

// statusPath is the polled file: in the state folder, or where the config says.
func (s *site) statusPath() string {
	p := s.config.Autonomous.StatusPath
	switch {
	case p == "":
		return filepath.Join(s.state, "status.toml")
	case filepath.IsAbs(p):
		return p
	}
	return filepath.Join(s.place.Root, p)
}

// statusAllowed refuses a status file in the work tree that git would show as a
// change, and one anywhere in a .git folder.
func (s *site) statusAllowed(ctx context.Context) error {
	path := s.statusPath()
	refuse := func(why string) error {
		return configs.Problems{{File: s.config.Origin("autonomous.status_path"), Key: "autonomous.status_path", What: why}}
	}
	for _, git := range []string{s.place.GitDir, s.place.CommonDir} {
		if in, err := inside(git, path); err != nil || in {
			return errors.Join(err, refuse("lies in the .git folder"))
		}
	}
	if in, err := inside(s.place.Root, path); err != nil || !in {
		return err
	}
	ignored, err := repo.Ignores(ctx, s.place, path, s.w.Env)
	if err != nil || ignored {
		return err
	}
	return refuse("lies in the work tree where git doesn't ignore it")
}
