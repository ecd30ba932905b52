package main

import (
	"context"
	"errors"
	"os"
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
		return errors.Join(usagef("[schedule]: %v", err), sh.shut("bad schedule"))
	}
	claim, work, done := sh.signals(ctx)
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

// signals makes the two contexts of a service: the first signal ends claim, and
// work after the grace; a second one ends work at once.
func (sh *shop) signals(ctx context.Context) (claim, work context.Context, done func()) {
	claim, stopClaim := context.WithCancel(ctx)
	work, stopWork := context.WithCancel(ctx)
	finished, waited := make(chan struct{}), make(chan struct{})
	go func() { // waited for in done
		defer close(waited)
		var grace <-chan time.Time
		for {
			select {
			case <-finished:
				return
			case s := <-sh.w.Signals:
				if claim.Err() != nil {
					sh.w.second(s)
					stopWork()
					continue
				}
				stopClaim()
				grace = time.After(sh.config.Autonomous.StopGrace.Duration)
			case <-grace:
				stopWork()
			}
		}
	}()
	return claim, work, func() {
		close(finished)
		<-waited
		stopClaim()
		stopWork()
	}
}

// second notes the signal that asked twice: the exit code says so.
func (w *world) second(s os.Signal) { w.impatient = s }

// shut closes everything and gives the lock back.
func (sh *shop) shut(why string) error {
	sh.engine.Stopped()
	err := sh.engine.Daemon.Record(journal.RunFinished{Outcome: "stopped", Reason: why})
	return errors.Join(err, sh.engine.Daemon.Close(), sh.close())
}
