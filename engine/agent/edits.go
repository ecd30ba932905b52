package agent

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"hob/engine/edit"
	"hob/engine/model"
	"hob/journal"
)

// edits is what came of a reply's edits.
type edits struct {
	tried    bool
	refused  bool
	feedback string // for the model
}

// edit computes the reply's edits and has the slot write them, all or none.
func (s *Session) edit(ctx context.Context, reply model.Reply) (edits, error) {
	if err := ctx.Err(); err != nil {
		return edits{}, err
	}
	format := s.opt.Ladder.Format()
	res := edit.Apply(reply.Text, format, s.opt.Slot)
	if !res.Tried {
		return edits{}, nil
	}
	if res.Code == "" {
		if err := s.opt.Slot.Apply(res.Changes); err != nil {
			return edits{}, fmt.Errorf("write edits: %w", err)
		}
	}
	step := s.opt.Ladder.Note(res)
	if err := s.recordEdit(res, format, step); err != nil {
		return edits{}, err
	}
	s.refused = refusal(res.Code)
	if res.Code == "" {
		own, err := s.undoOwn(res)
		return edits{tried: true, feedback: applied(res) + own + cutOff(reply)}, err
	}
	switch step {
	case edit.GiveUp:
		return edits{}, fmt.Errorf("%w: %s", ErrEdits, res.Code)
	case edit.Blocked:
		return edits{}, fmt.Errorf("%w: %s", ErrUnsafe, res.Code)
	case edit.Promoted:
		res.Feedback += "\n\nFrom now on edit in this form:\n\n" + formatHelp(s.opt.Ladder.Format())
	}
	return edits{tried: true, refused: true, feedback: res.Feedback}, nil
}

// refusal is how a session ends that gives up after refused edits; nil after applied ones.
func refusal(code edit.Code) error {
	switch code {
	case "":
		return nil
	case edit.PathEscape, edit.SymlinkEscape, edit.ProtectedPath:
		return fmt.Errorf("%w: %s", ErrUnsafe, code)
	}
	return fmt.Errorf("%w: %s", ErrEdits, code)
}

// undoOwn puts back the files hob keeps itself and says so.
func (s *Session) undoOwn(res edit.Result) (string, error) {
	var told strings.Builder
	for _, c := range res.Changes {
		if !slices.Contains(s.opt.Own, path.Clean(c.Path)) {
			continue
		}
		if err := s.opt.Slot.Restore(c.Path); err != nil {
			return "", err
		}
		told.WriteString("\n" + render("own", c))
	}
	return told.String(), nil
}

// cutOff tells a model whose reply hit the output limit that edits may be missing.
func cutOff(reply model.Reply) string {
	if reply.Stop != "length" {
		return ""
	}
	return "\nYour reply was cut off at its length limit. These edits are in; send the rest, fewer in one reply."
}

func applied(res edit.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Applied %d %s:", len(res.Ops), plural(len(res.Ops), "edit", "edits"))
	for _, op := range res.Ops {
		fmt.Fprintf(&b, "\n- %s, line %d: %d removed, %d added", op.Path, op.StartLine, op.LinesRemoved, op.LinesAdded)
		if len(op.Warnings) > 0 {
			fmt.Fprintf(&b, " (%s)", strings.Join(op.Warnings, ", "))
		}
	}
	return b.String()
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// recordEdit journals one event an op, or one a failure.
func (s *Session) recordEdit(res edit.Result, asked edit.Format, step edit.Step) error {
	if res.Code != "" {
		for _, f := range res.Failures {
			e := journal.EditOutcome{Turn: s.turns, N: f.N, Format: string(asked), Failure: string(f.Code), Path: f.Path}
			if step == edit.Promoted {
				e.PromotedTo = string(s.opt.Ladder.Format())
			}
			if err := s.opt.Record(e); err != nil {
				return err
			}
		}
		return nil
	}
	for _, op := range res.Ops {
		e := journal.EditOutcome{
			Turn: s.turns, N: op.N, Op: op.Kind, Format: string(op.Format), Tier: op.Tier, Applied: true, Path: op.Path,
			LinesAdded: op.LinesAdded, LinesRemoved: op.LinesRemoved,
		}
		if err := s.opt.Record(e); err != nil {
			return err
		}
	}
	return nil
}
