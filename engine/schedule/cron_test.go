package schedule_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hob/engine/schedule"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestParseCronNext(t *testing.T) {
	tests := []struct {
		name, spec, zone, from string
		want                   []string
	}{
		{"every night", "0 1 * * *", "UTC", "2026-03-01T00:30", []string{"2026-03-01T01:00+00:00", "2026-03-02T01:00+00:00"}},
		{"a slot is after the time asked for", "0 1 * * *", "UTC", "2026-03-01T01:00", []string{"2026-03-02T01:00+00:00"}},
		{"the gap ends at 03:00", "30 2 * * *", "America/New_York", "2026-03-07T12:00", []string{"2026-03-08T03:00-04:00", "2026-03-09T02:30-04:00"}},
		{"slots inside the gap fall together", "*/20 * * * *", "America/New_York", "2026-03-08T01:30", []string{"2026-03-08T01:40-05:00", "2026-03-08T03:00-04:00", "2026-03-08T03:20-04:00"}},
		{"a doubled slot is the first", "30 1 * * *", "America/New_York", "2026-10-31T12:00", []string{"2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"}},
		{"hourly, one 01:00", "0 * * * *", "America/New_York", "2026-11-01T00:30", []string{"2026-11-01T01:00-04:00", "2026-11-01T02:00-05:00"}},
		{"a gap of half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00", []string{"2026-10-04T02:30+11:00"}},
		{"midnight missing", "0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00", []string{"2018-11-04T01:00-02:00", "2018-11-05T00:00-02:00"}},
		{"a day missing", "0 12 30 12 *", "Pacific/Apia", "2011-12-29T13:00", []string{"2011-12-31T00:00+14:00"}},
		{"7 is Sunday", "0 9 * * 7", "UTC", "2026-03-02T00:00", []string{"2026-03-08T09:00+00:00", "2026-03-15T09:00+00:00"}},
		{"range ending in 7", "0 9 * * 6-7", "UTC", "2026-03-02T00:00", []string{"2026-03-07T09:00+00:00", "2026-03-08T09:00+00:00", "2026-03-14T09:00+00:00"}},
		{"stepped range ending in 7", "0 9 * * 3-7/2", "UTC", "2026-03-02T00:00", []string{"2026-03-04T09:00+00:00", "2026-03-06T09:00+00:00", "2026-03-08T09:00+00:00", "2026-03-11T09:00+00:00"}},
		{"named range over the weekend", "0 9 * * SAT-SUN", "UTC", "2026-03-02T00:00", []string{"2026-03-07T09:00+00:00", "2026-03-08T09:00+00:00"}},
		{"names", "0 9 * FEB mon", "UTC", "2026-01-20T00:00", []string{"2026-02-02T09:00+00:00"}},
		{"both days mean either", "0 0 1-7 * MON", "UTC", "2026-01-01T12:00", []string{"2026-01-02T00:00+00:00"}},
		{"leap day", "0 0 29 2 *", "UTC", "2026-01-01T00:00", []string{"2028-02-29T00:00+00:00"}},
		{"leap day over 2100", "0 0 29 2 *", "UTC", "2096-03-01T00:00", []string{"2104-02-29T00:00+00:00"}},
		{"@daily", "@daily", "Europe/Berlin", "2026-06-01T12:00", []string{"2026-06-02T00:00+02:00"}},
		{"@every", "@every 90m", "UTC", "2026-06-01T12:00", []string{"2026-06-01T13:30+00:00", "2026-06-01T15:00+00:00"}},
		{"blanks around", "  0   1 * * *\t", "UTC", "2026-03-01T00:30", []string{"2026-03-01T01:00+00:00"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			loc := zone(t, tt.zone)
			s, err := schedule.ParseCron(tt.spec, loc)
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.ParseInLocation("2006-01-02T15:04", tt.from, loc)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for range tt.want {
				at = s.Next(at)
				got = append(got, at.Format("2006-01-02T15:04-07:00"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%q from %s (-want +got):\n%s", tt.spec, tt.from, diff)
			}
		})
	}
}

func TestParseCronRefuses(t *testing.T) {
	tests := []struct{ name, spec, want string }{
		{"empty", " ", "empty"},
		{"zone without a blank, which panics in the library", "TZ=UTC", "time zone"},
		{"zone", "CRON_TZ=Europe/Berlin 0 1 * * *", "time zone"},
		{"six fields", "0 0 1 * * *", "6 fields instead of five"},
		{"four fields", "0 1 * *", "4 fields"},
		{"31 February", "0 0 31 2 *", "no such date"},
		{"step wider than the hour", "*/90 * * * *", "wider"},
		{"step of the whole hour", "*/60 * * * *", "wider"},
		{"step wider than its range", "0 1-3/5 * * *", "wider"},
		{"no step", "*/0 * * * *", "step"},
		{"empty step", "*/ * * * *", "step"},
		{"minute 60", "60 * * * *", "between 0 and 59"},
		{"day 0", "0 0 0 * *", "between 1 and 31"},
		{"day 8 of the week", "0 0 * * 8", "between 0 and 7"},
		{"signed", "+5 * * * *", "neither"},
		{"star with an end", "*-5 * * * *", "neither"},
		{"empty list", ", * * * *", "neither"},
		{"hole in a list", "1,,2 * * * *", "neither"},
		{"backwards", "0 22-2 * * *", "backwards"},
		{"Quartz", "0 0 L * *", "neither"},
		{"unknown name", "@noon", "no such name"},
		{"reboot", "@reboot", "every start"},
		{"every millisecond", "@every 1ms", "once a minute"},
		{"every nothing", "@every", "duration"},
		{"every negative", "@every -5m", "once a minute"},
		{"words behind a name", "@daily 5", "nothing may follow"},
		{"too large a number", "99999999999999999999 * * * *", "neither"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := schedule.ParseCron(tt.spec, time.UTC)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ParseCron(%q) = %v, %v, want an error with %q", tt.spec, s, err, tt.want)
			}
		})
	}
}

