package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"hob/journal"
	"hob/journal/durable"
)

// A world is everything a command touches besides the repository.
type world struct {
	In       io.Reader
	Out, Err io.Writer
	Env      []string
	Signals  <-chan os.Signal
	Exit     func(code int) // ends the process
	FS       durable.FS
	// Step is told of each durable git effect; nil outside tests that kill there.
	Step func(point string)
	// tell is told of each event instead of the log; nil outside the demo.
	tell func(journal.Entry)

	repoDir, configFile string
	set                 []string
	json                bool
	signal              *signals
}

func (w *world) getenv(name string) string {
	for i := len(w.Env) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(w.Env[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

// folders are where hob keeps what outlives a command.
type folders struct{ config, state, cache string }

// folders follows the XDG base directory specification; HOB_HOME puts all of them
// below one folder.
func (w *world) folders() (folders, error) {
	if home := w.getenv("HOB_HOME"); home != "" {
		home, err := filepath.Abs(home)
		return folders{home, filepath.Join(home, "state"), filepath.Join(home, "cache")}, err
	}
	dir := func(env, below string) (string, error) {
		if d := w.getenv(env); filepath.IsAbs(d) {
			return filepath.Join(d, "hob"), nil
		}
		home := w.getenv("HOME")
		if home == "" {
			return "", usagef("neither HOB_HOME, %s nor HOME is set: hob has no place for its files", env)
		}
		return filepath.Join(home, below, "hob"), nil
	}
	var f folders
	var err error
	if f.config, err = dir("XDG_CONFIG_HOME", ".config"); err != nil {
		return f, err
	}
	if f.state, err = dir("XDG_STATE_HOME", ".local/state"); err != nil {
		return f, err
	}
	f.cache, err = dir("XDG_CACHE_HOME", ".cache")
	return f, err
}

// printJSON writes one indented JSON value to standard output.
func (w *world) printJSON(v any) error {
	enc := json.NewEncoder(w.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func (w *world) printf(format string, args ...any) {
	fmt.Fprintf(w.Out, format, args...)
}

// plain makes text from files, models and servers safe for a terminal: control
// characters, which could move the cursor or forge lines, become spaces.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x20, r >= 0x7f && r < 0xa0, // C0, DEL, C1
			r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // bidirectional overrides
			return ' '
		}
		return r
	}, s)
}

// shorten cuts s to n characters for a table.
func shorten(s string, n int) string {
	r := []rune(plain(s))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n-1]) + "…"
}
