package autonomy

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
)

// messageOrigins returns the origins of untrusted text in a message: its sender, or the client
// that attached more than the owner's words.
func messageOrigins(ev bus.Event, m message) []provenance.Origin {
	if ev.Provenance.Tainted() {
		who := cmp.Or(m.Name, ev.Sender, "somebody")
		if m.Name != "" && ev.Sender != "" && m.Name != ev.Sender {
			who += " <" + ev.Sender + ">"
		}
		return []provenance.Origin{{Kind: "message", Label: who, Via: ev.Channel, Event: ev.ID}}
	}
	if len(m.Outside) == 0 {
		return nil
	}
	return provenance.Join(outsideOrigins(ev, m))
}

// outsideOrigins returns the origin of each untrusted text that came with a message of
// the owner, in the order of these texts.
func outsideOrigins(ev bus.Event, m message) []provenance.Origin {
	if ev.Provenance.Tainted() {
		return nil // all of it is the sender's
	}
	out := make([]provenance.Origin, len(m.Outside))
	for i, text := range m.Outside {
		out[i] = provenance.Origin{Kind: "client", Label: cmp.Or(m.Via, ev.Channel), Event: ev.ID}
		if i >= len(m.OutsideFrom) {
			continue
		}
		from := m.OutsideFrom[i]
		kinds := map[channels.TextOrigin]string{channels.Pasted: "paste", channels.Piped: "pipe", channels.FromFile: "file"}
		if kind, ok := kinds[from.Origin]; ok {
			out[i] = provenance.Origin{Kind: kind, Label: cmp.Or(from.Name, SizeOf(text)), Event: ev.ID}
		}
	}
	return out
}

// Attachments names the untrusted texts that a client sent along with a message: "pasted text,
// 1,234 characters". Only the label is chosen by somebody else.
func Attachments(ev bus.Event) (out []string) {
	m, err := messageOf(ev)
	if err != nil || ev.Kind != bus.Message || ev.Provenance.Tainted() {
		return nil
	}
	names := map[string]string{"paste": "pasted text, ", "pipe": "piped text, ", "file": "file, "}
	for i, o := range outsideOrigins(ev, m) {
		if name, ok := names[o.Kind]; ok && i < len(m.OutsideFrom) {
			out = append(out, name+o.Label)
		}
	}
	return out
}

// SizeOf formats the length of a text: "1,234 characters".
func SizeOf(text string) string {
	digits := strconv.Itoa(utf8.RuneCountInString(text))
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if digits == "1" {
		return "1 character"
	}
	return digits + " characters"
}

// firedOrigins returns the origins of untrusted text in an event of a watcher, a schedule or a
// trigger: what it observed, and what influenced its creation.
func (l *Loop) firedOrigins(ctx context.Context, ev bus.Event, f watcherPayload) []provenance.Origin {
	out := signalOrigins(ev, f)
	if !f.Made.Tainted() || f.Watcher == "" {
		return out
	}
	made, err := origins.Of(l.o.Store.Reader(ctx), origins.Row, f.Watcher)
	if err != nil {
		l.o.Log.WarnContext(ctx, "origins cannot be read", "watcher", f.Watcher, "err", err)
	}
	return provenance.Join(out, made)
}

// signalOrigins returns the origins of the observed text.
func signalOrigins(ev bus.Event, f watcherPayload) []provenance.Origin {
	switch {
	case ev.Kind == bus.Webhook:
		return []provenance.Origin{{Kind: "webhook", Label: f.Title, Event: ev.ID}}
	case ev.Kind == bus.Schedule && !f.Made.Tainted():
		return nil
	case ev.Kind == bus.Schedule:
		return []provenance.Origin{{Kind: "schedule", Label: cmp.Or(f.Title, f.Watcher), Event: ev.ID}}
	case strings.TrimSpace(f.Signal) == "" && !f.Made.Tainted():
		return nil
	}
	return []provenance.Origin{{Kind: "watcher", Label: cmp.Or(f.Title, f.Watcher), Event: ev.ID}}
}
