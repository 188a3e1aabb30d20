package turn

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"strings"
	"sync"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/minitmpl"
	"hob/tools"
)

//go:embed text/words.tmpl
var wordsText string

var words = sync.OnceValue(func() *minitmpl.Template {
	return minitmpl.Must(minitmpl.Parse(wordsText, minitmpl.Funcs{
		"text": func(a guard.Approval) string { return a.API().Text() }, "sentence": func(a guard.Approval) string { return a.API().Sentence() },
		"consequence": func(a guard.Approval) string { return a.API().Consequence() }, "cause": func(a guard.Approval) string { return a.API().Cause() },
		"details": func(a guard.Approval) []api.Detail { return a.API().Details() }, "effects": effectsOfCall,
		"length": guard.Approval.DetailsLength, "long": func(a guard.Approval) bool { return guard.TooLong([]guard.Approval{a}) },
	}))
})

// effectsOfCall returns the explanation of a request that is too long for a chat, without the text
// that makes it long.
func effectsOfCall(a guard.Approval) string {
	q := a.API()
	q.Why = ""
	return q.Explanation()
}

// renderText fills in one of the engine's text templates.
func renderText(name string, data any) string {
	var b strings.Builder
	if err := words().ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // the templates are embedded
	}
	return b.String()
}

// turnRun is one turn in progress: it owns the parts of the turn and drives them.
type turnRun struct {
	o       *Options
	t       *Turn
	conv    *conversation
	rec     *stepRecorder
	hist    *callHistory
	budget  *turnBudget
	feed    *liveFeed
	chain   *hookChain
	in      *contextBuilder
	policy  *policyCheck
	exec    *toolExecutor
	calls   *toolCalls
	model   *modelExchange
	claims  *claimChecker
	agent   *externalAgent
	retried bool // the model was asked again after an empty answer
}

func newTurnRun(runner *Runner, t *Turn) *turnRun {
	o := &runner.o
	conv := &conversation{o: o, t: t}
	rec := &stepRecorder{o: o, t: t, conv: conv, ledger: map[string]bus.Entry{}}
	hist := &callHistory{o: o, t: t, conv: conv, rec: rec, ended: map[string]priorCall{}}
	budget := &turnBudget{o: o, t: t, hist: hist, rec: rec, loops: newCounter(o.Limits)}
	feed := &liveFeed{o: o, t: t}
	chain := &hookChain{o: o, t: t, conv: conv}
	in := &contextBuilder{o: o, t: t, conv: conv, rec: rec}
	policy := &policyCheck{o: o, t: t, conv: conv, rec: rec, hist: hist}
	exec := &toolExecutor{o: o, t: t, conv: conv, rec: rec, hist: hist, budget: budget, feed: feed}
	calls := &toolCalls{o: o, t: t, conv: conv, rec: rec, hist: hist, policy: policy, chain: chain, exec: exec, in: in}
	agent := &externalAgent{o: o, t: t, conv: conv, rec: rec, hist: hist, policy: policy, chain: chain, feed: feed, exec: exec, offered: runner.offered}
	model := &modelExchange{o: o, t: t, runner: runner, conv: conv, rec: rec, budget: budget, chain: chain, feed: feed, agent: agent}
	claims := &claimChecker{o: o, t: t, conv: conv, hist: hist, budget: budget, model: model, feed: feed}
	return &turnRun{
		o: o, t: t, conv: conv, rec: rec, hist: hist, budget: budget, feed: feed, chain: chain, in: in, policy: policy,
		exec: exec, calls: calls, model: model, claims: claims,
		agent: agent,
	}
}

func (r *turnRun) loadHistory(ctx context.Context) error {
	before, recorded, err := r.o.Sessions.History(ctx, r.t.Event.Session, r.t.Event.ID)
	if err != nil {
		return err
	}
	if before, err = r.rec.answerAbandonedCalls(ctx, before); err != nil {
		return err
	}
	r.conv.loadMessages(before, recorded)
	added, err := r.in.beginPrompt(ctx, before, recorded)
	if err != nil {
		return err
	}
	if len(recorded) == 0 {
		refused := r.in.runTurnPrograms(ctx)
		r.conv.appendMessage(r.in.currentMessage(ctx, added))
		if refused != nil {
			return refused
		}
	}
	if r.t.Event.Attempts <= 1 && r.t.Event.Crashes == 0 && len(recorded) == 0 {
		return nil // the first attempt: no call has run yet
	}
	if r.conv.continued, err = r.o.Sessions.HasContinued(ctx, r.t.Event.Session, r.t.Event.ID); err != nil {
		return err
	}
	entries, err := r.o.Bus.Ledger.Calls(ctx, r.t.Event.ID)
	if err != nil {
		return err
	}
	for _, e := range entries {
		r.rec.ledger[e.Call] = e
	}
	r.restoreLimits(ctx, recorded)
	return r.agent.settleLeftovers(ctx)
}

