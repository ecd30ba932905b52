package schedule_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/engine/schedule"
)

// A wakening is a cause with the fake time it came at.
type wakening struct {
	At    time.Duration
	Cause schedule.Cause
}

// record runs the schedule in a synctest bubble, does act, and returns what came
// until the end of the given span.
func record(t *testing.T, opt schedule.Options, span time.Duration, act func()) []wakening {
	t.Helper()
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	wake := make(chan schedule.Cause, 1)
	done := make(chan error)
	go func() { done <- schedule.Run(ctx, opt, wake) }()
	go act()
	var got []wakening
	for {
		select {
		case c := <-wake:
			got = append(got, wakening{time.Since(start), c})
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return got
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}

func TestRunKeepsCronAndInterval(t *testing.T) {
	tests := []struct {
		name string
		opt  schedule.Options
		span time.Duration
		want []wakening
	}{
		{"nothing set", schedule.Options{}, time.Hour, []wakening{{0, schedule.Startup}}},
		{
			"two specs", // the bubble's clock starts at 2000-01-01 00:00 UTC
			schedule.Options{Cron: []string{"0 1 * * *", "30 0 * * *"}, Location: time.UTC},
			24*time.Hour + time.Minute,
			[]wakening{{0, schedule.Startup}, {30 * time.Minute, schedule.Ticked}, {time.Hour, schedule.Ticked}},
		},
		{
			"interval counts from the last cause",
			schedule.Options{Cron: []string{"7 0 * * *"}, Location: time.UTC, Interval: 5 * time.Minute},
			15 * time.Minute,
			[]wakening{{0, schedule.Startup}, {5 * time.Minute, schedule.Swept}, {7 * time.Minute, schedule.Ticked}, {12 * time.Minute, schedule.Swept}},
		},
		{
			"every ninety seconds",
			schedule.Options{Cron: []string{"@every 90s"}},
			4 * time.Minute,
			[]wakening{{0, schedule.Startup}, {90 * time.Second, schedule.Ticked}, {180 * time.Second, schedule.Ticked}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := record(t, tt.opt, tt.span, func() {})
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("causes (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// On 2000-02-26 summer time ended in São Paulo: 23:30 came twice.
func TestRunDoubledSlotOnce(t *testing.T) {
	loc := zone(t, "America/Sao_Paulo")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		opt := schedule.Options{Cron: []string{"30 23 26 2 *"}, Location: loc}
		got := record(t, opt, 60*24*time.Hour, func() {})
		want := []wakening{{0, schedule.Startup}, {time.Date(2000, 2, 27, 1, 30, 0, 0, time.UTC).Sub(start), schedule.Ticked}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("causes (-want +got):\n%s", diff)
		}
	})
}

// Nobody reads the channel: causes run together and Run goes on.
func TestRunCoalesces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		wake := make(chan schedule.Cause, 1)
		done := make(chan error)
		go func() {
			done <- schedule.Run(ctx, schedule.Options{Cron: []string{"* * * * *"}, Interval: time.Minute}, wake)
		}()
		<-time.After(time.Hour)
		synctest.Wait()
		if c := <-wake; c != schedule.Startup {
			t.Errorf("the cause that waited is %q, want %q", c, schedule.Startup)
		}
		select {
		case c := <-wake:
			t.Errorf("a second cause %q waited", c)
		default:
		}
		if c := <-wake; c != schedule.Ticked {
			t.Errorf("next cause is %q, want %q", c, schedule.Ticked)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestRunPolls(t *testing.T) {
	after := func(d time.Duration, f func()) func() { return func() { <-time.After(d); f() } }
	const settled = 50 * time.Millisecond // the second read
	tests := []struct {
		name   string
		before string // "" is no file
		act    func(t *testing.T, file string) func()
		want   []wakening
	}{
		{"untouched", "a", func(*testing.T, string) func() { return func() {} }, nil},
		{
			"written", "a",
			func(t *testing.T, file string) func() { return after(40*time.Second, func() { write(t, file, "b") }) },
			[]wakening{{60*time.Second + settled, schedule.Saved}},
		},
		{
			"touched with the same bytes", "a",
			func(t *testing.T, file string) func() { return after(40*time.Second, func() { write(t, file, "a") }) },
			nil,
		},
		{
			"appears", "",
			func(t *testing.T, file string) func() { return after(10*time.Second, func() { write(t, file, "b") }) },
			[]wakening{{30*time.Second + settled, schedule.Saved}},
		},
		{
			"vanishes with its folder", "a",
			func(t *testing.T, file string) func() {
				return after(10*time.Second, func() {
					if err := os.RemoveAll(filepath.Dir(file)); err != nil {
						t.Error(err)
					}
				})
			},
			[]wakening{{30*time.Second + settled, schedule.Saved}},
		},
		{
			"half a write is not read", "a",
			func(t *testing.T, file string) func() {
				return after(30*time.Second+settled/2, func() { write(t, file, "bb") })
			},
			[]wakening{{60*time.Second + settled, schedule.Saved}},
		},
		{
			"a second write between the two reads", "a",
			func(t *testing.T, file string) func() {
				return func() {
					<-time.After(29 * time.Second)
					write(t, file, "b")
					<-time.After(time.Second + settled/2)
					write(t, file, "bb")
				}
			},
			[]wakening{{30*time.Second + 2*settled, schedule.Saved}},
		},
		{
			"a pipe in its place blocks nothing", "a",
			func(t *testing.T, file string) func() {
				return after(10*time.Second, func() {
					if err := os.Remove(file); err != nil {
						t.Error(err)
					}
					if err := syscall.Mkfifo(file, 0o600); err != nil {
						t.Error(err)
					}
				})
			},
			[]wakening{{30*time.Second + settled, schedule.Saved}},
		},
		{
			"a change far inside a file of 900 KiB", strings.Repeat("a", 900<<10),
			func(t *testing.T, file string) func() {
				return after(10*time.Second, func() { write(t, file, strings.Repeat("a", 900<<10-1)+"b") })
			},
			[]wakening{{30*time.Second + settled, schedule.Saved}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "sub", "TODO.md")
			if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if tt.before != "" {
				write(t, file, tt.before)
			}
			synctest.Test(t, func(t *testing.T) {
				got := record(t, schedule.Options{Todo: file, PollOnly: true}, 2*time.Minute, tt.act(t, file))
				want := append([]wakening{{0, schedule.Startup}}, tt.want...)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("causes (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestRunRefuses(t *testing.T) {
	tests := []struct {
		name string
		opt  schedule.Options
		wake chan schedule.Cause
		want string
	}{
		{"no room in the channel", schedule.Options{}, make(chan schedule.Cause), "capacity"},
		{"negative poll", schedule.Options{Poll: -1}, make(chan schedule.Cause, 1), "negative"},
		{"bad spec", schedule.Options{Cron: []string{"* * *"}}, make(chan schedule.Cause, 1), "3 fields"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := schedule.Run(t.Context(), tt.opt, tt.wake)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Run = %v, want an error with %q", err, tt.want)
			}
			if len(tt.wake) > 0 {
				t.Errorf("Run sent %q before it failed", <-tt.wake)
			}
		})
	}
}
