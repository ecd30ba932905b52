package main

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"hob/journal"
)

func runsCmd(w *world) *cobra.Command {
	return group(looking, "runs", "read and verify the journal", runsListCmd(w), runsInspectCmd(w), runsVerifyCmd(w))
}

// journal opens the journal for reading.
func (s *site) journal() (*journal.Log, error) {
	return journal.Open(filepath.Join(s.state, "journal"), journal.Options{FS: s.w.FS})
}

func runsListCmd(w *world) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "list all runs, oldest first", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := w.openJournal(cmd)
			if err != nil {
				return err
			}
			runs, err := log.Runs() // what can be read is shown, whatever can't
			if w.json {
				return errors.Join(err, w.printJSON(map[string]any{"schema": "hob.runs/1", "runs": append([]journal.Manifest{}, runs...)}))
			}
			for _, m := range runs {
				w.printf("%s  %s  %-6s  %s  %s\n", m.Run, m.Started.Local().Format(time.DateTime), m.Kind, m.Task, shorten(m.Item, 60))
			}
			return err
		},
	}
}

func (w *world) openJournal(cmd *cobra.Command) (*journal.Log, error) {
	s, err := w.found(cmd.Context())
	if err != nil {
		return nil, err
	}
	return s.journal()
}

func runsInspectCmd(w *world) *cobra.Command {
	return &cobra.Command{
		Use: "inspect RUN", Short: "print a run's events", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			log, err := w.openJournal(cmd)
			if err != nil {
				return err
			}
			entries, err := log.Read(args[0])
			if err != nil {
				return err
			}
			if w.json {
				return w.printJSON(map[string]any{"schema": "hob.run/1", "run": args[0], "events": entries})
			}
			w.printEntries(entries)
			return nil
		},
	}
}

func runsVerifyCmd(w *world) *cobra.Command {
	return &cobra.Command{
		Use: "verify [RUN]", Short: "check that a run's record, or every run's, is whole and unchanged",
		Long: "Checks the hash chain of one run, or of all.\n\n" +
			"Exit codes: 0 ok · 1 tampered · 2 ok, but bodies are gone · 3 the tail is incomplete · 4 unreadable · 5 unknown version.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exactly(1)(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			log, err := w.openJournal(cmd)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return w.verifyAll(log)
			}
			r := log.Verify(args[0])
			if w.json {
				err = w.printJSON(r)
			} else {
				w.printVerified(args[0], r)
			}
			return codeOr(r.Exit(), err)
		},
	}
}

func (w *world) verifyAll(log *journal.Log) error {
	runs, unread := log.Runs()
	worst := 0
	if unread != nil {
		worst = 4
		w.complain("unreadable", unread, "the run's folder below journal/runs lacks its manifest, or can't be read")
	}
	reports := map[string]journal.Report{}
	for _, m := range runs {
		r := log.Verify(m.Run)
		reports[m.Run] = r
		worst = graver(worst, r.Exit())
		if !w.json {
			w.printVerified(m.Run, r)
		}
	}
	var err error
	if w.json {
		err = w.printJSON(map[string]any{"schema": "hob.verify/1", "ok": worst == 0, "runs": reports})
	}
	return codeOr(worst, err)
}

// graver picks the exit code that says more: tampering, then what couldn't be read,
// then what is merely missing.
func graver(a, b int) int {
	for _, c := range []int{1, 4, 5, 3, 2} {
		if a == c || b == c {
			return c
		}
	}
	return 0
}

func codeOr(code int, err error) error {
	if err != nil || code == 0 {
		return err
	}
	return exitCode(code)
}

func (w *world) printVerified(run string, r journal.Report) {
	w.printf("%s  %s  %d events, %s\n", run, r.Code, r.Checked.Events, r.Trust)
	for _, f := range r.Findings {
		w.printf("    %s at event %d: %s\n", f.Code, f.AtSeq, plain(f.Message))
	}
}
