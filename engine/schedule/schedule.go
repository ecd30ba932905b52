// Package schedule decides when hob looks for work.
//
// [Run] watches TODO.md, keeps the cron schedule and sends a [Cause] whenever a
// look is due. The channel holds one: a burst of reasons is one look, which is
// right because a look reads everything anew. Whoever else has a reason (a poke
// from the command line) sends to the same channel without blocking.
//
// Nothing here is trusted to arrive. A file event is only a hint that makes the
// file's hash be compared soon; a poll compares it in any case, because network
// mounts, moved folders and full event queues lose events silently (inotify(7),
// "Limitations and caveats"). A cron slot is due when the wall clock has passed
// it, looked at every 30 seconds at most, so a machine that slept through five
// slots wakes to one look, and a clock that is set doesn't repeat or lose days.
//
// Cron specs have the five fields of crontab(5). Mind that a day of the month
// and a day of the week together mean either ("0 0 1-7 * MON" is not the first
// Monday). Slots are wall-clock labels: see [ParseCron] for summer time.
package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"
)

// A Cause is why hob looks for work now. It is told, never acted upon: every
// look is the same.
type Cause string

// The causes. Run sends all but Poked, which is for those who have the channel.
const (
	Startup Cause = "startup"    // once, when the file is being watched
	Saved   Cause = "todo_saved" // TODO.md has other bytes, appeared or vanished
	Ticked  Cause = "cron"       // at least one slot has passed
	Poked   Cause = "poke"       // somebody asked
	Swept   Cause = "interval"   // nothing else happened for Options.Interval
)

const (
	// 500 ms: editors save in bursts of several events (temporary file, rename,
	// mode); within half a second all of one save have come.
	defaultDebounce = 500 * time.Millisecond
	// A file that is written without pause is looked at after ten debounces, 5 s.
	mostDebounces = 10
	// 30 s: the longest that a lost event or a suspended machine delays a look.
	defaultPoll = 30 * time.Second
	longestNap  = 30 * time.Second
)

// Options say what to wait for. The zero value only sends Startup.
type Options struct {
	// Todo is the file to watch, by its folder, so that a rename into place is
	// seen; "" watches nothing. It need not exist.
	Todo string
	// Cron are specs for [ParseCron]; each keeps its own slots.
	Cron []string
	// Location is where the cron specs' clock hangs; nil is [time.Local].
	Location *time.Location
	// Debounce is the silence after a file event before the file is read; 0 is
	// 500 ms. Ten of them are the longest wait.
	Debounce time.Duration
	// Poll is how often the file is read without an event; 0 is 30 s.
	Poll time.Duration
	// Interval is the longest time without any cause; 0 is for ever.
	Interval time.Duration
	// PollOnly leaves file events alone, for mounts where they mislead.
	PollOnly bool
	// Log gets warnings when watching isn't possible; nil discards them.
	Log *slog.Logger
}

// Run sends causes until ctx ends, then returns nil. Any other return is an error
// in opt, before anything was sent. wake needs a capacity of 1; Run never blocks on
// it and never closes it. All of Run happens on the caller's goroutine, but for the
// one inside fsnotify, which has ended when Run returns.
func Run(ctx context.Context, opt Options, wake chan<- Cause) error {
	l, err := newLoop(opt, wake)
	if err != nil {
		return err
	}
	if l.watch != nil {
		defer l.watch.close()
	}
	l.begin(time.Now())
	nap := time.NewTimer(0)
	defer nap.Stop()
	for {
		nap.Reset(time.Until(l.next(time.Now())))
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-l.watch.events():
			if l.watch.relevant(e, ok) {
				l.save.hint(time.Now())
			}
		case err, ok := <-l.watch.errors():
			l.watch.broken(err, ok)
			l.save.hint(time.Now()) // an overflow means that events were lost
		case <-nap.C:
			l.tick(time.Now())
		}
	}
}

// A loop is the state of one Run. Its methods are told the time.
type loop struct {
	opt     Options
	wake    chan<- Cause
	agendas []agenda
	watch   *watch // nil without file events
	save    save
	pollAt  time.Time // zero without a file
	sweepAt time.Time // zero without an interval
}

func newLoop(opt Options, wake chan<- Cause) (*loop, error) {
	if cap(wake) < 1 {
		return nil, errors.New("start schedule: the wake channel needs a capacity of 1")
	}
	if opt.Debounce < 0 || opt.Poll < 0 || opt.Interval < 0 {
		return nil, errors.New("start schedule: a duration is negative")
	}
	if opt.Debounce == 0 {
		opt.Debounce = defaultDebounce
	}
	if opt.Poll == 0 {
		opt.Poll = defaultPoll
	}
	if opt.Location == nil {
		opt.Location = time.Local
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	l := &loop{opt: opt, wake: wake, save: save{quiet: opt.Debounce}}
	for _, spec := range opt.Cron {
		s, err := ParseCron(spec, opt.Location)
		if err != nil {
			return nil, err
		}
		l.agendas = append(l.agendas, agenda{schedule: s})
	}
	if opt.Todo == "" {
		return l, nil
	}
	abs, err := filepath.Abs(opt.Todo)
	if err != nil {
		return nil, fmt.Errorf("locate %s: %w", opt.Todo, err)
	}
	l.opt.Todo = abs
	if !opt.PollOnly {
		l.watch = newWatch(abs, opt)
	}
	return l, nil
}

// begin watches first and reads then: a save in between is noticed.
func (l *loop) begin(now time.Time) {
	for i := range l.agendas {
		l.agendas[i].anchor(now)
	}
	if l.opt.Todo != "" {
		l.watch.renew(now)
		l.save.seen = look(l.opt.Todo)
		l.pollAt = now.Add(l.opt.Poll)
	}
	l.send(Startup, now)
}

// next is when tick has something to do, at most a nap away: timers run on the
// monotonic clock, which stands still while a machine sleeps, and slots don't.
func (l *loop) next(now time.Time) time.Time {
	at := now.Add(longestNap)
	for _, t := range []time.Time{l.pollAt, l.sweepAt, l.save.due, l.watch.retryAt()} {
		if !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	for i := range l.agendas {
		if nap := l.agendas[i].wait(now); nap < at.Sub(now) {
			at = now.Add(nap)
		}
	}
	return at
}

// tick does whatever is due.
func (l *loop) tick(now time.Time) {
	if due(l.watch.retryAt(), now) && l.watch.renew(now) {
		l.save.hint(now) // nobody watched until now
	}
	if due(l.pollAt, now) {
		l.pollAt = now.Add(l.opt.Poll)
		l.watch.renew(now)
		l.save.poll(look(l.opt.Todo), now)
	}
	if due(l.save.due, now) {
		l.watch.renew(now) // a symlink may point elsewhere since
		if l.save.read(look(l.opt.Todo), now) {
			l.send(Saved, now)
		}
	}
	for i := range l.agendas {
		if late, ok := l.agendas[i].due(now); ok {
			l.opt.Log.Debug("cron slot", "spec", l.opt.Cron[i], "late_by", late)
			l.send(Ticked, now)
		}
	}
	if due(l.sweepAt, now) {
		l.send(Swept, now)
	}
}

func due(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// send leaves a cause in the channel, unless one is waiting there already.
func (l *loop) send(c Cause, now time.Time) {
	select {
	case l.wake <- c:
	default:
	}
	if l.opt.Interval > 0 {
		l.sweepAt = now.Add(l.opt.Interval)
	}
}
