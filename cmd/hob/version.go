package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"hob/engine/status"
)

// release is the version of this source tree; CHANGELOG.md has the same.
const release = "0.1.0-dev"

func versionCmd(w *world) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version", GroupID: setup, Args: exactly(0),
		RunE: func(*cobra.Command, []string) error {
			commit, date := build()
			if w.json {
				return w.printJSON(map[string]any{
					"schema": "hob.version/1", "version": release, "commit": commit, "date": date,
					"go": runtime.Version(), "status_schema": status.Schema,
				})
			}
			w.printf("hob %s\n", version())
			return nil
		},
	}
}

// version is one line: the release, and the commit where the build knows it.
func version() string {
	commit, _ := build()
	return release + short(commit, "+")
}

func build() (commit, date string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			date = s.Value
		}
	}
	return commit, date
}
