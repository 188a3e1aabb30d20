package autonomy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/channels"
	"hob/watchers"
)

// SilenceExplainer explains the silences of watchers; *watchers.Manager does.
type SilenceExplainer interface {
	Silence(ctx context.Context, id string) (watchers.Silence, error)
	Passed(ctx context.Context, words []string, since time.Time, limit int) ([]watchers.SuppressedSignal, error)
	Find(ctx context.Context, words string, f watchers.Filter) (watchers.Spec, error)
	List(ctx context.Context, f watchers.Filter) ([]watchers.Spec, error)
}

// The bounds of an answer about silence.
const (
	silenceSpan = 24 * time.Hour // default time span
	mostSilent  = 20             // rows of each kind
	looksBack   = 500            // maximum number of events and deliveries to check
)

// SilenceReport explains why the owner was not notified.
type SilenceReport struct {
	About string    `json:"about,omitempty"`
	Since time.Time `json:"since"`
	// Watchers is the watcher in question, or all that fail.
	Watchers []watchers.Silence `json:"watchers"`
	// Passed lists what watchers saw and did not report.
	Passed []watchers.SuppressedSignal `json:"passed"`
	Goals  []GoalSilence               `json:"goals"`
	// Events lists events without a notice.
	Events []SuppressedEvent `json:"events"`
	// Deliveries were written but have not reached the owner; Told have.
	Deliveries []bus.Delivery `json:"deliveries"`
	Told       []bus.Delivery `json:"told"`
	// Notices are deferred or dropped notices.
	Notices []notify.Notice `json:"notices"`
	// Denied lists calls that the guard denied without a question.
	Denied []guard.Record `json:"denied"`
}

// SuppressedEvent is an event without a notice, and the rule.
type SuppressedEvent struct {
	Event bus.Event `json:"event"`
	Rule  string    `json:"rule"`
}

// Silence explains missing notices: of a watcher or goal (by id or words), of anything with
// certain words, or ("") of everything, since a time ("since 14:00", "since yesterday"; default
// one day).
func (l *Loop) Silence(ctx context.Context, about string) (SilenceReport, error) {
	now := time.Now().In(l.o.Zone())
	words, since, err := sinceOf(about, now)
	if err != nil {
		return SilenceReport{}, err
	}
	s := SilenceReport{
		About: words, Since: since, Watchers: []watchers.Silence{}, Passed: []watchers.SuppressedSignal{}, Goals: []GoalSilence{}, Events: []SuppressedEvent{},
		Deliveries: []bus.Delivery{}, Told: []bus.Delivery{}, Notices: []notify.Notice{}, Denied: []guard.Record{},
	}
	if words != "" {
		if ok, err := l.explainNamedSource(ctx, words, &s); ok || err != nil {
			return s, err
		}
	}
	found := significantWords(words)
	if len(found) == 0 { // "my messages" means everything
		s.About = ""
	}
	return s, l.collectSilences(ctx, found, &s)
}

// explainNamedSource explains the one matching watcher or goal.
func (l *Loop) explainNamedSource(ctx context.Context, words string, s *SilenceReport) (bool, error) {
	if goalID.MatchString(words) && l.o.Goals != nil {
		g, err := goals.Get(l.o.Store.Reader(ctx), words)
		if err != nil {
			return false, fmt.Errorf("%w: %w", bus.ErrNotFound, err)
		}
		one, err := l.goalSilence(ctx, g)
		s.Goals = append(s.Goals, one)
		return true, err
	}
	if l.o.Watching == nil {
		return false, nil
	}
	spec, err := l.o.Watching.Find(ctx, words, watchers.Filter{States: []watchers.State{watchers.Active, watchers.Paused, watchers.Broken, watchers.Done}})
	switch {
	case errors.Is(err, watchers.ErrNotFound) || errors.Is(err, watchers.ErrAmbiguous):
		return false, nil
	case err != nil:
		return false, err
	}
	one, err := l.o.Watching.Silence(ctx, spec.ID)
	if err != nil {
		return false, err
	}
	s.Watchers = append(s.Watchers, one)
	kind := bus.Watcher
	if watchers.IsTimed(spec.Kind) {
		kind = bus.Schedule
	}
	events, err := l.o.Bus.List(ctx, string(kind)+":"+spec.ID, "", mostSilent)
	if err != nil {
		return false, err
	}
	s.About = spec.ID
	return true, l.collectSuppressed(ctx, events, nil, s)
}

// collectSilences collects everything that was held back.
func (l *Loop) collectSilences(ctx context.Context, words []string, s *SilenceReport) error {
	if w := l.o.Watching; w != nil {
		list, err := w.List(ctx, watchers.Filter{States: []watchers.State{watchers.Active, watchers.Paused, watchers.Broken}})
		if err != nil {
			return err
		}
		for _, spec := range list {
			if len(s.Watchers) == mostSilent || len(words) > 0 {
				break
			}
			one, err := w.Silence(ctx, spec.ID)
			if err != nil {
				return err
			}
			if one.Passed = nil; isUnexpectedlySilent(one) {
				s.Watchers = append(s.Watchers, one)
			}
		}
		if s.Passed, err = w.Passed(ctx, words, s.Since, mostSilent); err != nil {
			return err
		}
	}
	if err := l.goalSilences(ctx, words, s); err != nil {
		return err
	}
	events, err := l.o.Bus.List(ctx, "", "", looksBack)
	if err != nil {
		return err
	}
	if err := l.collectSuppressed(ctx, events, words, s); err != nil {
		return err
	}
	if err := l.collectUndelivered(ctx, words, s); err != nil {
		return err
	}
	if err := l.heldNotices(ctx, words, s); err != nil {
		return err
	}
	if len(words) > 0 {
		return nil
	}
	s.Denied, err = l.o.Guard.AuditLines(ctx, guard.AuditQuery{Action: "call", Verdict: "deny", Since: s.Since, Limit: mostSilent})
	return err
}

// isUnexpectedlySilent reports whether a watcher says nothing for a reason that the owner may not
// expect: having nothing to say is none.
func isUnexpectedlySilent(s watchers.Silence) bool {
	return slices.ContainsFunc(s.Holds, func(h watchers.Hold) bool {
		return h.Rule != watchers.RuleKnown && h.Rule != watchers.RuleNothing && h.Rule != watchers.RuleNotDue && h.Rule != watchers.RuleUnasked
	})
}

// addDeliveries sorts deliveries into those that reached the owner and those that did not.
func (s *SilenceReport) addDeliveries(list []bus.Delivery) {
	for _, d := range list {
		switch {
		case d.State == channels.Sent:
			if len(s.Told) < mostSilent {
				s.Told = append(s.Told, d)
			}
		case len(s.Deliveries) < mostSilent:
			s.Deliveries = append(s.Deliveries, d)
		}
	}
}
