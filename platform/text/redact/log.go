package redact

import (
	"context"
	"fmt"
	"log/slog"
)

// Handler keeps secrets out of log lines: out of messages, attributes, and
// errors and values in them.
func (s *Set) Handler(next slog.Handler) slog.Handler { return handler{s, next} }

type handler struct {
	set  *Set
	next slog.Handler
}

func (h handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.set.Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.redactAttr(a))
		return true
	})
	return h.next.Handle(ctx, out)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.redactAttr(a)
	}
	return handler{h.set, h.next.WithAttrs(clean)}
}

func (h handler) WithGroup(name string) slog.Handler { return handler{h.set, h.next.WithGroup(name)} }

func (h handler) redactAttr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.set.Text(v.String()))
	case slog.KindGroup:
		var list []slog.Attr
		for _, g := range v.Group() {
			list = append(list, h.redactAttr(g))
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(list...)}
	case slog.KindAny:
		text := fmt.Sprintf("%+v", v.Any())
		if clean := h.set.Text(text); clean != text {
			return slog.String(a.Key, clean)
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}
