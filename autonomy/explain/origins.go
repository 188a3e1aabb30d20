package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/notify"
	"hob/autonomy/payload"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/text/lazyregexp"
)

// ItemOrigin is an item in Hob with its origins, for example a fact, a task, a reminder or a
// watcher.
type ItemOrigin struct {
	ID   string    `json:"id"`
	Call string    `json:"call,omitempty"` // the call that created the item
	Tool string    `json:"tool,omitempty"`
	At   time.Time `json:"at,omitzero"`
	// Origins lists the sources of the untrusted text in context when the item was created or
	// changed. It is empty if there was none.
	Origins []provenance.Origin `json:"origins,omitempty"`
}

// validRow limits ledger lookups to ids, so that a lookup cannot become a full-text search.
var validRow = lazyregexp.New(`^[a-z][a-z0-9_-]{3,63}$`)

// findRow finds a row by its id, and the event in which it was created.
func (x *Explainer) findRow(ctx context.Context, id string) (t *ItemOrigin, event string, err error) {
	if !validRow.MatchString(id) {
		return nil, "", nil
	}
	t = &ItemOrigin{ID: id}
	if t.Origins, err = origins.Of(x.o.Store.Reader(ctx), origins.Row, id); err != nil {
		return nil, "", err
	}
	c, found, err := x.o.Bus.Ledger.FindCreator(ctx, id)
	switch {
	case err != nil:
		return nil, "", err
	case found:
		t.Call, t.Tool, t.At = c.Call, c.Tool, c.StartedAt
		return t, c.Event, nil
	}
	for _, o := range t.Origins {
		if o.Event != "" {
			return t, o.Event, nil
		}
	}
	return nil, "", nil
}

// traceOrigins adds the origins of untrusted text: the text in the event, and the text in the
// context of each call.
func (x *Explainer) traceOrigins(ctx context.Context, w *Why) (err error) {
	w.Origins = x.eventOrigins(ctx, w.Event)
	q := x.o.Store.Reader(ctx)
	for i, c := range w.Calls {
		if w.Calls[i].Origins, err = origins.Of(q, origins.Call, c.Call); err != nil {
			return err
		}
		if !c.Source.Tainted() {
			continue
		}
		if w.Calls[i].Returned, err = origins.Of(q, origins.Result, c.Call); err != nil {
			return err
		}
	}
	return nil
}

// eventOrigins returns the origins of an event's own content.
func (x *Explainer) eventOrigins(ctx context.Context, ev bus.Event) []provenance.Origin {
	switch ev.Kind {
	case bus.Message:
		m, err := payload.ParseMessage(ev)
		if err != nil {
			return nil
		}
		return m.Origins(ev)
	case bus.Watcher, bus.Schedule, bus.Webhook:
		f, err := payload.ParseSignal(ev)
		if err != nil {
			return nil
		}
		out, err := f.Origins(x.o.Store.Reader(ctx), ev)
		if err != nil {
			x.o.Log.WarnContext(ctx, "origins cannot be read", "watcher", f.Watcher, "err", err)
		}
		return out
	case bus.System:
		return x.digestOrigins(ctx, ev)
	case bus.Task:
		var o struct {
			Origins []provenance.Origin `json:"origins"`
		}
		if json.Unmarshal(ev.Payload, &o) != nil {
			return nil
		}
		return o.Origins
	}
	return nil
}

// digestOrigins returns the origins of a digest. For each notice they include the origins of its
// event and of the event's calls.
func (x *Explainer) digestOrigins(ctx context.Context, ev bus.Event) []provenance.Origin {
	if x.o.Notices == nil || ev.Source != notify.Source {
		return nil
	}
	rows, err := x.o.Notices.Why(ctx, ev.ID)
	if err != nil {
		x.o.Log.WarnContext(ctx, "origins cannot be read", "digest", ev.ID, "err", err)
	}
	var all [][]provenance.Origin
	seen := map[string]bool{ev.ID: true} // skips the notice of the event itself
	for _, n := range rows {
		if seen[n.Event] || !n.Provenance.Tainted() {
			continue
		}
		seen[n.Event] = true
		of, err := x.o.Bus.Inbox.Event(ctx, n.Event)
		if err != nil { // the event has been erased since
			continue
		}
		all = append(all, x.eventOrigins(ctx, of))
		calls, err := x.o.Bus.Ledger.Calls(ctx, n.Event)
		if err != nil {
			continue
		}
		for _, c := range calls {
			if found, err := origins.Of(x.o.Store.Reader(ctx), origins.Result, c.Call); err == nil && c.Source.Tainted() {
				all = append(all, found)
			}
		}
	}
	return provenance.Join(all...)
}

// writeOrigins writes a sentence that begins with the words start and ends with the origins of
// untrusted text.
func writeOrigins(b *strings.Builder, start string, list []provenance.Origin) {
	if len(list) > 0 {
		fmt.Fprintf(b, "    %s text from %s.\n", start, provenance.Told(list, provenance.MaxOrigins))
	}
}

// formatText describes a row.
func (t *ItemOrigin) formatText(at func(time.Time) string) string {
	var b strings.Builder
	if t.Call != "" {
		fmt.Fprintf(&b, "At %s %s was created by %s (%s).\n", at(t.At), t.ID, t.Tool, t.Call)
	} else {
		fmt.Fprintf(&b, "%s was created in this event.\n", t.ID)
	}
	writeOrigins(&b, "It was made from", t.Origins)
	return b.String()
}

// madeIn finds the event of an approval request, or the event in which the row called id was
// created. If it finds neither, it returns the error none.
func (x *Explainer) madeIn(ctx context.Context, id string, none error) (*ItemOrigin, bus.Event, error) {
	event, ok, err := x.o.Guard.EventOf(ctx, id)
	var t *ItemOrigin
	if err == nil && !ok {
		t, event, err = x.findRow(ctx, id)
	}
	if err != nil {
		return nil, bus.Event{}, err
	}
	if event == "" {
		return nil, bus.Event{}, none
	}
	ev, err := x.o.Bus.Inbox.Event(ctx, event)
	return t, ev, err
}
