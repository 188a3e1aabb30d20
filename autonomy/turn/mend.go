package turn

import (
	"context"
	"errors"
	"fmt"

	"hob/autonomy/bus"
	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/tools"
)

// answerAbandonedCalls answers the open calls of abandoned turns: models reject a history with a call that has
// no result.
func (r *turnRun) answerAbandonedCalls(ctx context.Context, msgs []llm.Message) ([]llm.Message, error) {
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
		for _, c := range calls {
			p, err := r.lookUp(ctx, c)
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

// lookUp returns the result of a call from the ledger.
func (r *turnRun) lookUp(ctx context.Context, c llm.ToolCall) (llm.Part, error) {
	res := llm.ToolResult{ID: c.ID, Name: c.Name, Text: "cancelled: this turn was given up before the call ran", Error: true}
	e, err := r.o.Bus.Call(ctx, c.ID)
	if errors.Is(err, bus.ErrNotFound) {
		return llm.Part{Result: &res, Source: provenance.Hob}, nil
	}
	if err != nil {
		return llm.Part{}, err
	}
	switch e.State {
	case bus.CallDone:
		res.Text, res.Error = cutResult(e.Result, ""), false
	case bus.CallStarted:
		e.Source = provenance.Tool
		res.Text = fmt.Sprintf("error %s: this turn was given up while %s ran", tools.OutcomeUnknown, e.Tool)
	default:
		res.Text = fmt.Sprintf("error %s: %s", e.Code, e.Result)
	}
	return llm.Part{Result: &res, Source: e.Source, Origins: r.earlierCallOrigins(ctx, c.ID)}, nil
}
