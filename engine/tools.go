package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"hob/engine/agent"
	"hob/engine/model"
	"hob/validators"
	"hob/validators/sandbox"
)

// tools are what the model may ask for: looking around the slot, its history and
// its own diff, running a command, and running the checks.
func (a *attempt) tools() []agent.Tool {
	tools := agent.Looking(a.ws.FS())
	return append(tools, a.diffTool(), a.historyTool(), a.runTool(), a.validateTool())
}

type noArgs struct{}

func (a *attempt) diffTool() agent.Tool {
	return agent.Define("diff", "Show your own changes so far, against the commit you started from.",
		`{"type":"object","properties":{}}`, true,
		func(context.Context, noArgs) (string, error) {
			diff, err := a.ws.Diff()
			if err != nil {
				return "", err
			}
			if diff == "" {
				return "[no change]", nil
			}
			return diff, nil
		})
}

type historyArgs struct {
	Path  string `json:"path"`
	Lines string `json:"lines"`
}

// historyEntries is how many commits of a path are shown: the recent ones explain
// most, and a model that needs more can blame lines.
const historyEntries = 20

func (a *attempt) historyTool() agent.Tool {
	return agent.Define("history", "Show the log of a path, newest first; with lines, who last changed them and in which commit.",
		`{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"string","description":"for example 10-40: blame these lines"}},"required":["path"]}`, true,
		func(ctx context.Context, args historyArgs) (string, error) {
			if args.Lines == "" {
				return a.Repo.Log(ctx, a.base.OID, args.Path, historyEntries)
			}
			from, to, err := agent.Span(args.Lines, math.MaxInt32)
			if err != nil {
				return "", err
			}
			return a.Repo.Blame(ctx, a.base.OID, args.Path, from, to)
		})
}

type runArgs struct {
	Command string `json:"command"`
	Seconds int    `json:"seconds"`
}

// Bounds on a command of the model's: long enough for a build, too short to sit
// on a server it started.
const (
	runDefault = 2 * time.Minute
	runMax     = 10 * time.Minute
)

func (a *attempt) runTool() agent.Tool {
	return agent.Define("run", "Run a shell command in the tree. It gets no input, should need no network, and is killed with all it started when its time is up.",
		`{"type":"object","properties":{"command":{"type":"string"},"seconds":{"type":"integer","description":"limit; 120 if left out, 600 at most"}},"required":["command"]}`, false,
		func(ctx context.Context, args runArgs) (string, error) {
			limit := runDefault
			if args.Seconds > 0 {
				limit = min(time.Duration(args.Seconds)*time.Second, runMax)
			}
			var out sandbox.Output
			exit, err := a.Runner.Run(ctx, sandbox.Command{
				Argv: []string{"/bin/sh", "-c", args.Command}, Dir: a.ws.Dir, Env: a.Env, Out: &out,
			}, sandbox.Limits{Wall: limit})
			if err != nil {
				return "", err
			}
			return commandAnswer(exit, out.Bytes()), nil
		})
}

func commandAnswer(exit sandbox.Exit, out []byte) string {
	end := fmt.Sprintf("[exit %d]", exit.Code)
	if exit.End != sandbox.Exited {
		end = fmt.Sprintf("[%s after %s]", exit.End, exit.Took.Round(time.Second))
	} else if exit.Signal != "" {
		end = "[killed by " + exit.Signal + "]"
	}
	text := strings.ToValidUTF8(string(out), "�")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + end
}

func (a *attempt) validateTool() agent.Tool {
	return agent.Define("validate", "Run the project's checks on your change as it stands, in a clean copy, and show what fails.",
		`{"type":"object","properties":{}}`, false,
		func(ctx context.Context, _ noArgs) (string, error) {
			if err := a.freeze(ctx); errors.Is(err, errNoChange) {
				return "[no change yet: the checks are those of the base]", nil
			} else if err != nil {
				return "", err
			}
			rs, err := a.check(ctx, "new", a.frozen.Tree, paths(a.frozen.Changes))
			if err != nil {
				return "", err
			}
			j := validators.Judge(a.baseline, rs)
			if j.Verdict == validators.Pass {
				return "all required checks pass", nil
			}
			return validators.Feedback(j.Failing, feedbackLimit), nil
		})
}

// maxCommand is longer than any line a person would type and shorter than what
// some systems refuse.
const maxCommand = 16 << 10

// gate is the choke point of everything the model wants done. It holds the limits on
// a command's form; what a command may reach is for a cage to hold, not for a list of
// forbidden words.
func (a *attempt) gate(_ context.Context, call model.Call) agent.Decision {
	if call.Name != "run" {
		return agent.Decision{Verdict: agent.Allow}
	}
	command := commandOf(call)
	switch {
	case len(command) > maxCommand:
		return agent.Decision{Verdict: agent.Refuse, Why: fmt.Sprintf("the command is longer than %d bytes", maxCommand)}
	case strings.ContainsRune(command, 0):
		return agent.Decision{Verdict: agent.Refuse, Why: "the command holds a NUL byte"}
	}
	return agent.Decision{Verdict: agent.Allow}
}

// commandOf is the command of a run call; arguments that don't decode are refused
// by the tool itself.
func commandOf(call model.Call) string {
	var args runArgs
	if json.Unmarshal(call.Args, &args) != nil {
		return ""
	}
	return args.Command
}
