package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"hob/configs"
	"hob/repo"
	"hob/validators/sandbox"
)

// commandEnv is the environment of the commands of one side: the model's, or the
// validators'. They share caches, but not a home folder: what the model writes there
// must not change a verdict. Folders it names exist afterwards.
func (sh *shop) commandEnv(side string) ([]string, error) {
	scope := "shared"
	if sh.config.Sandbox.Cache == "repo" {
		scope = sh.place.ID
	}
	o := sandbox.EnvOptions{
		Caller: sh.w.Env, UserHome: sh.w.getenv("HOME"),
		Home: filepath.Join(sh.state, "homes", side), Temp: filepath.Join(sh.state, "temp", side),
		Cache: sh.dirs.cache, Scope: scope, ModCache: sh.w.modCache(),
		Ceiling: sh.state,
	}
	for _, dir := range []string{o.Home, o.Temp, o.Cache} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	env := sandbox.Env(o)
	if side == "model" {
		env = append(env, "PYTHONDONTWRITEBYTECODE=1") // what its commands leave behind is part of the change
	}
	return env, nil
}

// modCache is where the user's own Go modules are, as go env GOMODCACHE would say
// (cmd/go, "Environment variables"); asking go would cost a start of it.
func (w *world) modCache() string {
	if dir := w.getenv("GOMODCACHE"); dir != "" {
		return dir
	}
	gopath := w.getenv("GOPATH")
	if gopath == "" {
		home := w.getenv("HOME")
		if home == "" {
			return ""
		}
		gopath = filepath.Join(home, "go")
	}
	first, _, _ := strings.Cut(gopath, string(os.PathListSeparator))
	return filepath.Join(first, "pkg", "mod")
}

// script resolves the path of a scripted model: relative to your config.toml when
// it is named there, else to the repository.
func (s *site) script(m configs.Model) string {
	if m.Script == "" || filepath.IsAbs(m.Script) {
		return m.Script
	}
	dir := s.place.Root
	if user := s.userName(); user != "" && strings.HasPrefix(s.config.Origin("model"), user) {
		dir = filepath.Dir(user)
	}
	return filepath.Join(dir, m.Script)
}

// branchNames refuses one branch per item, hob/{task}, beside a branch that is
// named like their folder: git can't hold both (gitrepository-layout(5), refs).
func (s *site) branchNames(ctx context.Context) error {
	name := s.config.Autonomous.GitBranch
	refuse := func(why string) error {
		return configs.Problems{{File: s.config.Origin("autonomous.git_branch"), Key: "autonomous.git_branch", What: name + " " + why}}
	}
	if repo.Reserved(name) != "" || name == s.config.Git.Base {
		return refuse("is a branch that people work on; hob needs one of its own")
	}
	parent, _, ok := strings.Cut(name, "/{task}")
	if !ok {
		return nil
	}
	taken, err := repo.HasBranch(ctx, s.place, parent, s.w.Env)
	if err != nil {
		return err
	}
	if taken {
		return refuse("can't be made while a branch " + parent + " exists")
	}
	return nil
}
