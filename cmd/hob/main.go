// Hob works through a repository's TODO.md and leaves branches to review.
//
// Each file is one subcommand, but for main.go, world.go, signals.go, open.go,
// environ.go, files.go, log.go, money.go and exit.go.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	_ "time/tzdata" // schedules name zones; minimal containers have no database of their own

	"github.com/spf13/cobra"

	"hob/journal/durable"
)

func main() {
	signals := make(chan os.Signal, 2) // a second signal means now
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(world{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Env: os.Environ(), Signals: signals, Exit: os.Exit, FS: durable.OS(),
	}, os.Args[1:]))
}

// run is main without the globals, so that a script test can call it with a
// world of its own.
func run(w world, args []string) (exit int) {
	ctx, stop := w.listen()
	defer stop()
	root := newRoot(&w)
	root.SetArgs(args)
	root.SetIn(w.In)
	root.SetOut(w.Out)
	root.SetErr(w.Err)
	exit = w.fail(root.ExecuteContext(ctx))
	if by := w.signal.impatient(); by != 0 {
		return 128 + by
	}
	return exit
}

const (
	daily   = "daily"
	looking = "looking"
	setup   = "setup"
	plumb   = "plumbing"
)

// newRoot builds the command tree anew: cobra keeps state in it.
func newRoot(w *world) *cobra.Command {
	root := &cobra.Command{
		Use:           "hob",
		Short:         "work through TODO.md while nobody is watching",
		Long:          "Hob works through a repository's TODO.md: each item is done by a language model in a\ncopy of the last commit, checked by the project's own validators, committed to an agent\nbranch and pushed for review. Your work tree, index and branches are never touched.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noSuch,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{cmd, err} })
	root.AddGroup(
		&cobra.Group{ID: daily, Title: "Daily:"},
		&cobra.Group{ID: looking, Title: "Looking back:"},
		&cobra.Group{ID: setup, Title: "Set-up:"},
		&cobra.Group{ID: plumb, Title: "Plumbing:"},
	)
	root.SetHelpCommandGroupID(plumb)
	flags := root.PersistentFlags()
	flags.StringVar(&w.repoDir, "repo", "", "`DIR` of the repository (default: the one you are in)")
	flags.StringVar(&w.configFile, "config", "", "your own `FILE` of settings (default: config.toml in hob's config folder)")
	flags.StringArrayVar(&w.set, "set", nil, "one setting for this call, as `KEY=VALUE`, for example budget.daily_usd=5")
	flags.BoolVar(&w.json, "json", false, "print JSON, errors too")
	for _, c := range commands {
		root.AddCommand(c(w))
	}
	return root
}

// commands is the whole list: a new one is a file with a maker and a line here.
var commands = []func(*world) *cobra.Command{
	onceCmd, runCmd, statusCmd,
	showCmd, runsCmd,
	demoCmd, configCmd, trustCmd,
	todoCmd, versionCmd,
}

// noSuch refuses what is no command of this one.
func noSuch(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{cmd, fmt.Errorf("unknown command %q", args[0])}
	}
	return nil
}

func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return &usageError{cmd, fmt.Errorf("want %s, got %d arguments", cmd.UseLine(), len(args))}
		}
		return nil
	}
}

// group makes a command that only holds others.
func group(id, use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, GroupID: id,
		Args: noSuch,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(subs...)
	return c
}