// However odd a zone's history, slots only go forward and show their label on
// the wall, or the end of the gap that swallowed it.
func TestParseCronSlotsProperty(t *testing.T) {
	zones := []string{"UTC", "America/New_York", "Europe/Dublin", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "Africa/Casablanca", "Antarctica/Troll"}
	rapid.Check(t, func(rt *rapid.T) {
		loc := zone(t, rapid.SampledFrom(zones).Draw(rt, "zone"))
		spec := rapid.SampledFrom([]string{"30 2 * * *", "*/7 * * * *", "0 0 * * *", "15 0-4 * * 0", "59 23 28-31 * *", "0 */6 1 * *"}).Draw(rt, "spec")
		s, err := schedule.ParseCron(spec, loc)
		if err != nil {
			rt.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(0, 2e9).Draw(rt, "from"), 0)
		for range 20 {
			next := s.Next(at)
			if !next.After(at) {
				rt.Fatalf("%q in %v: Next(%v) = %v", spec, loc, at, next)
			}
			local := next.In(loc)
			_, before := next.Add(-time.Second).In(loc).Zone()
			_, offset := local.Zone()
			if spec == "30 2 * * *" && offset <= before && (local.Hour() != 2 || local.Minute() != 30) {
				rt.Fatalf("%q in %v: slot %v is neither 02:30 nor the end of a gap", spec, loc, local)
			}
			at = next
		}
	})
}

func FuzzParseCron(f *testing.F) {
	for _, spec := range []string{"0 1 * * *", "TZ=UTC", "CRON_TZ=X", "@every 1h", "*/5 1-3,7 ? jan-dec sun-7/2", ",", "* * * * 7-7"} {
		f.Add(spec)
	}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, spec string) {
		s, err := schedule.ParseCron(spec, time.UTC)
		if err != nil {
			return
		}
		if next := s.Next(from); next.Sub(from) < time.Minute {
			t.Errorf("ParseCron(%q): next slot %v is less than a minute away", spec, next)
		}
	})
}
