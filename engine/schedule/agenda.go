package schedule

import (
	"time"

	"github.com/robfig/cron/v3"
)

// setBack is how far the wall clock may go back before slots are counted anew.
// Less is a correction, and the slots in between have been kept already; cron(8)
// draws the same line at three hours.
const setBack = 3 * time.Hour

// An agenda keeps the slots of one spec on the wall clock. Of several slots that
// have passed since it last looked, it reports one.
type agenda struct {
	schedule cron.Schedule
	last     time.Time // when the slots were last counted
	slot     time.Time // the next one; zero when there is none
}

// anchor counts slots from now on. Round drops the monotonic reading: a sleeping
// machine's monotonic clock stands still.
func (a *agenda) anchor(now time.Time) {
	a.last = now.Round(0)
	a.slot = a.schedule.Next(a.last)
}

// due tells whether a slot has passed, how long ago, and goes on to the next.
func (a *agenda) due(now time.Time) (late time.Duration, ok bool) {
	now = now.Round(0)
	if now.Before(a.last.Add(-setBack)) {
		a.anchor(now)
		return 0, false
	}
	if !due(a.slot, now) {
		return 0, false
	}
	late = now.Sub(a.slot)
	a.anchor(now)
	return late, true
}

// wait is how long the next slot is off by the wall clock.
func (a *agenda) wait(now time.Time) time.Duration {
	if a.slot.IsZero() {
		return longestNap
	}
	return a.slot.Sub(now.Round(0))
}
