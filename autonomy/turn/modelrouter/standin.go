package modelrouter

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/llm"
)

// standIn is a chain of models with the built-in brain as its last resort. The brain answers if the
// budget refuses the call, or if no model of the chain can be reached and the request allows it
// (llm.Request.StandIn). If the brain starts a turn with tool calls, it also finishes that turn.
type standIn struct {
	chain llm.Model
	brain llm.Model
	use   standInUse
	pool  *modelPool
}

// standInUse defines after which errors, besides those of the budget, the built-in brain answers.
type standInUse uint8

const (
	forOutages standInUse = iota // the default
	forNone                      // fallback = ["none"]
	forAll                       // fallback = ["offline"]: like any other fallback model
)

// standInState is the state that all chains of a pool share.
type standInState struct {
	mu sync.Mutex
	// told maps each session to the start of the last outage that the user was informed about in
	// that session.
	told map[string]time.Time
	// started holds the events whose turns the built-in brain started with tool calls.
	started map[string]bool
}

// maxRemembered is the maximum size of each map in standInState; a full map is cleared.
const maxRemembered = 1000

func rememberKey[V any](m *map[string]V, key string, v V) {
	if *m == nil || len(*m) >= maxRemembered {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

// newStandIn returns the chain of a model and its fallbacks, with the built-in brain as the last
// resort.
func (p *modelPool) newStandIn(first, brain llm.Model, more []string) (llm.Model, error) {
	s := &standIn{brain: brain, pool: p}
	all := []llm.Model{first}
	for _, name := range more {
		switch {
		case name == config.NoFallback:
			s.use = forNone
			continue
		case name == builtIn:
			s.use = forAll
		}
		if s.use == forAll { // nothing follows the built-in brain: it always answers
			break
		}
		next, err := p.modelNamed(name)
		if err != nil {
			return nil, fmt.Errorf("create a fallback model: %w", err)
		}
		all = append(all, next)
	}
	if len(all) > 1 || s.use != forNone {
		for i, m := range all {
			if t, ok := m.(*trackedModel); ok {
				all[i] = restingModel{t}
			}
		}
	}
	s.chain = llm.Fallback(all...)
	return s, nil
}

// withSmall returns the chain with a small model in front. The built-in brain of the small model's
// own chain must not answer before the large model was tried.
func withSmall(small, m llm.Model) llm.Model {
	if s, ok := small.(*standIn); ok {
		small = s.chain
	}
	s, ok := m.(*standIn)
	if !ok {
		return llm.Fallback(small, m)
	}
	out := *s
	out.chain = llm.Fallback(small, s.chain)
	return &out
}

// Info implements llm.Model: it describes the first model of the chain. The chain fences messages
// itself, because the built-in brain reads them as recorded.
func (s *standIn) Info() llm.Info {
	i := s.chain.Info()
	i.Unfenced = true
	return i
}

// Stream implements llm.Model.
func (s *standIn) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if s.hasStarted(r.Account.Event) {
			s.streamBrain(ctx, r, nil, yield)
			return
		}
		fenced := r
		fenced.Messages = llm.FenceUntrusted(r.Messages)
		var failed *llm.Error
		for e, err := range s.chain.Stream(ctx, fenced) {
			if failed = s.replaceableError(r, err); failed != nil {
				break
			}
			if !yield(e, err) || err != nil || e.Kind == llm.Done {
				return
			}
		}
		r.TakenOver = true
		s.streamBrain(ctx, r, failed, yield)
	}
}

// replaceableError returns the error if the built-in brain may answer instead, otherwise nil.
func (s *standIn) replaceableError(r llm.Request, err error) *llm.Error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Visible || e.Acted || e.Kind == llm.Interrupted {
		return nil
	}
	switch {
	case e.Kind == llm.Budget:
		return e
	case !r.StandIn:
		return nil
	case s.use == forAll && llm.CanFallBack(e), s.use == forOutages && isOutage(e):
		return e
	}
	return nil
}

// streamBrain streams the built-in brain's answer. The final text of a turn explains why the model
// did not answer, but only once per outage in each conversation. A turn that a model started always
// gets the explanation.
func (s *standIn) streamBrain(ctx context.Context, r llm.Request, failed *llm.Error, yield func(llm.Event, error) bool) {
	calls, said := false, false
	for e, err := range s.brain.Stream(ctx, r) {
		if err == nil {
			calls = calls || e.Kind == llm.CallDone
			said = said || e.Kind == llm.TextDelta
			if e.Kind == llm.Done {
				e.Model = s.brain.Info().Name()
				if text := s.finishStep(r, failed, calls); text != "" {
					if said {
						text = "\n\n" + text
					}
					if !yield(llm.Event{Kind: llm.TextDelta, Text: text}, nil) {
						return
					}
				}
			}
		}
		if !yield(e, err) || err != nil {
			return
		}
	}
}

// finishStep records a step of the built-in brain. It returns the explanation for the brain's
// answer, or "" if none is needed.
func (s *standIn) finishStep(r llm.Request, failed *llm.Error, calls bool) string {
	st := &s.pool.standIns
	st.mu.Lock()
	defer st.mu.Unlock()
	if calls {
		if r.Account.Event != "" {
			rememberKey(&st.started, r.Account.Event, true)
		}
		return ""
	}
	delete(st.started, r.Account.Event)
	since, cause := s.outageOfChain(failed)
	middle := r.TakenOver && r.Messages[len(r.Messages)-1].Role == llm.ToolRole // a model started this turn
	if cause == "" || !middle && !since.IsZero() && st.told[r.Session].Equal(since) {
		return ""
	}
	rememberKey(&st.told, r.Session, since)
	return fmt.Sprintf("(My built-in brain answered, because %s. `hob status` shows when I will try the model again.)", cause)
}

// outageOfChain returns the start and the cause of the failure because of which the built-in brain
// answers. The cause is "" if the budget refused the call, because that has its own notification.
func (s *standIn) outageOfChain(failed *llm.Error) (time.Time, string) {
	if failed != nil && failed.Kind == llm.Budget {
		return time.Time{}, ""
	}
	for _, o := range s.pool.listOutages() {
		if o.Model == s.chain.Info().Name() {
			return o.Since, o.Cause
		}
	}
	if failed == nil {
		return time.Time{}, ""
	}
	return time.Time{}, failed.Cause()
}

func (s *standIn) hasStarted(event string) bool {
	st := &s.pool.standIns
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.started[event]
}
