package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/llm"
	"hob/autonomy/turn/results"
	"hob/platform/provenance"
	"hob/tools"
)

// continuedHint follows the first results of a turn if other turns ran while the turn was waiting.
const continuedHint = "\n[hint] The user answered this request later. The messages before it are newer."

// appendResults passes the results of the calls back through the middleware chain and adds them to
// the conversation.
func (tc *toolCalls) appendResults(ctx context.Context) {
	m := llm.Message{Role: llm.ToolRole}
	for i, s := range tc.hist.steps {
		tc.chain.afterTool(ctx, s)
		if tc.conv.continued && i == len(tc.hist.steps)-1 {
			s.text += continuedHint
			tc.conv.continued = false
		}
		res := llm.ToolResult{ID: s.call.ID, Name: s.call.Name, Text: s.text, Error: s.err != nil}
		p := llm.Part{Result: &res, Source: tc.rec.resultSource(s), Origins: tc.rec.resultOrigins(tc.o.Store.Reader(ctx), s)}
		if from := addedOrigins(s); from != nil {
			p.Source, p.Origins = provenance.Outside, provenance.Join(p.Origins, from)
		}
		if len(p.Origins) > 0 {
			p.Fenced = s.body
			tc.in.ingestUntrusted(ctx, &p, s.call.ID)
			s.result.Origins = p.Origins // origins with the marks, for the ledger row
		}
		m.Parts = append(m.Parts, p)
	}
	tc.conv.appendMessage(m)
	tc.hist.steps = nil
}

// answerAbandonedCalls adds results for the open calls of turns that were abandoned or are waiting
// for the owner, because models reject a history that contains a call without a result.
func (w *stepRecorder) answerAbandonedCalls(ctx context.Context, msgs []llm.Message) ([]llm.Message, error) {
	var out []llm.Message
	for i, m := range msgs {
		if out != nil {
			out = append(out, m)
		}
		calls := callsOf(m)
		if len(calls) == 0 || (i+1 < len(msgs) && msgs[i+1].Role == llm.ToolRole) {
			continue
		}
		if out == nil {
			out = append(out, msgs[:i+1]...)
		}
		answer := llm.Message{Role: llm.ToolRole}
		ids := make([]string, len(calls))
		for i, c := range calls {
			ids[i] = c.ID
		}
		open, err := w.o.Guard.IsAnyPending(ctx, ids...)
		if err != nil {
			return nil, err
		}
		for _, c := range calls {
			p, err := w.findResult(ctx, c, open)
			if err != nil {
				return nil, err
			}
			answer.Parts = append(answer.Parts, p)
		}
		out = append(out, answer)
	}
	if out == nil {
		return msgs, nil
	}
	return out, nil
}

// findResult returns the result of a call from the ledger. waits reports whether the call's turn is
// waiting for the owner and will continue.
func (w *stepRecorder) findResult(ctx context.Context, c llm.ToolCall, waits bool) (llm.Part, error) {
	res := llm.ToolResult{ID: c.ID, Name: c.Name, Text: "canceled: this turn was abandoned before the call ran", Error: true}
	if waits {
		res.Text = llm.WaitingResult + "this call has not run yet; it will run when the user approves the open request. Do not repeat it"
	}
	e, err := w.o.Bus.Ledger.Call(ctx, c.ID)
	if errors.Is(err, bus.ErrNotFound) {
		return llm.Part{Result: &res, Source: provenance.Hob}, nil
	}
	if err != nil {
		return llm.Part{}, err
	}
	switch e.State {
	case bus.CallDone:
		res.Text, res.Error = results.Shorten(e.Result, ""), false
	case bus.CallStarted:
		e.Source = provenance.Tool
		res.Text = fmt.Sprintf("error %s: this turn was abandoned while %s was running", tools.OutcomeUnknown, e.Tool)
	default:
		res.Text = fmt.Sprintf("error %s: %s", e.Code, e.Result)
	}
	return llm.Part{Result: &res, Source: e.Source, Origins: w.earlierCallOrigins(ctx, c.ID)}, nil
}

// auditMiddleware returns the innermost middleware. Rows of calls not recorded while they ran (reads,
// refusals) are written with the next transaction.
func (tc *toolCalls) auditMiddleware() middleware {
	return middleware{name: "audit", afterTool: func(_ context.Context, s *callStep) {
		tc.hist.recordEffect(s)
		tc.hist.rememberCall(s)
		tc.rec.recordLate(s)
	}}
}

// truncationMiddleware returns the middleware that limits how much of a result the model reads.
func (tc *toolCalls) truncationMiddleware() middleware {
	return middleware{name: "truncate", afterTool: func(ctx context.Context, s *callStep) {
		if s.err != nil {
			s.text = fmt.Sprintf("error %s: %s", tools.CodeOf(s.err), tc.shortenResult(ctx, s, tc.o.Redact.Text(s.err.Error())))
		} else {
			s.text = tc.shortenResult(ctx, s, s.result.Text)
		}
		s.text = strings.ToValidUTF8(s.text, "\uFFFD")
		s.body = len(s.text)
	}}
}

// shortenResult shortens a long result. If a result store is configured, it stores the full result.
func (tc *toolCalls) shortenResult(ctx context.Context, s *callStep, text string) string {
	if len(text) <= results.MaxBytes || tc.o.Results == nil {
		return results.Shorten(text, "")
	}
	if _, ok := tc.o.Catalog.Get("read_result"); !ok { // the agent has no tool to read the rest
		return results.Shorten(text, "")
	}
	if err := tc.o.Results.Put(s.call.ID, text); err != nil {
		tc.o.Log.WarnContext(ctx, "cannot store a long result", "call", s.call.ID, "err", err)
		return results.Shorten(text, "")
	}
	return results.Shorten(text, s.call.ID)
}
