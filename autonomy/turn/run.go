package turn

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/llm"
	"hob/autonomy/turn/prompt"
	"hob/platform/provenance"
	"hob/platform/store"
)

// turnRun is one turn in progress.
type turnRun struct {
	*Runner
	t       Turn
	model   llm.Model
	system  string
	msgs    []llm.Message // the complete request
	stored  int           // how many of this turn's messages are stored
	own     int           // index in msgs where this turn begins
	steps   []*callStep   // the calls of the last answer, while they are worked on
	pending []func(*store.Tx) error
	ledger  map[string]bus.Entry
	chain   []middleware
	limits  loopDetector
	usage   llm.Usage
	spent   int // output tokens, estimated if the model does not count them
	round   int
	lent    int // rounds of delegated tasks
	partial string
	retried bool
	words   []string             // the owner's messages while the turn ran
	checked bool                 // the model got the hint about a claim without a call
	gone    map[string]priorCall // calls of this turn that have come to their end
	did     []effectfulCall      // successful actions of this turn since it was resumed
	by      string               // the model that answered last, if there are several
	begun   map[string]string    // ids of the calls that are being streamed
	// strange: an external agent is running, and has read text that Hob has not seen.
	strange atomic.Bool
	before  []llm.Action // the external agent's actions in this turn before Hob was interrupted
}

func (r *turnRun) loadHistory(ctx context.Context) error {
	before, recorded, err := r.o.Sessions.History(ctx, r.t.Event.Session, r.t.Event.ID)
	if err != nil {
		return err
	}
	if before, err = r.answerAbandonedCalls(ctx, before); err != nil {
		return err
	}
	r.own = len(before)
	r.stored = len(recorded)
	r.msgs = append(append(make([]llm.Message, 0, len(before)+len(recorded)+8), before...), recorded...)
	r.ledger = map[string]bus.Entry{}
	added, err := r.beginPrompt(ctx, before, recorded)
	if err != nil {
		return err
	}
	if len(recorded) == 0 {
		r.msgs = append(r.msgs, r.currentMessage(ctx, added))
	}
	if r.t.Event.Attempts <= 1 && r.t.Event.Crashes == 0 && len(recorded) == 0 {
		return nil // the first try: nothing can have run
	}
	entries, err := r.o.Bus.Calls(ctx, r.t.Event.ID)
	if err != nil {
		return err
	}
	for _, e := range entries {
		r.ledger[e.Call] = e
	}
	r.restoreLimits(ctx, recorded)
	return r.settleLeftovers(ctx)
}

// restoreLimits brings the limits to where they were before the turn was cut off.
func (r *turnRun) restoreLimits(ctx context.Context, recorded []llm.Message) {
	for i, m := range recorded {
		r.checked = r.checked || isClaimHint(m)
		if m.Role != llm.Assistant {
			continue
		}
		r.round++
		r.spent += estimateTokens(m.Parts)
		if i == len(recorded)-1 {
			return // its calls are still to be counted
		}
		for _, s := range r.resolveAll(ctx, callsOf(m), false) {
			r.limits.countCall(s.toolAndArgs())
			r.recountLent(s)
		}
	}
}

// beginPrompt finds the system block of the conversation and the context of the
// current message. A call that the owner makes himself asks no model.
func (r *turnRun) beginPrompt(ctx context.Context, before, recorded []llm.Message) ([]llm.Part, error) {
	if r.t.Call != nil {
		return nil, nil
	}
	info, _, err := r.o.Sessions.Get(ctx, r.t.Event.Session)
	if err != nil {
		return nil, err
	}
	begun, err := r.o.Prompt.Begin(ctx, prompt.TurnContext{
		Session: r.t.Event.Session, Event: r.t.Event.ID, Before: before, Recorded: recorded, Text: r.t.Text, Source: r.t.Source,
		Attended: r.t.Attended, Guest: r.t.Guest, Realm: r.o.Realm, Now: time.Now().In(r.o.Zone()), Told: r.t.Told, Turns: info.Turns, OwnerWords: r.ownerWords(),
	})
	if err != nil {
		return nil, err
	}
	r.system = begun.System
	if begun.RecordTx != nil {
		r.pending = append(r.pending, func(tx *store.Tx) error { return begun.RecordTx(tx, r.msgs[0]) })
	}
	return begun.Context, nil
}

