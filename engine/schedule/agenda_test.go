package schedule

import (
	"testing"
	"time"
)

// A synctest clock can neither sleep through its timers nor be set, so these
// hand the agenda the wall clock of a machine that did.
func TestAgendaWallClock(t *testing.T) {
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 6, day, hour, minute, 0, 0, time.UTC) }
	tests := []struct {
		name  string
		looks []time.Time // after an anchor on the 1st at noon
		want  []bool      // whether each look finds a slot
	}{
		{"on time", []time.Time{at(2, 0, 59), at(2, 1, 0), at(2, 1, 1)}, []bool{false, true, false}},
		{"suspended over three nights", []time.Time{at(4, 15, 0), at(4, 15, 1), at(5, 1, 0)}, []bool{true, false, true}},
		{"set back an hour after the slot", []time.Time{at(2, 1, 30), at(2, 0, 30), at(2, 1, 0), at(3, 1, 0)}, []bool{true, false, false, true}},
		{"set back by a week", []time.Time{at(9, 2, 0), at(2, 0, 30), at(2, 1, 0)}, []bool{true, false, true}},
		{"set forward by a year", []time.Time{at(366, 2, 0), at(366, 2, 1), at(367, 1, 0)}, []bool{true, false, true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := ParseCron("0 1 * * *", time.UTC)
			if err != nil {
				t.Fatal(err)
			}
			a := agenda{schedule: s}
			a.anchor(at(1, 12, 0))
			for i, now := range tt.looks {
				if _, got := a.due(now); got != tt.want[i] {
					t.Errorf("look %d at %v found a slot: %v, want %v", i, now, got, tt.want[i])
				}
			}
		})
	}
}

// While events keep coming, a read waits for silence, but not for ever.
func TestSaveIsReadDuringEndlessEvents(t *testing.T) {
	start := time.Unix(0, 0)
	s := save{quiet: 500 * time.Millisecond}
	for now := start; now.Before(start.Add(time.Minute)); now = now.Add(100 * time.Millisecond) {
		s.hint(now)
		if s.due.IsZero() || s.due.After(start.Add(5*time.Second)) {
			t.Fatalf("after %v of events the read is due at %v", now.Sub(start), s.due.Sub(start))
		}
	}
}
