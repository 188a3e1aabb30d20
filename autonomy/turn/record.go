package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

func (r *turnRun) ledgerEntry(s *callStep) bus.Entry {
	return bus.Entry{
		Call: s.call.ID, Event: r.t.Event.ID, Session: r.t.Event.Session, Tool: s.tool.Spec().Name, Args: s.args,
		Effects: s.tool.Spec().Effects.String(), Decision: decisionOf(s), StartedAt: time.Now(),
	}
}

// finishedEntry returns the ledger row of a call that ended.
func (r *turnRun) finishedEntry(s *callStep) bus.Entry {
	e := r.ledgerEntry(s)
	e.FinishedAt = time.Now()
	if s.err != nil {
		e.State, e.Code, e.Result, e.Source = bus.CallFailed, string(tools.CodeOf(s.err)), s.err.Error(), r.resultSource(s)
		if s.dec.Verdict == guard.Deny {
			e.State = bus.CallDenied
		}
		return e
	}
	e.State, e.Result, e.Source, e.Links = bus.CallDone, s.result.Text, r.resultSource(s), openableAddresses(s)
	if s.result.Data != nil {
		e.Data, _ = json.Marshal(s.result.Data) // shown only; the text is the result
	}
	if u := s.result.Undo; u != nil {
		e.UndoLabel, e.Undo = u.Label, u.Data
	}
	return e
}

// resultSource returns the provenance that a call adds to the conversation. An action made with
// untrusted text in context may repeat that text, and so may the text of its later undo.
func (r *turnRun) resultSource(s *callStep) provenance.Source {
	if r.isTainted() {
		return provenance.Outside
	}
	return outcomeSource(s)
}

// outcomeSource returns the provenance of a call's own result or error. Without one it is
// untrusted.
func outcomeSource(s *callStep) provenance.Source {
	src := s.result.Source
	if s.err != nil {
		src = provenance.Worst(tools.SourceOf(s.err), cmp.Or(src, provenance.Tool)) // after an error there is often no result
	}
	return provenance.Worst(src)
}

func outcomeOf(s *callStep) string {
	if s.err != nil {
		return string(tools.CodeOf(s.err))
	}
	return "done"
}

func (r *turnRun) auditTx(tx *store.Tx, s *callStep, outcome string) error {
	rec := guard.Record{
		Actor: "hob", Action: "call", Event: r.t.Event.ID, Session: r.t.Event.Session, Origin: r.t.Origin, Call: s.call.ID,
		Tool: "(none)", Verdict: s.dec.Verdict.String(), Rule: s.dec.Rule, Tainted: r.isTainted(), Outcome: outcome, Args: s.args,
	}
	if s.tool != nil { // a name invented by the model is a text, and the log contains no texts
		rec.Tool, rec.Effects = s.tool.Spec().Name, cmp.Or(s.dec.Judgement.Effects, s.tool.Spec().Effects).String() // of this very call
	}
	if rec.Tainted {
		rec.Origins = r.contextOrigins()
	}
	if err := r.traceTx(tx, s); err != nil {
		return err
	}
	return r.o.Guard.AuditTx(tx, rec)
}

// appendResults passes the results of the calls back along the chain and adds them to the
// conversation.
func (r *turnRun) appendResults(ctx context.Context) {
	m := llm.Message{Role: llm.ToolRole}
	for _, s := range r.steps {
		r.afterTool(ctx, s)
		res := llm.ToolResult{ID: s.call.ID, Name: s.call.Name, Text: s.text, Error: s.err != nil}
		p := llm.Part{Result: &res, Source: r.resultSource(s), Origins: r.resultOrigins(r.o.Store.Reader(ctx), s)}
		if len(p.Origins) > 0 {
			p.Fenced = s.body
			r.ingestUntrusted(ctx, &p, s.call.ID)
			s.result.Origins = p.Origins // with the marks, for the ledger's row
		}
		m.Parts = append(m.Parts, p)
	}
	r.msgs = append(r.msgs, m)
	r.steps = nil
}

// auditMiddleware returns the innermost middleware. Rows of calls not recorded while they ran (reads,
// refusals) are written with the next transaction.
func (r *turnRun) auditMiddleware() middleware {
	return middleware{name: "audit", afterTool: func(_ context.Context, s *callStep) {
		r.recordEffect(s)
		r.rememberCall(s)
		r.recordLate(s)
	}}
}

// recordLate queues the ledger row of a call that has none yet.
func (r *turnRun) recordLate(s *callStep) {
	if e, known := r.ledger[s.call.ID]; known && !isAwaitingCall(e, s) {
		return
	}
	if s.ran && s.tool != nil {
		own := s.tool.Spec().Own
		if own && s.err == nil || !own && !s.tool.Spec().Effects.ReadOnly() {
			return // perform recorded it
		}
	}
	late := *s
	if late.tool == nil {
		late.tool = missingTool{name: s.call.Name}
	}
	e := r.finishedEntry(&late)
	r.pending = append(r.pending, func(tx *store.Tx) error {
		if err := r.o.Bus.RecordTx(tx, e); err != nil {
			return err
		}
		return r.auditTx(tx, s, outcomeOf(s))
	})
}

// feedMiddleware publishes a call's outcome to the live feed.
func (r *turnRun) feedMiddleware() middleware {
	return middleware{name: "feed", afterTool: func(_ context.Context, s *callStep) { r.feedResult(s) }}
}

func (r *turnRun) feedResult(s *callStep) {
	d := map[string]any{"id": s.call.ID, "name": s.call.Name, "ok": s.err == nil, "text": s.text}
	if s.tool != nil {
		d["name"] = s.tool.Spec().Name
	}
	if s.err != nil {
		d["text"], d["code"] = cutResult(s.err.Error(), ""), tools.CodeOf(s.err)
	}
	r.publishLive("tool_result", d)
}
