package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/engine/task"
	"hob/journal"
)

func showCmd(w *world) *cobra.Command {
	return &cobra.Command{
		Use: "show TASK", Short: "tell the story of one item, or of one run", GroupID: looking, Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := w.found(cmd.Context())
			if err != nil {
				return err
			}
			t, err := s.task(args[0])
			if err != nil {
				return err
			}
			if w.json {
				return w.printJSON(struct {
					Schema string `json:"schema"`
					taskLine
					Runs []string `json:"runs"`
					Base string   `json:"base"`
					Tree string   `json:"tree"`
					Last string   `json:"last,omitempty"`
				}{"hob.task/1", lineOf(t), append([]string{}, t.Runs...), t.Base, t.Tree, t.Last})
			}
			return s.printTask(t)
		},
	}
}

// task finds a task by its id, an unambiguous start of it, or one of its runs.
func (s *site) task(name string) (task.Task, error) {
	tasks, err := s.tasks()
	if err != nil {
		return task.Task{}, err
	}
	var found []task.Task
	for _, t := range tasks {
		if t.ID == name {
			return t, nil
		}
		if name != "" && strings.HasPrefix(t.ID, name) || slices.Contains(t.Runs, name) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 0:
		return task.Task{}, withHint(fmt.Errorf("no task or run %q", name), "`hob status` and `hob runs list` name them")
	case 1:
		return found[0], nil
	}
	return task.Task{}, usagef("%q is the start of %d tasks", name, len(found))
}

// tasks reads the tasks' files without the lock: each is replaced atomically, so
// a running hob is never in the way.
func (s *site) tasks() ([]task.Task, error) {
	return task.Read(filepath.Join(s.state, "tasks"))
}

func (s *site) printTask(t task.Task) error {
	w := s.w
	w.printf("%s  %s\n", t.ID, plain(t.Text))
	w.printf("%s since %s, attempt %d, %s USD\n", t.State, t.Since.Local().Format(time.DateTime), t.Attempts, usd(t.CostMicroUSD))
	if t.Reason != task.None {
		w.printf("%s: %s\nhint: %s\n", t.Reason, plain(t.Message), hintOf(t))
	}
	if t.Commit != "" {
		w.printf("commit %s on %s, from %s\n", short(t.Commit, ""), t.Branch, short(t.Base, ""))
		w.printf("look:   git show %s\n", short(t.Commit, ""))
	}
	log, err := s.journal()
	if err != nil {
		return err
	}
	for _, run := range t.Runs {
		entries, err := log.Read(run)
		if err != nil {
			w.printf("\nrun %s: %v\n", run, err)
			continue
		}
		w.printf("\nrun %s\n", run)
		w.printEntries(entries)
	}
	return nil
}

func (w *world) printEntries(entries []journal.Entry) {
	for _, en := range entries {
		w.printf("%s  %-20s %s\n", en.At.Local().Format(time.TimeOnly), en.Kind, shorten(words(gist(en)), 110))
	}
}

// words writes attributes as key=value.
func words(attrs []slog.Attr) string {
	parts := make([]string, 0, len(attrs))
	for _, a := range attrs {
		parts = append(parts, a.String())
	}
	return strings.Join(parts, " ")
}
