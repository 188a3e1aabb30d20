package autonomy

import (
	"cmp"
	"context"
	"strings"

	"hob/autonomy/bus"
	"hob/platform/origins"
	"hob/platform/provenance"
)

// messageOrigins are from where what is not the owner's in a message came: its
// sender, or the client that sent more along than the owner's words.
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
	return []provenance.Origin{{Kind: "client", Label: cmp.Or(m.Via, ev.Channel), Event: ev.ID}}
}

// firedOrigins are from where the outside text came that a watcher, a schedule
// or a trigger brings: what it saw, and what had a part in its own making.
func (l *Loop) firedOrigins(ctx context.Context, ev bus.Event, f fired) []provenance.Origin {
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

// signalOrigins are those of what was seen.
func signalOrigins(ev bus.Event, f fired) []provenance.Origin {
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
