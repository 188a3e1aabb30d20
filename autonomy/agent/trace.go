package agent

import (
	"context"

	"hob/knowledge/store"
	"hob/platform/origins"
	"hob/platform/provenance"
)

// origins returns the sources of the untrusted text in the context of the next call.
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

// said returns the origins of the messages to this turn.
func (r *run) said(src provenance.Source) []provenance.Origin {
	if !src.Tainted() {
		return nil
	}
	return r.t.Origins
}

// brought returns the origins of the untrusted text that a call itself returned.
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
	case len(s.inView) > 0: // it repeats text of the context
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

// kept returns the origins of the rows in a result.
func (r *run) kept(q store.Querier, data any) []provenance.Origin {
	list, err := origins.Of(q, origins.Row, rowsOf(data)...)
	if err != nil {
		r.o.Log.Warn("origins cannot be read", "err", err)
	}
	return list
}

// changedTx stores the origins in context at a call, for the call and for the rows that it
// created or changed.
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

// known returns the origins of a call's result from before an interruption.
func (r *run) known(ctx context.Context, call string) []provenance.Origin {
	list, err := origins.Of(r.o.Store.Reader(ctx), origins.Result, call)
	if err != nil {
		r.o.Log.Warn("origins cannot be read", "call", call, "err", err)
	}
	return list
}

// traceTx stores the origins in context at a call and those of its result. It writes nothing
// for a clean call.
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
