package autonomy

import (
	"context"
	"errors"
	"iter"

	"hob/autonomy/llm"
	"hob/autonomy/session"
)

// errRecording means that the replay needs more answers than were recorded.
var errRecording = errors.New("the recording has no further answer")

// recordedModel is a model that returns the recorded answers in order.
type recordedModel struct {
	info   llm.Info
	rec    []llm.Message
	next   int
	system string // of the last request
}

// recordedAnswers returns the answers in a turn up to the owner's first message into it: a replay cannot
// reproduce what followed.
func recordedAnswers(own []session.Row) (out []llm.Message) {
	for i, r := range own {
		if i > 0 && r.Message.Role == llm.User {
			break
		}
		if r.Message.Role == llm.Assistant {
			out = append(out, r.Message)
		}
	}
	return out
}

// comparableMessages returns the recorded messages after the question that are compared.
func (p *recordedModel) comparableMessages(own []session.Row) (out []llm.Message) {
	for _, r := range own[1:] {
		if r.Message.Role == llm.User {
			break
		}
		out = append(out, r.Message)
	}
	return out
}

// Info implements llm.Model.
func (p *recordedModel) Info() llm.Info { return p.info }

// Stream implements llm.Model.
func (p *recordedModel) Stream(_ context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		p.system = r.System
		if p.next >= len(p.rec) {
			yield(llm.Event{}, &llm.Error{Kind: llm.BadRequest, Provider: "replay", Message: errRecording.Error(), Err: errRecording})
			return
		}
		m := p.rec[p.next]
		p.next++
		for _, part := range m.Parts {
			if e, ok := partEvent(part); ok && !yield(e, nil) {
				return
			}
		}
		yield(llm.Event{Kind: llm.Done, Stop: llm.EndTurn}, nil)
	}
}

func partEvent(p llm.Part) (llm.Event, bool) {
	switch {
	case p.Call != nil:
		return llm.Event{Kind: llm.CallDone, Call: *p.Call, Signature: p.Signature}, true
	case p.Reasoning != nil:
		return llm.Event{Kind: llm.ReasoningDone, Reasoning: *p.Reasoning}, true
	case p.Image != nil:
		return llm.Event{Kind: llm.ImageDone, Image: *p.Image, Signature: p.Signature}, true
	case p.Text != "":
		return llm.Event{Kind: llm.TextDelta, Text: p.Text, Signature: p.Signature}, true
	}
	return llm.Event{}, false
}
