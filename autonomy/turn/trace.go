package turn

import (
	"context"

	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
)

// contextOrigins returns the sources of the untrusted text in the context of the next call.
func (r *turnRun) contextOrigins() []provenance.Origin {
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

// messageOrigins returns the origins of the messages to this turn.
func (r *turnRun) messageOrigins(src provenance.Source) []provenance.Origin {
	if !src.Tainted() {
		return nil
	}
	return r.t.Origins
}

// resultOrigins returns the origins of the untrusted text that a call itself returned.
func (r *turnRun) resultOrigins(q store.Querier, s *callStep) []provenance.Origin {
	if !s.hasOutcome() || !outcomeSource(s).Tainted() {
		return nil
	}
	name := s.call.Name
	if s.tool != nil {
		name = s.tool.Spec().Name
	}
	list := s.result.Origins
	if len(list) == 0 {
		list = r.rowOrigins(q, s.result.Data)
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

// rowOrigins returns the origins of the rows in a result.
func (r *turnRun) rowOrigins(q store.Querier, data any) []provenance.Origin {
	list, err := origins.Of(q, origins.Row, rowsOf(data)...)
	if err != nil {
		r.o.Log.Warn("origins cannot be read", "err", err)
	}
	return list
}

// changedTx stores the origins in context at a call, for the call and for the rows that it
// created or changed.
func (r *turnRun) changedTx(tx *store.Tx, s *callStep) error {
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

// earlierCallOrigins returns the origins of a call's result from before an interruption.
func (r *turnRun) earlierCallOrigins(ctx context.Context, call string) []provenance.Origin {
	list, err := origins.Of(r.o.Store.Reader(ctx), origins.Result, call)
	if err != nil {
		r.o.Log.Warn("origins cannot be read", "call", call, "err", err)
	}
	return list
}

// traceTx stores the origins in context at a call and those of its result. It writes nothing
// for a clean call.
func (r *turnRun) traceTx(tx *store.Tx, s *callStep) error {
	if r.isTainted() {
		if err := r.changedTx(tx, s); err != nil {
			return err
		}
	}
	if list := r.resultOrigins(tx, s); s.hasOutcome() && len(list) > 0 {
		return origins.KeepTx(tx, origins.Result, s.call.ID, list)
	}
	return nil
}
