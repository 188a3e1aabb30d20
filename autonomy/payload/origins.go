package payload

import (
	"cmp"
	"strings"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// FromHook is the origin of text that one of the user's hooks added. No client can send it.
const FromHook channels.TextOrigin = "hook"

// Origins returns the origins of the untrusted text in a message: its sender, or the client that
// attached text beyond the owner's words.
func (m Message) Origins(ev bus.Event) []provenance.Origin {
	if ev.Provenance.Tainted() {
		who := cmp.Or(m.Name, ev.Sender, "an unknown sender")
		if m.Name != "" && ev.Sender != "" && m.Name != ev.Sender {
			who += " <" + ev.Sender + ">"
		}
		return []provenance.Origin{{Kind: "message", Label: who, Via: ev.Channel, Event: ev.ID}}
	}
	if len(m.Outside) == 0 {
		return nil
	}
	return provenance.Join(m.OutsideOrigins(ev))
}

// OutsideOrigins returns the origin of each piece of untrusted text that came with a message from
// the owner, in the order of these pieces.
func (m Message) OutsideOrigins(ev bus.Event) []provenance.Origin {
	if ev.Provenance.Tainted() {
		return nil // the whole message is the sender's
	}
	out := make([]provenance.Origin, len(m.Outside))
	for i, text := range m.Outside {
		out[i] = provenance.Origin{Kind: "client", Label: cmp.Or(m.Via, ev.Channel), Event: ev.ID}
		if i >= len(m.OutsideFrom) {
			continue
		}
		from := m.OutsideFrom[i]
		kinds := map[channels.TextOrigin]string{channels.Pasted: "paste", channels.Piped: "pipe", channels.FromFile: "file", FromHook: "hook"}
		if kind, ok := kinds[from.Origin]; ok {
			out[i] = provenance.Origin{Kind: kind, Label: cmp.Or(from.Name, textnorm.FormatLength(text)), Event: ev.ID}
		}
	}
	return out
}

// Attachments describes the untrusted text that a client sent with a message, for example "pasted
// text, 1,234 characters". The name of a file may have been chosen by an attacker.
func Attachments(ev bus.Event) (out []string) {
	m, err := ParseMessage(ev)
	if err != nil || ev.Kind != bus.Message || ev.Provenance.Tainted() {
		return nil
	}
	names := map[string]string{"paste": "pasted text, ", "pipe": "piped text, ", "file": "file, "}
	for i, o := range m.OutsideOrigins(ev) {
		if name, ok := names[o.Kind]; ok && i < len(m.OutsideFrom) {
			out = append(out, name+o.Label)
		}
	}
	return out
}

// Origins returns the origins of the untrusted text in the event of a signal: the origins of what
// it observed, and those that influenced the creation of its watcher. If the latter cannot be read,
// Origins returns the former and an error.
func (s Signal) Origins(q store.Querier, ev bus.Event) ([]provenance.Origin, error) {
	out := s.observedOrigins(ev)
	if !s.Made.Tainted() || s.Watcher == "" {
		return out, nil
	}
	made, err := origins.Of(q, origins.Row, s.Watcher)
	return provenance.Join(out, made), err
}

// observedOrigins returns the origins of the text that was observed.
func (s Signal) observedOrigins(ev bus.Event) []provenance.Origin {
	switch {
	case ev.Kind == bus.Webhook:
		return []provenance.Origin{{Kind: "webhook", Label: s.Title, Event: ev.ID}}
	case ev.Kind == bus.Schedule && !s.Made.Tainted():
		return nil
	case ev.Kind == bus.Schedule:
		return []provenance.Origin{{Kind: "schedule", Label: cmp.Or(s.Title, s.Watcher), Event: ev.ID}}
	case strings.TrimSpace(s.Signal) == "" && !s.Made.Tainted():
		return nil
	}
	return []provenance.Origin{{Kind: "watcher", Label: cmp.Or(s.Title, s.Watcher), Event: ev.ID}}
}
