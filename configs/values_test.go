package configs_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"hob/configs"
)

func TestDuration(t *testing.T) {
	tests := []struct {
		text   string
		want   time.Duration
		string string
	}{
		{"0", 0, "0"},
		{"0s", 0, "0"},
		{"90s", 90 * time.Second, "1m30s"},
		{"5m", 5 * time.Minute, "5m"},
		{"60m", time.Hour, "1h"},
		{"1h30m", 90 * time.Minute, "1h30m"},
		{"1h0m1s", time.Hour + time.Second, "1h0m1s"},
		{"24h", 24 * time.Hour, "1d"},
		{"7d", 7 * 24 * time.Hour, "7d"},
		{"1d12h", 36 * time.Hour, "1d12h"},
		{"1.5h", 90 * time.Minute, "1h30m"},
		{"500ms", 500 * time.Millisecond, "500ms"},
		{"-1d1s", -(24*time.Hour + time.Second), "-1d1s"},
		{"10s", 10 * time.Second, "10s"},
		{"20m", 20 * time.Minute, "20m"},
		{"100h", 100 * time.Hour, "4d4h"},
	}
	for _, tt := range tests {
		var d configs.Duration
		if err := d.UnmarshalText([]byte(tt.text)); err != nil {
			t.Errorf("UnmarshalText(%q): %v", tt.text, err)
		}
		if d.Duration != tt.want || d.String() != tt.string {
			t.Errorf("UnmarshalText(%q) = %s (%q), want %s (%q)", tt.text, d.Duration, d, tt.want, tt.string)
		}
	}
	for _, text := range []string{
		"", " ", "5", "-", "--5m", "+5m", "5 m", " 5m", "5m ", "5x", "m", "d", "1dd", "1d2", "1.5d", "1h1d", ".5h", "5us", "5µs", "5ns",
		"1h-5m", "0x5m", "1e3s", "1w", "1M", "1d-1h", "36501d", "99999999999999999999d", "2562047h", "36499d999999h", "1.0001s1d", "0.5ms",
	} {
		var d configs.Duration
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("UnmarshalText(%q) = %s, want an error", text, d)
		}
	}
}

func TestDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(-36500*24*3600*1000+1, 36500*24*3600*1000-1).Draw(t, "milliseconds")
		want := configs.Duration{Duration: time.Duration(ms) * time.Millisecond}
		text, err := want.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var got configs.Duration
		if err := got.UnmarshalText(text); err != nil || got != want {
			t.Fatalf("%q read back = %s, %v; want %s", text, got.Duration, err, want.Duration)
		}
	})
}

func TestUSD(t *testing.T) {
	tests := []struct {
		text   string
		want   configs.USD
		string string
	}{
		{"0", 0, "0.00"},
		{"-0.0", 0, "0.00"},
		{"5", 5_000_000, "5.00"},
		{"0.1", 100_000, "0.10"},
		{"0.3", 300_000, "0.30"},
		{"1.005", 1_005_000, "1.005"},
		{"0.000001", 1, "0.000001"},
		{"0.0000010", 1, "0.000001"},
		{"1_000.50", 1_000_500_000, "1000.50"},
		{"2.5e-3", 2_500, "0.0025"},
		{"1.5E2", 150_000_000, "150.00"},
		{"1e-6", 1, "0.000001"},
		{"0e9999", 0, "0.00"},
		{"10e-7", 1, "0.000001"},
		{"+3", 3_000_000, "3.00"},
		{"-2.50", -2_500_000, "-2.50"},
		{"1000000000", 1_000_000_000_000_000, "1000000000.00"},
		{"0000.5", 500_000, "0.50"},
		{"1e9", 1_000_000_000_000_000, "1000000000.00"},
	}
	for _, tt := range tests {
		var u configs.USD
		if err := u.UnmarshalText([]byte(tt.text)); err != nil {
			t.Errorf("UnmarshalText(%q): %v", tt.text, err)
		}
		if u != tt.want || u.String() != tt.string {
			t.Errorf("UnmarshalText(%q) = %d (%q), want %d (%q)", tt.text, u, u, tt.want, tt.string)
		}
	}
	for _, text := range []string{
		"", "-", "+-5", "--5", "$5", "5 USD", "5,00", ".5", ".", "1.2.3", "e5", "1e", "1e1e1", "inf", "nan", "0x10", "0.0000001", "1e-7",
		"1000000000.000001", "1000000001", "1e10", "1e300", "1e32768", "1e99999999999999999999", "99999999999999999999",
	} {
		var u configs.USD
		if err := u.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("UnmarshalText(%q) = %s, want an error", text, u)
		}
	}
}

func TestUSDRoundTrip(t *testing.T) {
	const most = 1_000_000_000_000_000
	rapid.Check(t, func(t *rapid.T) {
		want := configs.USD(rapid.Int64Range(-most, most).Draw(t, "micro-USD"))
		text, err := want.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var got configs.USD
		if err := got.UnmarshalText(text); err != nil || got != want {
			t.Fatalf("%q read back = %d, %v; want %d", text, got, err, want)
		}
	})
}

func TestSize(t *testing.T) {
	for text, want := range map[string]configs.Size{
		"0B": 0, "1B": 1, "1024B": 1 << 10, "4GiB": 4 << 30, "512 MiB": 512 << 20, "1KiB": 1 << 10, "1024TiB": 1 << 50,
	} {
		var s configs.Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("UnmarshalText(%q) = %d, %v; want %d", text, s, err, want)
		}
	}
	for _, text := range []string{"", "4", "4GB", "4gib", "-4GiB", "4.5GiB", "GiB", "1025TiB", "99999999999999999999B", "0x4GiB"} {
		var s configs.Size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("UnmarshalText(%q) = %d, want an error", text, s)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		want := configs.Size(rapid.Int64Range(0, 1<<50).Draw(t, "bytes"))
		text, err := want.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var got configs.Size
		if err := got.UnmarshalText(text); err != nil || got != want {
			t.Fatalf("%q read back = %d, %v; want %d", text, got, err, want)
		}
	})
}
