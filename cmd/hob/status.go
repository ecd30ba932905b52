package main

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"hob/configs"
	"hob/engine/status"
)

func statusCmd(w *world) *cobra.Command {
	var check bool
	c := &cobra.Command{
		Use: "status", Short: "tell what hob is doing and what needs a person", GroupID: daily, Args: exactly(0),
		Long: "Prints the status file that hob writes. With --check the exit code tells:\n" +
			"0 idle or working · 1 something needs attention · 2 paused or degraded · 3 stale or not running · 4 unreadable.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := w.found(cmd.Context())
			if err != nil {
				return err
			}
			r, err := s.report()
			if err != nil {
				if check && !errors.Is(err, fs.ErrNotExist) {
					w.complain("status_unreadable", err, "")
					return exitCode(4)
				}
				if check {
					return exitCode(3)
				}
				if errors.Is(err, fs.ErrNotExist) {
					return withHint(errors.New("hob has not run in this repository yet"), "hob once, or hob run")
				}
				return withHint(err, "hob writes it anew when it runs: hob once")
			}
			if w.json {
				err = w.printJSON(r)
			} else {
				w.printReport(r)
			}
			if err == nil && check {
				if dead(r) {
					return exitCode(status.NotRunning)
				}
				if code := r.Check(time.Now()); code != 0 {
					return exitCode(code)
				}
			}
			return err
		},
	}
	c.Flags().BoolVar(&check, "check", false, "tell by the exit code")
	return c
}

// dead reports whether the process that wrote the report is certainly gone. A number
// that another process has by now is found out by the report's age.
func dead(r status.Report) bool {
	return r.PID > 0 && errors.Is(syscall.Kill(r.PID, 0), syscall.ESRCH)
}

// report reads the status file. Settings that can't be read don't hide it: it is
// then where it is by default.
func (s *site) report() (status.Report, error) {
	var err error
	if s.config, err = s.load(); err != nil {
		s.config = &configs.Loaded{Config: configs.Default()}
	}
	data, err := readRegular(s.statusPath())
	if err != nil {
		return status.Report{}, err
	}
	return status.Parse(data)
}

func (w *world) printReport(r status.Report) {
	state := string(r.State)
	if r.Stale(time.Now()) && r.State != status.Stopped {
		state += " (stale: last heard of " + r.WrittenAt.Local().Format(time.DateTime) + ")"
	}
	w.printf("%s\n", strings.TrimSpace(plain(state+"  "+r.Reason)))
	if r.Todo.Stale {
		w.printf("%s can't be read; this is the last good reading\n", plain(r.Todo.Path))
	}
	w.printf("%d open, %d done, %d held; spent today %s of %s USD\n", r.Todo.Open, r.Todo.Done, r.Todo.Held, r.Budget.Spent, r.Budget.Limit)
	if r.Repo.Behind > 0 {
		w.printf("the agent branch is behind %s by %d commits: merge it, or merge %s into it\n", plain(r.Repo.Base), r.Repo.Behind, plain(r.Repo.Base))
	}
	for _, c := range r.Current {
		w.printf("now       %s  %s  %s\n", c.ID, shorten(c.Text, 60), plain(c.Step))
	}
	waiting := map[string]bool{}
	for _, a := range r.Attention {
		waiting[a.Task] = true
	}
	for _, t := range r.Task {
		if waiting[t.ID] {
			continue // told below
		}
		w.printf("%-10s%s  %s%s\n", t.State, t.ID, shorten(t.Text, 60), short(t.Commit, "  "))
		if t.Reason != "" {
			w.printf("          %s: %s\n", t.Reason, shorten(t.Summary, 160))
		}
	}
	for _, a := range r.Attention {
		w.printf("look at   %s  %s: %s\n          %s\n", a.Task, a.Code, shorten(a.Message, 160), plain(a.Action))
	}
}
