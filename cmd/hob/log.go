package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"

	"hob/configs"
	"hob/journal"
	"hob/journal/redact"
)

// newLog makes the log on standard error: coloured on a terminal, JSON in systemd's
// journal or when asked, plain lines elsewhere. Held secrets are masked in every form.
func newLog(w *world, c configs.Log, held *redact.Set) *slog.Logger {
	level := slog.LevelInfo
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		level = slog.LevelInfo // the config has been checked; info is its default
	}
	if c.Format == "json" || c.Format == "auto" && w.getenv("JOURNAL_STREAM") != "" { // systemd.exec(5)
		return slog.New(masking{slog.NewJSONHandler(w.Err, &slog.HandlerOptions{Level: level}), held})
	}
	opt := &tint.Options{Level: level, NoColor: !w.colour(), TimeFormat: time.TimeOnly}
	if opt.NoColor {
		opt.TimeFormat = time.RFC3339
	}
	return slog.New(masking{tint.NewTextHandler(w.Err, opt), held})
}

// colour follows no-color.org and the terminal; tint itself looks at neither.
func (w *world) colour() bool {
	if w.getenv("NO_COLOR") != "" || w.getenv("TERM") == "dumb" {
		return false
	}
	return w.getenv("CLICOLOR_FORCE") != "" || terminal(w.Err)
}

func terminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// maxValue bounds a logged value, in bytes: a log line is not the place for a file.
const maxValue = 4 << 10

// masking masks secrets and control characters before a handler formats them.
type masking struct {
	slog.Handler
	held *redact.Set
}

func (m masking) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, m.text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(m.attr(a))
		return true
	})
	return m.Handler.Handle(ctx, clean)
}

func (m masking) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = m.attr(a)
	}
	return masking{m.Handler.WithAttrs(clean), m.held}
}

func (m masking) WithGroup(name string) slog.Handler {
	return masking{m.Handler.WithGroup(name), m.held}
}

func (m masking) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString, slog.KindAny:
		return slog.String(a.Key, m.text(v.String()))
	case slog.KindGroup:
		group := make([]slog.Attr, 0, len(v.Group()))
		for _, in := range v.Group() {
			group = append(group, m.attr(in))
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(group...)}
	}
	return a
}

func (m masking) text(s string) string {
	s = plain(m.held.String(s))
	if len(s) > maxValue {
		s = s[:maxValue] + "…"
	}
	return s
}

// logEntry says a journalled event again in the log: same kind, same fields. What
// happened is recorded once and can't differ between the two.
func logEntry(log *slog.Logger, en journal.Entry) {
	log.LogAttrs(context.Background(), slog.LevelInfo, en.Kind, gist(en)...)
}

// gist is what a person wants to see of an event: its plain fields, in the order of
// their names, without digests and what is 0, with object ids cut.
func gist(en journal.Entry) []slog.Attr {
	var fields map[string]any
	if json.Unmarshal(en.Body, &fields) != nil {
		return nil
	}
	var attrs []slog.Attr
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		switch v := fields[k].(type) {
		case string:
			if v != "" && k != "check" && !strings.HasSuffix(k, "digest") && !strings.HasSuffix(k, "_hash") {
				attrs = append(attrs, slog.String(k, oid.ReplaceAllString(v, "$1")))
			}
		case float64:
			if v != 0 {
				attrs = append(attrs, slog.Int64(k, int64(v)))
			}
		case bool:
			if v {
				attrs = append(attrs, slog.Bool(k, v))
			}
		}
	}
	return attrs
}

// oid matches object ids and other long hexadecimal names.
var oid = regexp.MustCompile(`\b([0-9a-f]{12})[0-9a-f]{28,}\b`)