// currentMessage returns the current message: context first, then untrusted text, then the words to
// answer.
func (r *turnRun) currentMessage(ctx context.Context, added []llm.Part) llm.Message {
	m := llm.Message{Role: llm.User, Parts: added}
	for i := range m.Parts {
		if m.Parts[i].Source.Tainted() {
			r.ingestUntrusted(ctx, &m.Parts[i], "")
		}
	}
	for i, o := range r.t.Outside {
		p := llm.Part{Text: r.o.Redact.Text(o), Source: provenance.Outside, Origins: r.t.Origins}
		if i < len(r.t.OutsideFrom) {
			p.Origins = []provenance.Origin{r.t.OutsideFrom[i]}
		}
		r.ingestUntrusted(ctx, &p, "")
		m.Parts = append(m.Parts, p)
	}
	seen := r.t.Source
	if len(r.t.Outside) > 0 { // a picture in a mail that is passed on is not the owner's
		seen = provenance.Outside
	}
	for i := range r.t.Images {
		m.Parts = append(m.Parts, llm.Part{Image: &r.t.Images[i], Source: seen, Origins: r.messageOrigins(seen)})
	}
	if r.t.Text == "" && len(r.t.Outside) > 0 { // only untrusted text: these are Hob's words, not the owner's
		m.Parts = append(m.Parts, llm.Part{Text: renderText("unasked", nil), Source: provenance.Hob, Context: true})
	} else if r.t.Text != "" || len(r.t.Images) == 0 {
		p := llm.Part{Text: r.redactSecrets(r.t.Text, r.t.Source), Source: r.t.Source, Origins: r.messageOrigins(r.t.Source)}
		if p.Source.Tainted() { // it is the message to answer, so it has no fence
			if marks := r.scanMarks(ctx, p.Text); len(marks) > 0 {
				p.Origins = withMarks(p.Origins, marks)
				r.auditMarks(&p, "", marks)
			}
		}
		m.Parts = append(m.Parts, p)
	}
	return m
}

func (r *turnRun) runLoop(ctx context.Context) (Outcome, error) {
	for {
		if last := r.msgs[len(r.msgs)-1]; last.Role == llm.Assistant {
			calls := callsOf(last)
			if len(calls) == 0 {
				if out, done := r.concludeTurn(ctx, textOf(last)); done {
					return out, nil
				}
				continue
			}
			suspended, err := r.runCalls(ctx, calls)
			if err != nil {
				return r.outcomeOfError(ctx, err)
			}
			if suspended {
				return Outcome{Suspended: true}, nil
			}
		}
		if err := r.receiveSteering(ctx); err != nil {
			return r.outcomeOfError(ctx, err)
		}
		resp, err := r.callModel(ctx)
		if err != nil {
			return r.outcomeOfError(ctx, err)
		}
		if len(resp.Calls()) == 0 && strings.TrimSpace(resp.Text()) == "" {
			if !r.retried && !r.limits.final {
				r.retried = true
				continue
			}
			resp.Parts = []llm.Part{{Text: r.limits.diagnoseStop()}}
		}
		if resp.Stop == llm.MaxTokens && len(resp.Calls()) == 0 {
			resp.Parts = append(resp.Parts, llm.Part{Text: "\n" + renderText("cut", nil)})
			r.streamFurtherText("\n" + renderText("cut", nil))
		}
		r.appendAnswer(resp.Parts)
	}
}

// runSingleCall runs the one call of a turn without a model.
func (r *turnRun) runSingleCall(ctx context.Context) (Outcome, error) {
	if last := r.msgs[len(r.msgs)-1]; last.Role == llm.User {
		parts := []llm.Part{{Call: r.t.Call}}
		r.assignCallIDs(parts)
		r.appendAnswer(parts)
	}
	suspended, err := r.runCalls(ctx, callsOf(r.msgs[len(r.msgs)-1]))
	if err != nil {
		return r.outcomeOfError(ctx, err)
	}
	if suspended {
		return Outcome{Suspended: true}, nil
	}
	return r.buildOutcome(r.msgs[len(r.msgs)-1].Parts[0].Result.Text), nil
}

// saveSteps makes the steps so far durable, unless they are.
func (r *turnRun) saveSteps(ctx context.Context) error {
	if len(r.unstoredMessages()) == 0 && len(r.pending) == 0 {
		return nil
	}
	err := r.writeWithSteps(context.WithoutCancel(ctx), func(*store.Tx) error { return nil })
	if err != nil {
		return fmt.Errorf("turn: record step: %w", err)
	}
	return nil
}

// writeWithSteps makes the steps so far durable in the transaction of the next action, so that the
// model's answer shares one commit with the start of its first call. If there is nothing left
// to record, it may be called concurrently.
func (r *turnRun) writeWithSteps(ctx context.Context, next func(*store.Tx) error) error {
	fresh, pending := r.unstoredMessages(), r.pending
	if len(fresh) == 0 && len(pending) == 0 {
		return r.o.Store.Write(ctx, next)
	}
	err := r.o.Store.Write(ctx, func(tx *store.Tx) error {
		if err := joinWrites(pending)(tx); err != nil {
			return err
		}
		if r.o.Book != nil {
			if err := r.o.Book(tx); err != nil {
				return err
			}
		}
		if err := r.o.Sessions.AppendTx(tx, r.t.Event.Session, r.t.Event.ID, fresh); err != nil {
			return err
		}
		return next(tx)
	})
	if err == nil {
		r.stored += len(fresh)
		r.pending = nil
	}
	return err
}

func (r *turnRun) unstoredMessages() []llm.Message { return r.msgs[r.own+r.stored:] }

// joinWrites combines several writes into one function.
func joinWrites(todo []func(*store.Tx) error) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		for _, f := range todo {
			if err := f(tx); err != nil {
				return err
			}
		}
		return nil
	}
}
