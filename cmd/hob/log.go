package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"

	"hob/configs"
	"hob/journal"
	"hob/journal/redact"
)

// newLog makes the log on standard error: coloured on a terminal, plain elsewhere,
// JSON when asked. Held secrets are masked in every form of it.
func newLog(w *world, c configs.Log, held *redact.Set) *slog.Logger {
	level := slog.LevelInfo
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		level = slog.LevelInfo // the config has been checked; info is its default
	}
	if c.Format == "json" {
		return slog.New(masking{slog.NewJSONHandler(w.Err, &slog.HandlerOptions{Level: level}), held})
	}
	opt := &tint.Options{Level: level, NoColor: !w.colour(), TimeFormat: time.TimeOnly}
	if opt.NoColor {
		opt.TimeFormat = time.RFC3339
	}
	return slog.New(masking{tint.NewHandler(w.Err, opt), held})
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
	var fields map[string]any
	if json.Unmarshal(en.Body, &fields) != nil {
		return
	}
	log.LogAttrs(context.Background(), slog.LevelInfo, en.Kind, slog.String("run", en.Run), slog.String("what", gist(en)))
}
