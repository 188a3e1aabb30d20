package turn

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/text/unicode/norm"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// toolCalls works on the calls of one answer: in order or in parallel, up to their results or to a
// question for the owner.
type toolCalls struct {
	o     *Options
	t     *Turn
	conv  *conversation
	rec   *stepRecorder
	hist  *callHistory
	gate  *callGate
	chain *hookChain
	exec  *toolExecutor
	in    *contextBuilder
}

// callStep is the state of one call of a model's answer.
type callStep struct {
	call   llm.ToolCall // as the model made it
	tool   tools.Tool   // the tool that is executed
	args   json.RawMessage
	dec    guard.Decision
	err    error // decided without running, or the tool's own
	result tools.Result
	ran    bool
	// decided: the chain has been passed, though the call may not have run yet.
	decided bool
	took    time.Duration
	text    string // the part that the model reads
	body    int    // how much of that is the call's own, and not a hint
	// inView are the origins of the untrusted text in context at the decision.
	inView []provenance.Origin
	// heldInMemory: the caller blocks until the owner answers, so a question cannot stay open for days.
	heldInMemory bool
}

// hasOutcome reports whether the call's result is known.
func (s *callStep) hasOutcome() bool { return s.ran || s.err != nil }

// runCalls runs the calls of the last answer and appends their results. suspended means that a
// question waits for the owner and the turn is stored until the answer.
func (tc *toolCalls) runCalls(ctx context.Context, calls []llm.ToolCall) (suspended bool, err error) {
	tc.hist.steps = tc.resolveAll(ctx, calls, true)
	if canRunTogether(tc.hist.steps) {
		suspended, err = tc.runTogether(ctx)
	} else {
		suspended, err = tc.runInOrder(ctx)
	}
	if err != nil || suspended {
		return suspended, err
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	tc.appendResults(ctx)
	return false, nil
}

// refuseCall settles a call before it comes to the gate.
func (s *callStep) refuseCall(rule string, err error) {
	s.err, s.dec = err, guard.Decision{Verdict: guard.Deny, Rule: rule}
}

// toolAndArgs names the call for the loop breaker.
func (s *callStep) toolAndArgs() (tool string, args []byte) {
	if s.tool == nil {
		return s.call.Name, s.call.Args
	}
	return s.tool.Spec().Name, s.args
}

// decideCall passes a call through the chain up to the gate. The error ends the
// turn.
func (tc *toolCalls) decideCall(ctx context.Context, s *callStep) error {
	wrong := !s.ran && (s.dec.Rule == "route" || s.dec.Rule == "schema")
	if s.hasOutcome() && !wrong { // it ran before a crash
		return nil
	}
	return tc.chain.beforeTool(ctx, s, false)
}

// runInOrder runs calls one after another. At the first call that needs approval it asks for
// this and all later ones together.
func (tc *toolCalls) runInOrder(ctx context.Context) (suspended bool, err error) {
	for i, s := range tc.hist.steps {
		if !s.decided {
			if err := tc.decideCall(ctx, s); err != nil {
				return false, err
			}
		}
		if s.hasOutcome() {
			continue
		}
		if s.dec.Verdict == guard.Ask {
			return tc.suspendCalls(ctx, i)
		}
		if w, ok := s.tool.(tools.Waiter); ok {
			if suspended, err := tc.exec.awaitCall(ctx, s, w); err != nil || suspended {
				return suspended, err
			}
			continue
		}
		if err := tc.exec.performCall(ctx, s); err != nil {
			return false, err
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	return false, tc.rec.saveSteps(ctx) // when none ran
}

func dropCalls(parts []llm.Part) []llm.Part {
	out := parts[:0]
	for _, p := range parts {
		if p.Call == nil {
			out = append(out, p)
		}
	}
	return out
}

func callsOf(m llm.Message) []llm.ToolCall {
	r := llm.Response{Parts: m.Parts}
	return r.Calls()
}

func textOf(m llm.Message) string {
	r := llm.Response{Parts: m.Parts}
	return strings.TrimSpace(r.Text())
}

// settleOpenCalls answers the open calls of the last answer: with their results if they ran, otherwise
// with the given error.
func (tc *toolCalls) settleOpenCalls(ctx context.Context, why error) {
	last := tc.conv.lastMessage()
	if last.Role != llm.Assistant {
		return
	}
	if calls := callsOf(last); tc.hist.steps == nil && len(calls) > 0 {
		tc.hist.steps = tc.resolveAll(ctx, calls, true)
	}
	if tc.hist.steps == nil {
		return
	}
	for _, s := range tc.hist.steps {
		if !s.hasOutcome() {
			s.err = why
		}
	}
	tc.appendResults(context.WithoutCancel(ctx))
}

// replayCall restores the outcome of a call that ran before a crash from the ledger, even if the
// tool no longer exists.
func (tc *toolCalls) replayCall(ctx context.Context, s *callStep) {
	e, ok := tc.rec.ledger[s.call.ID]
	if !ok {
		return
	}
	switch e.State {
	case bus.CallDone:
		s.result, s.ran, s.err = tools.Result{Text: e.Result, Source: e.Source, Origins: tc.rec.earlierCallOrigins(ctx, s.call.ID)}, true, nil
	case bus.CallFailed, bus.CallDenied, bus.CallUnknown:
		s.err = &tools.Error{Code: tools.Code(e.Code), Message: e.Result, Source: e.Source}
	case bus.CallStarted:
		if _, waits := s.tool.(tools.Waiter); waits {
			return // its work continues elsewhere; await gets the outcome
		}
		s.err = tools.Errorf(tools.OutcomeUnknown, "Hob was cut off while %s ran, and nobody knows whether it took effect; it was not repeated. Check before trying again", tools.Clean(e.Tool))
		e = unknownEntry(e, s.err)
		tc.rec.queueWrite(func(tx *store.Tx) error { return tc.rec.recordEndTx(tx, s, e) })
	}
}

// appendResults passes the results of the calls back along the chain and adds them to the
// conversation.
func (tc *toolCalls) appendResults(ctx context.Context) {
	m := llm.Message{Role: llm.ToolRole}
	for _, s := range tc.hist.steps {
		tc.chain.afterTool(ctx, s)
		res := llm.ToolResult{ID: s.call.ID, Name: s.call.Name, Text: s.text, Error: s.err != nil}
		p := llm.Part{Result: &res, Source: tc.rec.resultSource(s), Origins: tc.rec.resultOrigins(tc.o.Store.Reader(ctx), s)}
		if len(p.Origins) > 0 {
			p.Fenced = s.body
			tc.in.ingestUntrusted(ctx, &p, s.call.ID)
			s.result.Origins = p.Origins // with the marks, for the ledger's row
		}
		m.Parts = append(m.Parts, p)
	}
	tc.conv.appendMessage(m)
	tc.hist.steps = nil
}

// resolveAll finds the tools of the calls. With replay, it also restores the outcome of calls
// that ran before a crash.
func (tc *toolCalls) resolveAll(ctx context.Context, calls []llm.ToolCall, replay bool) []*callStep {
	steps := make([]*callStep, len(calls))
	for i, c := range calls {
		s := &callStep{call: c, args: c.Args}
		steps[i] = s
		if i >= maxCalls {
			s.refuseCall("route", tools.Errorf(tools.TooManyCalls, "an answer may have %d calls; this one was refused, make it in the next answer", maxCalls))
		}
		if err := tc.chain.beforeTool(ctx, s, true); err != nil {
			s.refuseCall("route", denialError("route", err)) // no early link ends a turn
		}
		if replay {
			tc.replayCall(ctx, s)
		}
	}
	return steps
}

// suspendCalls asks the owner about call i and every later call that needs approval, and suspends
// the turn, all in one transaction. A call on the owner's screen gets a separate question.
func (tc *toolCalls) suspendCalls(ctx context.Context, i int) (bool, error) {
	asks := []*callStep{tc.hist.steps[i]}
	for _, s := range tc.hist.steps[i+1:] {
		if isScreenCall(tc.hist.steps[i]) {
			break
		}
		if s.hasOutcome() {
			continue
		}
		if err := tc.gate.askGuard(ctx, s); err != nil {
			return false, err
		}
		if s.dec.Verdict == guard.Ask && !goesOn(asks, s) && !isScreenCall(s) {
			asks = append(asks, s)
		}
	}
	_, err := tc.gate.askOwner(ctx, asks, func(tx *store.Tx, until time.Time) error {
		return tc.o.Bus.SuspendTx(tx, tc.t.Event.ID, until)
	})
	return err == nil, err
}

// goesOn reports whether a call belongs to an existing question: whether the tool may continue
// to change items.
func goesOn(asks []*callStep, s *callStep) bool {
	return s.dec.Rule == guard.BatchRule && s.dec.Judgement.Items <= 1 && slices.ContainsFunc(asks, func(a *callStep) bool {
		return a.dec.Rule == guard.BatchRule && a.tool.Spec().Name == s.tool.Spec().Name
	})
}

// isScreenCall reports whether a call acts on the owner's screen. Such a call runs only while no
// question is open, because it could answer it. Later calls are judged by the screen that it
// leaves.
func isScreenCall(s *callStep) bool {
	j := s.dec.Judgement
	return j.Private && j.Effects&tools.Exec != 0
}

// width is the maximum number of parallel calls.
const width = 4

// canRunTogether reports whether the calls cannot get in each other's way: all only
// look, or each names the files it touches and no change meets another call.
// Changes by own tools are transactions on one database and keep their order.
func canRunTogether(steps []*callStep) bool {
	open := make([]*callStep, 0, len(steps))
	looking := true
	for _, s := range steps {
		if s.hasOutcome() {
			continue
		}
		if _, waits := s.tool.(tools.Waiter); waits {
			return false
		}
		looking = looking && s.tool.Spec().Effects.ReadOnly()
		open = append(open, s)
	}
	return len(open) > 1 && (looking || hasDisjointFiles(open))
}

// hasDisjointFiles reports whether all calls only use files, and no path changed by one overlaps a path
// of another.
func hasDisjointFiles(steps []*callStep) bool {
	touched := make([][]string, len(steps))
	for i, s := range steps {
		if s.tool.Spec().Effects&^(tools.Read|tools.Write) != 0 {
			return false
		}
		p, ok := s.tool.(tools.Pather)
		if _, own := s.tool.(tools.TxTool); own || !ok {
			return false
		}
		if touched[i] = p.Paths(s.args); len(touched[i]) == 0 {
			return false
		}
		for k, path := range touched[i] {
			if !filepath.IsAbs(path) { // a relative path has no known base
				return false
			}
			touched[i][k] = foldPath(path)
		}
	}
	for i, s := range steps {
		for j := range i {
			looking := s.tool.Spec().Effects.ReadOnly() && steps[j].tool.Spec().Effects.ReadOnly()
			if !looking && hasOverlap(touched[i], touched[j]) {
				return false
			}
		}
	}
	return true
}

// foldPath returns a path in the form for comparison. Every OS has file systems that ignore case
// or Unicode composition; on other file systems the calls merely run in order.
func foldPath(path string) string {
	return norm.NFC.String(strings.ToLower(strings.ToUpper(norm.NFC.String(filepath.Clean(path)))))
}

// hasOverlap reports whether a path of one list equals, contains or is below one of the other.
func hasOverlap(a, b []string) bool {
	for _, p := range a {
		for _, q := range b {
			if isWithinFolder(p, q) || isWithinFolder(q, p) {
				return true
			}
		}
	}
	return false
}

// isWithinFolder reports whether path is folder or below it.
func isWithinFolder(folder, path string) bool {
	rest, ok := strings.CutPrefix(path, folder)
	return ok && (rest == "" || strings.HasSuffix(folder, string(filepath.Separator)) || rest[0] == filepath.Separator)
}

// runTogether decides on all calls and runs them side by side, unless one needs
// the owner: then those before it run first, in order.
func (tc *toolCalls) runTogether(ctx context.Context) (suspended bool, err error) {
	var open []*callStep
	for _, s := range tc.hist.steps {
		if err := tc.decideCall(ctx, s); err != nil {
			return false, err
		}
		s.decided = true
		if s.hasOutcome() {
			continue
		}
		if s.dec.Verdict != guard.Allow {
			return tc.runInOrder(ctx)
		}
		open = append(open, s)
	}
	if err := tc.rec.recordStarts(ctx, effectfulSteps(open[:min(width, len(open))])); err != nil {
		return false, err
	}
	return false, tc.runAll(ctx, open)
}

// runAll runs calls side by side, beginning in their order. Those with effects
// are in the ledger as started before they run: the first ones in one
// transaction, which has been, and each of the others when its turn comes.
func (tc *toolCalls) runAll(ctx context.Context, steps []*callStep) error {
	var wg sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, len(steps))
	for range min(width, len(steps)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(steps); i = int(next.Add(1)) - 1 {
				if i >= width {
					errs[i] = tc.exec.performCall(ctx, steps[i])
					continue
				}
				errs[i] = tc.exec.executeCall(ctx, steps[i])
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// effectfulSteps returns the steps with effects that are not transactions themselves.
func effectfulSteps(steps []*callStep) (out []*callStep) {
	for _, s := range steps {
		if _, own := s.tool.(tools.TxTool); !own && !s.tool.Spec().Effects.ReadOnly() {
			out = append(out, s)
		}
	}
	return out
}

// refuseUngranted refuses a call whose grant ended before it started.
func (s *callStep) refuseUngranted(err error) bool {
	if s == nil || !errors.Is(err, guard.ErrGrantEnded) {
		return false
	}
	rule := s.dec.Rule
	s.refuseCall(rule, tools.Errorf(tools.PolicyDenied, "%s: %w", tools.PolicyDenied, tools.CleanErr(guard.ErrGrantEnded)))
	return true
}
