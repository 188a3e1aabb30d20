package extract

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hob/knowledge"
	"hob/platform/store"
)

// ErrOff means that the configuration disables the extraction of facts.
var ErrOff = errors.New(`the extraction of facts is off; set [knowledge] extraction to "auto" or "rules"`)

// Flushed is the result of Flush.
type Flushed struct {
	Turns int              // number of turns that were pending
	Left  int              // number of them for which the model failed; they are tried again later
	Facts []knowledge.Fact // stored by Flush
}

// Flush extracts the facts from the pending turns of a conversation now ("" means all
// conversations), instead of waiting for more turns. It also tries again the turns for which a model
// failed.
func (x *Extractor) Flush(ctx context.Context, session string) (out Flushed, err error) {
	if x.o.Mode == Off {
		return out, ErrOff
	}
	x.asking.Lock()
	defer x.asking.Unlock()
	list, err := x.pendingIn(ctx, session)
	if err != nil || len(list) == 0 {
		return out, err
	}
	events := make([]string, len(list))
	for i, t := range list {
		events[i] = t.event
	}
	out.Turns = len(list)
	before, err := x.o.Base.FactsOfEvents(x.o.Store.Reader(ctx), events)
	if err != nil {
		return out, err
	}
	if err := x.Rule(ctx); err != nil {
		return out, err
	}
	if list, err = x.pendingIn(ctx, session); err != nil {
		return out, err
	}
	for part := range slices.Chunk(list, x.o.Turns) {
		if err := x.askModel(ctx, part); err != nil {
			return out, err
		}
	}
	if list, err = x.pendingIn(ctx, session); err != nil {
		return out, err
	}
	out.Left = len(list)
	out.Facts, err = x.o.Base.FactsOfEvents(x.o.Store.Reader(ctx), events)
	out.Facts = slices.DeleteFunc(out.Facts, func(f knowledge.Fact) bool {
		return slices.ContainsFunc(before, func(o knowledge.Fact) bool { return o.ID == f.ID })
	})
	return out, err
}

// pendingIn returns the pending turns of a conversation, or of all if session is "".
func (x *Extractor) pendingIn(ctx context.Context, session string) (out []pendingTurn, err error) {
	rows, err := x.o.Store.Reader(ctx).Query(`SELECT event, realm, tainted, at, tries FROM extractions ORDER BY at, event`)
	if err != nil {
		return nil, fmt.Errorf("extract: read pending turns: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var t pendingTurn
		var at int64
		if err := rows.Scan(&t.event, &t.realm, &t.tainted, &at, &t.tries); err != nil {
			return nil, fmt.Errorf("extract: read pending turns: %w", err)
		}
		t.at = store.Time(at)
		out = append(out, t)
	}
	if err := rows.Err(); err != nil || session == "" || len(out) == 0 {
		return out, err
	}
	there, err := x.o.Bus.Inbox.EventsIn(x.o.Store.Reader(ctx), session)
	return slices.DeleteFunc(out, func(t pendingTurn) bool { return !slices.Contains(there, t.event) }), err
}
