package modelrouter

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/llm"
	"hob/platform/retry"
)

// Outage is a model that cannot be reached at the moment.
type Outage struct {
	Model string
	Since time.Time
	// Cause is the last failure as a sentence for users. Reason is the same sentence without the
	// name of the provider.
	Cause, Reason string
	// Next is the time from which the next turn tries the model again.
	Next time.Time
}

// Limits of the pause after a failed attempt. A pause is at least twice as long as the attempt
// took, so that Hob never spends most of the time waiting for a silent server.
const (
	firstPause = 10 * time.Second
	lastPause  = time.Minute
	slowPause  = 15 * time.Minute
)

// probeTime is the time limit of a probe. It is short because a status request waits for the probe.
const probeTime = time.Second

// trackedModel records whether a model can be reached. It observes the calls: the first call after
// the pause shows whether the model is reachable again. A status request may also probe, with a
// request that uses no tokens.
type trackedModel struct {
	llm.Model
	// list asks the server for its models; nil if the driver has no such request.
	list func(ctx context.Context) ([]string, error)

	mu       sync.Mutex
	since    time.Time // zero if the last call reached the model
	next     time.Time
	failures int
	err      *llm.Error
}

// isOutage reports whether an error means that the model cannot be reached: a network error, a
// timeout, a rate limit or a failure of the server. After a refusal such as 401 the server counts
// as reachable.
func isOutage(e *llm.Error) bool { return e.Retryable() }

// Stream implements llm.Model.
func (m *trackedModel) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		asked := time.Now()
		for e, err := range m.Model.Stream(ctx, r) {
			if err != nil {
				m.recordFailure(err, time.Since(asked))
			} else if e.Kind == llm.Done {
				m.recordSuccess()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (m *trackedModel) recordSuccess() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.since, m.next, m.failures, m.err = time.Time{}, time.Time{}, 0, nil
}

func (m *trackedModel) recordFailure(err error, took time.Duration) {
	e, ok := errors.AsType[*llm.Error](err)
	switch {
	case !ok || e.Visible || e.Kind == llm.Interrupted || e.Kind == llm.Budget:
		return
	case !isOutage(e):
		m.recordSuccess()
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.since.IsZero() {
		m.since = now
	}
	if m.err == nil || !errors.Is(e, llm.ErrOpen) { // the breaker repeats the last error
		m.err = e
	}
	m.failures++
	pause := retry.Backoff{First: firstPause, Max: lastPause}.Delay(m.failures)
	m.next = now.Add(max(pause, min(max(2*took, e.RetryAfter), slowPause)))
}

// claimAttempt returns an error during the pause after a failure. After the pause, one caller gets
// nil, and the others get an error until that caller's attempt has ended.
func (m *trackedModel) claimAttempt() *llm.Error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.since.IsZero() {
		return nil
	}
	if left := time.Until(m.next); left > 0 {
		e := *m.err
		e.RetryAfter, e.Err = left, llm.ErrOpen
		return &e
	}
	m.next = time.Now().Add(lastPause)
	return nil
}

// probeServer ends the outage if the server answers again. It probes only after network errors and
// timeouts: a server that refused calls, for example with 429, may still return its list of models.
func (m *trackedModel) probeServer(ctx context.Context) {
	m.mu.Lock()
	due := m.list != nil && m.err != nil && (m.err.Kind == llm.Network || m.err.Kind == llm.Stalled) && time.Now().After(m.next)
	m.mu.Unlock()
	if !due || m.claimAttempt() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	asked := time.Now()
	_, err := m.list(ctx)
	e, ok := errors.AsType[*llm.Error](err)
	switch {
	case err == nil, ok && !isOutage(e) && e.Kind != llm.Interrupted:
		m.recordSuccess()
	default:
		m.recordFailure(m.lastError(), time.Since(asked))
	}
}

func (m *trackedModel) lastError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil { // a nil *llm.Error converted to error would not be nil
		return nil
	}
	return m.err
}

func (m *trackedModel) currentOutage() (Outage, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.since.IsZero() {
		return Outage{}, false
	}
	return Outage{Model: m.Info().Name(), Since: m.since, Reason: cmp.Or(m.err.Message, m.err.Cause()), Cause: m.err.Cause(), Next: m.next}, true
}

// restingModel is a tracked model in a chain in which another model can answer. During the pause
// after a failure its calls fail at once, so that the next model answers without delay.
type restingModel struct{ *trackedModel }

// Stream implements llm.Model.
func (m restingModel) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	if e := m.claimAttempt(); e != nil {
		return func(yield func(llm.Event, error) bool) { yield(llm.Event{}, e) }
	}
	return m.trackedModel.Stream(ctx, r)
}

// Outages lists the models that cannot be reached, sorted by name.
func (m *Models) Outages() []Outage { return m.pool.listOutages() }

// Problems describes the outages for the status. It probes the models whose pause is over.
func (m *Models) Problems(ctx context.Context) (out []api.Problem) {
	for t := range m.pool.trackedModels() {
		t.probeServer(ctx)
	}
	for _, o := range m.Outages() {
		out = append(out, api.Problem{
			Name: "model", Text: "the model " + o.Model + " is unreachable: " + strings.TrimRight(o.Reason, ". "), Since: o.Since, Next: o.Next,
			Remedy: "check it with: hob provider test",
		})
	}
	return out
}

// trackedModels yields the models that the pool has created.
func (p *modelPool) trackedModels() iter.Seq[*trackedModel] {
	p.mu.Lock()
	made := slices.Collect(maps.Values(p.made))
	p.mu.Unlock()
	return func(yield func(*trackedModel) bool) {
		for _, x := range made {
			if t, ok := x.(*trackedModel); ok && !yield(t) {
				return
			}
		}
	}
}

func (p *modelPool) listOutages() []Outage {
	found := map[string]Outage{}
	for t := range p.trackedModels() {
		if o, out := t.currentOutage(); out {
			found[o.Model] = o
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Outage) int { return cmp.Compare(a.Model, b.Model) })
}
