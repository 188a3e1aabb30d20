package llmtest

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"hob/autonomy/llm"
	"hob/platform/retry"
)

// Scripted is an in-process llm.Model that answers from a script. Calls pass through llm.NewCall,
// as in drivers, so that malformed arguments become Truncated. It supports the faults that cut a
// stream, CutArgs, SameIDs and NoUsage. Status becomes the error that a driver would return.
type Scripted struct {
	script *script
	info   llm.Info
	ids    atomic.Int64

	mu       sync.Mutex
	asked    []llm.Request
	requests []Request
}

// NewScripted creates a model that answers from a script. It panics if a Match is not a valid
// regular expression. It uses the options Reply, Otherwise and Info.
func NewScripted(o Options, answers ...Answer) *Scripted {
	s, err := newScript(o, answers)
	if err != nil {
		panic(err)
	}
	info := o.Info
	if info == (llm.Info{}) {
		info = llm.Info{Provider: "scripted", Model: "scripted", Context: 200_000, Tools: true, Vision: true}
	}
	return &Scripted{script: s, info: info}
}

// Info implements llm.Model.
func (s *Scripted) Info() llm.Info { return s.info }

// Add appends answers to the script.
func (s *Scripted) Add(answers ...Answer) {
	if err := s.script.addAnswers(answers); err != nil {
		panic(err)
	}
}

// Requests lists the calls so far in the form recorded by a Server.
func (s *Scripted) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Asked lists the original requests so far.
func (s *Scripted) Asked() []llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]llm.Request(nil), s.asked...)
}

// Unused lists the answers that have uses left, except unlimited ones.
func (s *Scripted) Unused() []Answer { return s.script.unusedAnswers() }

// Stream implements llm.Model.
func (s *Scripted) Stream(ctx context.Context, lr llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		r := s.recordCall(lr)
		a, ok := s.script.nextAnswer(r)
		if !ok {
			yield(llm.Event{}, s.newError(llm.BadRequest, "the script has no answer to %q", r.LastUser))
			return
		}
		visible := false
		err := s.playAnswer(ctx, &a, len(r.System), func(e llm.Event) bool {
			visible = visible || e.Kind == llm.TextDelta
			return yield(e, nil)
		})
		if err != nil {
			err.Visible = visible
			yield(llm.Event{}, err)
		}
	}
}

func (s *Scripted) recordCall(lr llm.Request) Request {
	r := Request{
		At: time.Now(), Model: s.info.Model, System: lr.System, Messages: lr.Messages,
		Tools: lr.Tools, NoTools: lr.NoTools, Stream: true, MaxTokens: lr.MaxTokens,
	}
	r.deriveFields()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, lr)
	s.requests = append(s.requests, r)
	return r
}

func (s *Scripted) newError(k llm.ErrorKind, format string, args ...any) *llm.Error {
	return llm.Endpoint{Provider: s.info.Provider}.Errorf(k, format, args...)
}

// playAnswer yields the events of an answer. It also returns nil if the consumer stopped.
func (s *Scripted) playAnswer(ctx context.Context, a *Answer, size int, yield func(llm.Event) bool) *llm.Error {
	if err := s.waitDelay(ctx, a.Delay); err != nil {
		return err
	}
	if a.Status != 0 {
		h := http.Header{}
		a.writeHeader(h)
		return llm.Endpoint{Provider: s.info.Provider}.StatusError(a.Status, h, "", a.Body)
	}
	deltas := 0
	for _, e := range s.answerEvents(a, size) {
		if e.delta {
			if deltas > 0 {
				if err := s.waitDelay(ctx, a.Gap); err != nil {
					return err
				}
			}
			if a.Fault.isCut() && deltas == a.After {
				return s.applyFault(ctx, a)
			}
			deltas++
		}
		if e.Kind == llm.Done && a.Fault.isCut() {
			return s.applyFault(ctx, a)
		}
		if ctx.Err() != nil {
			return s.newError(llm.Interrupted, "stopped: %w", context.Cause(ctx))
		}
		if !yield(e.Event) {
			return nil
		}
	}
	return nil
}

func (s *Scripted) applyFault(ctx context.Context, a *Answer) *llm.Error {
	switch a.Fault {
	case Stall, Pings:
		<-ctx.Done()
		return s.newError(llm.Interrupted, "stopped: %w", context.Cause(ctx))
	case Garbage, HalfJSON:
		return s.newError(llm.Garbled, "the stream is not JSON")
	case StreamError:
		return s.newError(llm.Unavailable, "%s", "overloaded")
	}
	return s.newError(llm.Network, "the connection broke")
}

func (s *Scripted) waitDelay(ctx context.Context, d time.Duration) *llm.Error {
	if retry.Sleep(ctx, d) != nil {
		return s.newError(llm.Interrupted, "stopped: %w", context.Cause(ctx))
	}
	return nil
}

type scriptedEvent struct {
	llm.Event
	delta bool
}

func (s *Scripted) answerEvents(a *Answer, size int) []scriptedEvent {
	var out []scriptedEvent
	add := func(delta bool, e llm.Event) { out = append(out, scriptedEvent{e, delta}) }
	for _, p := range splitRunes(a.Reasoning, a.pieceCount()) {
		add(true, llm.Event{Kind: llm.ReasoningDelta, Text: p})
	}
	if a.Reasoning != "" {
		add(false, llm.Event{Kind: llm.ReasoningDone, Reasoning: llm.Reasoning{Text: a.Reasoning, Signature: a.Signature}})
	}
	for _, p := range splitRunes(a.Text, a.pieceCount()) {
		add(true, llm.Event{Kind: llm.TextDelta, Text: p})
	}
	for _, i := range a.Images {
		add(true, llm.Event{Kind: llm.ImageDone, Image: i})
	}
	stop := llm.EndTurn
	calls := a.wireCalls(func() string { return fmt.Sprintf("call_%d", s.ids.Add(1)) })
	for i, c := range calls {
		stop = llm.ToolUse
		add(false, llm.Event{Kind: llm.CallStart, Call: llm.ToolCall{ID: c.ID, Name: c.Name}})
		for _, p := range splitRunes(c.Args, a.pieceCount()) {
			add(true, llm.Event{Kind: llm.CallDelta, Call: llm.ToolCall{ID: c.ID}, Text: p})
		}
		cut := i == len(calls)-1 && (a.Fault == CutArgs || a.Stop == "length")
		add(false, llm.Event{Kind: llm.CallDone, Call: llm.NewCall(c.ID, c.Name, c.Args, cut)})
	}
	if a.Fault == CutArgs {
		stop = llm.MaxTokens
	}
	switch a.Stop {
	case "length":
		stop = llm.MaxTokens
	case "refusal":
		stop = llm.Refused
	}
	add(false, llm.Event{Kind: llm.Done, Stop: stop, Usage: a.usageFor(size)})
	return out
}
