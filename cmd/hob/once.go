package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"hob/engine"
	"hob/engine/task"
)

func onceCmd(w *world) *cobra.Command {
	var exitNone bool
	c := &cobra.Command{
		Use: "once", Short: "work every ready item, then exit", GroupID: daily, Args: exactly(0),
		Long: "Works every ready item of TODO.md, each at most once, and exits.\n\n" +
			"Exit codes: 0 every item it took is pushed or had nothing to do · 3 some ended otherwise ·\n" +
			"7 a budget stopped it · 8 nothing to do (only with --exit-code).",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := w.site(cmd.Context())
			if err != nil {
				return err
			}
			sh, err := s.open(cmd.Context(), "manual")
			if err != nil {
				return err
			}
			out, err := sh.once(cmd.Context())
			if perr := w.printOutcome(out.Ended, err == nil); err == nil {
				err = perr
			}
			if err != nil {
				return err
			}
			if len(out.Ended) == 0 && exitNone {
				return exitCode(exitNothing)
			}
			if code := outcomeExit(out.Ended); code != 0 {
				return exitCode(code)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&exitNone, "exit-code", false, "exit 8 when there was nothing to do")
	return c
}

// once works the queue with the stop rules of a service, and closes the shop.
func (sh *shop) once(ctx context.Context) (engine.Outcome, error) {
	claim, work, done := sh.w.signal.serve(ctx, sh.config.Autonomous.StopGrace.Duration)
	defer done()
	out, err := sh.engine.Once(claim, work)
	if cerr := sh.shut("once"); err == nil {
		err = cerr
	}
	return out, err
}

// A taskLine is a task as once and demo print it.
type taskLine struct {
	ID       string      `json:"id"`
	Text     string      `json:"text"`
	State    task.State  `json:"state"`
	Reason   task.Reason `json:"reason"`
	Message  string      `json:"message,omitempty"`
	Commit   string      `json:"commit"`
	Branch   string      `json:"branch,omitempty"`
	Attempts int         `json:"attempts"`
	CostUSD  json.Number `json:"cost_usd"`
	Hint     string      `json:"hint,omitempty"`
}

func lineOf(t task.Task) taskLine {
	return taskLine{
		ID: t.ID, Text: t.Text, State: t.State, Reason: t.Reason, Message: t.Message, Commit: t.Commit, Branch: t.Branch,
		Attempts: t.Attempts, CostUSD: json.Number(usd(t.CostMicroUSD)), Hint: hintOf(t),
	}
}

func (w *world) printOutcome(tasks []engine.Ended, all bool) error {
	if w.json {
		lines := make([]taskLine, 0, len(tasks))
		for _, t := range tasks {
			lines = append(lines, lineOf(t.Task))
		}
		return w.printJSON(map[string]any{"schema": "hob.once/1", "items": lines})
	}
	if len(tasks) == 0 && all {
		w.printf("nothing to do\n")
	}
	for _, t := range tasks {
		w.printf("%-10s  %s  %s%s\n", t.State, t.ID, shorten(t.Text, 60), short(t.Commit, "  "))
		switch {
		case t.Reason != task.None:
			w.printf("            %s: %s\n            hint: %s\n", t.Reason, shorten(t.Message, 200), hintOf(t.Task))
		case t.Message != "":
			w.printf("            %s\n", shorten(t.Message, 200))
		}
	}
	return nil
}

// hintOf is the hint of a task's reason, made out to it.
func hintOf(t task.Task) string { return strings.ReplaceAll(t.Reason.Hint(), "TASK", t.ID) }

// short is a commit id as people read it, with a lead in front; empty without one.
func short(oid, lead string) string {
	if len(oid) < 12 {
		return ""
	}
	return lead + oid[:12]
}