// restoreLimits restores the counters of the limits after an interruption of the turn.
func (r *turnRun) restoreLimits(ctx context.Context, recorded []llm.Message) {
	for i, m := range recorded {
		r.claims.checked = r.claims.checked || isClaimHint(m)
		if m.Role != llm.Assistant {
			continue
		}
		r.budget.round++
		r.budget.spent += estimateTokens(m.Parts)
		if i == len(recorded)-1 {
			return // the calls of the last answer are counted when they are processed
		}
		for _, s := range r.calls.resolveAll(ctx, callsOf(m), false) {
			r.budget.loops.countCall(s.toolAndArgs())
			r.budget.recountLent(s)
		}
	}
}

func (r *turnRun) runLoop(ctx context.Context) (Outcome, error) {
	for {
		if last := r.conv.lastMessage(); last.Role == llm.Assistant {
			calls := callsOf(last)
			if len(calls) == 0 {
				if answer, done := r.claims.concludeAnswer(ctx, textOf(last)); done {
					return r.buildOutcome(answer), nil
				}
				continue
			}
			suspended, err := r.calls.runCalls(ctx, calls)
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
		resp, err := r.model.callModel(ctx)
		if err != nil {
			return r.outcomeOfError(ctx, err)
		}
		if len(resp.Calls()) == 0 && strings.TrimSpace(resp.Text()) == "" {
			if !r.retried && !r.budget.loops.final {
				r.retried = true
				continue
			}
			resp.Parts = []llm.Part{{Text: r.budget.loops.diagnoseStop()}}
		}
		if resp.Stop == llm.MaxTokens && len(resp.Calls()) == 0 {
			resp.Parts = append(resp.Parts, llm.Part{Text: "\n" + renderText("cut", nil)})
			r.feed.streamFurtherText("\n" + renderText("cut", nil))
		}
		r.conv.appendAnswer(resp.Parts)
	}
}

// runSingleCall runs the one call of a turn without a model.
func (r *turnRun) runSingleCall(ctx context.Context) (Outcome, error) {
	if last := r.conv.lastMessage(); last.Role == llm.User {
		parts := []llm.Part{{Call: r.t.Call}}
		r.conv.assignCallIDs(parts)
		r.conv.appendAnswer(parts)
	}
	suspended, err := r.calls.runCalls(ctx, callsOf(r.conv.lastMessage()))
	if err != nil {
		return r.outcomeOfError(ctx, err)
	}
	if suspended {
		return Outcome{Suspended: true}, nil
	}
	return r.buildOutcome(r.conv.lastMessage().Parts[0].Result.Text), nil
}

// SteerMessage is a message from the owner to a running turn.
type SteerMessage struct {
	Text   string
	Source provenance.Source
	// TakenTx completes the event of the message in the transaction that records the message as
	// part of the turn. reply goes to the sender.
	TakenTx func(tx *store.Tx, reply string) error
}

// receiveSteering reads the messages that were sent to the turn while it ran. It adds them after
// the results of the last calls as a separate message, so that every call keeps its result and
// earlier messages do not change.
func (r *turnRun) receiveSteering(ctx context.Context) error {
	if r.t.Said == nil || r.model.chosen.Info().Provider == offlineBrain { // the built-in brain answers only the last message
		return nil
	}
	said := r.t.Said()
	if len(said) == 0 {
		return nil
	}
	m := llm.Message{Role: llm.User}
	for _, s := range said {
		m.Parts = append(m.Parts, llm.Part{Text: r.in.redactSecrets(s.Text, s.Source), Source: s.Source})
		r.conv.words = append(r.conv.words, s.Text)
		r.rec.queueWrite(func(tx *store.Tx) error { return s.TakenTx(tx, renderText("taken", nil)) })
	}
	r.conv.appendMessage(m)
	return r.rec.saveSteps(ctx) // reply now, not at the end of the turn
}

func (r *turnRun) buildOutcome(answer string) Outcome {
	o := Outcome{Answer: answer, Messages: r.conv.unstoredMessages(), Record: joinWrites(r.rec.pending), Usage: r.model.usage, Rounds: r.budget.round, Source: r.conv.answerSource(), Origins: r.conv.contextOrigins(), Realm: r.o.Realm}
	if r.model.chosen != nil {
		o.Model = cmp.Or(r.model.by, r.model.chosen.Info().Name())
	}
	return o
}

// outcomeOfError converts the error of a turn into its outcome.
func (r *turnRun) outcomeOfError(ctx context.Context, err error) (Outcome, error) {
	switch {
	case errors.Is(err, ErrStopped), errors.Is(context.Cause(ctx), ErrStopped):
		return r.interruptedOutcome(ctx), nil
	case ctx.Err() != nil:
		return Outcome{}, ErrDraining
	}
	r.calls.settleOpenCalls(ctx, tools.Errorf(tools.Cancelled, "the turn ended before this call ran"))
	return r.buildOutcome(r.model.partial), err
}

// interruptedOutcome stores the partial answer, marked as interrupted. It adds a result for every
// open call so that the history stays well formed.
func (r *turnRun) interruptedOutcome(ctx context.Context) Outcome {
	r.calls.settleOpenCalls(ctx, tools.Errorf(tools.Cancelled, "the user stopped this turn before this call ran"))
	answer := "Stopped."
	if text := strings.TrimSpace(r.model.partial); text != "" {
		answer = text + " … [interrupted]"
	}
	r.conv.appendAnswer([]llm.Part{{Text: answer}})
	o := r.buildOutcome(answer)
	o.Interrupted = true
	return o
}
