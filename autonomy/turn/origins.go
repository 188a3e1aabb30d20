package turn

import (
	"context"
	"encoding/json"

	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
)

// rowsOf lists the ids of Hob's rows of untrusted origin in a result's data. It searches for
// objects with an id and a provenance at any depth (see tools.Result.Data).
func rowsOf(data any) (ids []string) {
	if data == nil {
		return nil
	}
	b, err := json.Marshal(data)
	if err != nil {
		return nil
	}
	var v any
	if json.Unmarshal(b, &v) != nil {
		return nil
	}
	var walk func(v any)
	walk = func(v any) {
		switch x := v.(type) {
		case []any:
			for _, e := range x {
				walk(e)
			}
		case map[string]any:
			id, _ := x["id"].(string)
			src, known := x["provenance"].(string)
			if id != "" && known && provenance.Source(src).Tainted() {
				ids = append(ids, id)
			}
			for _, e := range x {
				walk(e)
			}
		}
	}
	walk(v)
	return ids
}

// resultOrigins returns the origins of the untrusted text in the call's own result.
func (w *stepRecorder) resultOrigins(q store.Querier, s *callStep) []provenance.Origin {
	if !s.hasOutcome() || !outcomeSource(s).Tainted() {
		return nil
	}
	name := s.call.Name
	if s.tool != nil {
		name = s.tool.Spec().Name
	}
	list := s.result.Origins
	if len(list) == 0 {
		list = w.rowOrigins(q, s.result.Data)
	}
	switch {
	case len(list) > 0:
	case len(s.inView) > 0: // the result may repeat text from the context
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
			o.Call, o.Event = s.call.ID, w.t.Event.ID
		}
		out = append(out, o)
	}
	return provenance.Join(out)
}

// rowOrigins returns the origins of the rows in a result.
func (w *stepRecorder) rowOrigins(q store.Querier, data any) []provenance.Origin {
	list, err := origins.Of(q, origins.Row, rowsOf(data)...)
	if err != nil {
		w.o.Log.Warn("cannot read origins", "err", err)
	}
	return list
}

// changedTx stores the origins of the untrusted text that was in context for a call. It stores them
// for the call and for the rows that the call created or changed.
func (w *stepRecorder) changedTx(tx *store.Tx, s *callStep) error {
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

// earlierCallOrigins returns the origins of the result of a call that ran before an interruption.
func (w *stepRecorder) earlierCallOrigins(ctx context.Context, call string) []provenance.Origin {
	list, err := origins.Of(w.o.Store.Reader(ctx), origins.Result, call)
	if err != nil {
		w.o.Log.Warn("cannot read origins", "call", call, "err", err)
	}
	return list
}

// traceTx stores the origins of the untrusted text in the context of a call and in its result. It
// writes nothing for a call without untrusted text.
func (w *stepRecorder) traceTx(tx *store.Tx, s *callStep) error {
	if w.conv.isTainted() {
		if err := w.changedTx(tx, s); err != nil {
			return err
		}
	}
	if list := w.resultOrigins(tx, s); s.hasOutcome() && len(list) > 0 {
		return origins.KeepTx(tx, origins.Result, s.call.ID, list)
	}
	return nil
}
