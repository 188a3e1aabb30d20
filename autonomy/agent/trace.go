package agent

import (
	"context"

	"hob/knowledge/store"
	"hob/platform/origins"
	"hob/platform/provenance"
)

// origins are from where the outside text in the context of the next call came.
func (r *run) origins() []provenance.Origin {
	var lists [][]provenance.Origin
	if r.strange.Load() && r.model != nil {
		lists = append(lists, []provenance.Origin{{Kind: "agent", Label: r.model.Info().Name(), Event: r.t.Event.ID}})
	}
	for _, m := range r.msgs {
		for _, p := range m.Parts {
			if len(p.Origins) > 0 && p.Source.Tainted() {
				lists = append(lists, p.Origins)
			}
		}
	}
	if lists == nil {
		return nil
	}
	return provenance.Join(lists...)
}

// said are the origins of what somebody said to this turn.
func (r *run) said(src provenance.Source) []provenance.Origin {
	if !src.Tainted() {
		return nil
	}
	return r.t.Origins
}

// brought are the origins of the outside text that a call itself returned.
func (r *run) brought(q store.Querier, s *step) []provenance.Origin {
	if !s.settled() || !outcomeSource(s).Tainted() {
		return nil
	}
	name := s.call.Name
	if s.tool != nil {
		name = s.tool.Spec().Name
	}
	list := s.result.Origins
	if len(list) == 0 {
		list = r.kept(q, s.result.Data)
	}
	switch {
	case len(list) > 0:
	case len(s.inView) > 0: // it repeats what was in view
		return s.inView
	default:
		list = []provenance.Origin{{Kind: "tool", Label: name}}
	}
	out := make([]provenance.Origin, 0, len(list))
	for _, o := range list {
		if o.Via == "" && o.Label != name {
			o.Via = name
		}
		if o.Call == "" {
			o.Call, o.Event = s.call.ID, r.t.Event.ID
		}
		out = append(out, o)
	}
	return provenance.Join(out)
}

// kept are the origins of the rows that a result shows.
func (r *run) kept(q store.Querier, data any) []provenance.Origin {
	list, err := origins.Of(q, origins.Row, rowsOf(data)...)
	if err != nil {
		r.o.Log.Warn("origins cannot be read", "err", err)
	}
	return list
}

// changedTx notes what was in view when a call was made, for the call and for
// the rows that it made or changed.
func (r *run) changedTx(tx *store.Tx, s *step) error {
	list := s.inView
	if err := origins.KeepTx(tx, origins.Call, s.call.ID, list); err != nil {
		return err
	}
	if !s.ran || s.err != nil || s.tool == nil || s.tool.Spec().Effects.ReadOnly() {
		return nil
	}
	for _, id := range rowsOf(s.result.Data) {
		if err := origins.AddTx(tx, origins.Row, id, list); err != nil {
			return err
		}
	}
	return nil
}

// known are the origins of what a call returned before Hob was cut off.
func (r *run) known(ctx context.Context, call string) []provenance.Origin {
	list, err := origins.Of(r.o.Store.Reader(ctx), origins.Result, call)
	if err != nil {
		r.o.Log.Warn("origins cannot be read", "call", call, "err", err)
	}
	return list
}

// traceTx keeps from where the text came that was in view when a call was made,
// and that which it returned. A clean call costs nothing.
func (r *run) traceTx(tx *store.Tx, s *step) error {
	if r.tainted() {
		if err := r.changedTx(tx, s); err != nil {
			return err
		}
	}
	if list := r.brought(tx, s); s.settled() && len(list) > 0 {
		return origins.KeepTx(tx, origins.Result, s.call.ID, list)
	}
	return nil
}
