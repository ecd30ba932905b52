package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"hob/engine/schedule"
	"hob/journal"
)

func runCmd(w *world) *cobra.Command {
	return &cobra.Command{
		Use: "run", Short: "stay, watch TODO.md and the schedule, and work", GroupID: daily, Args: exactly(0),
		Long: "Stays in the foreground, as a service or in a terminal: watches TODO.md and the schedule and\n" +
			"works one item at a time. SIGTERM lets the current turn end, within [autonomous] stop_grace,\n" +
			"and puts the item back; a second signal ends at once.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := w.site(cmd.Context())
			if err != nil {
				return err
			}
			sh, err := s.open(cmd.Context(), "watch")
			if err != nil {
				return err
			}
			return sh.serve(cmd.Context())
		},
	}
}

// serve runs the daemon's two actors until a signal.
func (sh *shop) serve(ctx context.Context) error {
	opt, err := sh.schedule()
	if err != nil {
		return errors.Join(badSetting("schedule", err), sh.shut("bad schedule"))
	}
	claim, work, done := sh.w.signal.serve(ctx, sh.config.Autonomous.StopGrace.Duration)
	defer done()
	wake := make(chan schedule.Cause, 1)
	actors, claim := errgroup.WithContext(claim)
	actors.Go(func() error { return schedule.Run(claim, opt, wake) })
	actors.Go(func() error { return sh.engine.Run(claim, work, wake) })
	if err = actors.Wait(); errors.Is(err, context.Canceled) {
		err = nil // a signal is how a daemon ends
	}
	return errors.Join(err, sh.shut("signal"))
}

func (sh *shop) schedule() (schedule.Options, error) {
	c := sh.config
	loc, err := time.LoadLocation(c.Schedule.TZ)
	if err != nil {
		return schedule.Options{}, err
	}
	for _, spec := range c.Schedule.Cron {
		if _, err := schedule.ParseCron(spec, loc); err != nil {
			return schedule.Options{}, err
		}
	}
	return schedule.Options{
		Todo: filepath.Join(sh.place.Root, filepath.FromSlash(c.Autonomous.TodoPath)),
		Cron: c.Schedule.Cron, Location: loc, Interval: c.Autonomous.Interval.Duration, Log: sh.log,
	}, nil
}

// shut closes everything and gives the lock back.
func (sh *shop) shut(why string) error {
	sh.engine.Stopped()
	err := sh.engine.Daemon.Record(journal.RunFinished{Outcome: "stopped", Reason: why})
	return errors.Join(err, sh.engine.Daemon.Close(), sh.close())
}
