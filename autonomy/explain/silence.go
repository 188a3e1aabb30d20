package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/channels"
	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
	"hob/watchers"
)

// Limits for an answer about silence.
const (
	silenceSpan = 24 * time.Hour // default time span
	mostSilent  = 20             // maximum rows of each kind
	looksBack   = 500            // maximum number of events and deliveries to check
)

// SilenceReport explains why the owner was not notified.
type SilenceReport struct {
	About string    `json:"about,omitempty"`
	Since time.Time `json:"since"`
	// Watchers holds the watcher that the question names, or all failing watchers.
	Watchers []watchers.Silence `json:"watchers"`
	// Passed lists the signals that watchers detected but did not report.
	Passed []watchers.SuppressedSignal `json:"passed"`
	Goals  []GoalSilence               `json:"goals"`
	// Events lists the events without a notice.
	Events []SuppressedEvent `json:"events"`
	// Deliveries lists messages that have not reached the owner yet, and Told the messages that
	// have.
	Deliveries []bus.Delivery `json:"deliveries"`
	Told       []bus.Delivery `json:"told"`
	// Notices lists the deferred or dropped notices.
	Notices []notify.Notice `json:"notices"`
	// Denied lists the calls that the guard denied without an approval request.
	Denied []guard.Record `json:"denied"`
}

// SuppressedEvent is an event without a notice, and the rule that suppressed it.
type SuppressedEvent struct {
	Event bus.Event `json:"event"`
	Rule  string    `json:"rule"`
}

// ExplainSilence explains missing notices since a time ("since 14:00", "since yesterday"; default
// one day). about names a watcher or goal (by id or words) or contains words to search for; ""
// means all notices.
func (x *Explainer) ExplainSilence(ctx context.Context, about string) (SilenceReport, error) {
	now := time.Now().In(x.o.Zone())
	words, since, err := parseSince(about, now)
	if err != nil {
		return SilenceReport{}, err
	}
	s := SilenceReport{
		About: words, Since: since, Watchers: []watchers.Silence{}, Passed: []watchers.SuppressedSignal{}, Goals: []GoalSilence{}, Events: []SuppressedEvent{},
		Deliveries: []bus.Delivery{}, Told: []bus.Delivery{}, Notices: []notify.Notice{}, Denied: []guard.Record{},
	}
	if words != "" {
		if ok, err := x.explainNamedSource(ctx, words, &s); ok || err != nil {
			return s, err
		}
	}
	found := significantWords(words)
	if len(found) == 0 { // "my messages" means all messages
		s.About = ""
	}
	return s, x.collectSilences(ctx, found, &s)
}

// explainNamedSource explains the only matching watcher or goal.
func (x *Explainer) explainNamedSource(ctx context.Context, words string, s *SilenceReport) (bool, error) {
	if goalID.MatchString(words) && x.o.Goals != nil {
		g, err := goals.Get(x.o.Store.Reader(ctx), words)
		if err != nil {
			return false, fmt.Errorf("%w: %w", bus.ErrNotFound, err)
		}
		one, err := x.goalSilence(ctx, g)
		s.Goals = append(s.Goals, one)
		return true, err
	}
	if x.o.Watchers == nil {
		return false, nil
	}
	spec, err := x.o.Watchers.Find(ctx, words, watchers.Filter{States: []watchers.State{watchers.Active, watchers.Paused, watchers.Broken, watchers.Done}})
	switch {
	case errors.Is(err, watchers.ErrNotFound) || errors.Is(err, watchers.ErrAmbiguous):
		return false, nil
	case err != nil:
		return false, err
	}
	one, err := x.o.Watchers.Silence(ctx, spec.ID)
	if err != nil {
		return false, err
	}
	s.Watchers = append(s.Watchers, one)
	kind := bus.Watcher
	if spec.Timed {
		kind = bus.Schedule
	}
	events, err := x.o.Bus.Inbox.List(ctx, string(kind)+":"+spec.ID, "", mostSilent)
	if err != nil {
		return false, err
	}
	s.About = spec.ID
	return true, x.collectSuppressed(ctx, events, nil, s)
}

// collectSilences collects everything that was held back.
func (x *Explainer) collectSilences(ctx context.Context, words []string, s *SilenceReport) error {
	if w := x.o.Watchers; w != nil {
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
	if err := x.goalSilences(ctx, words, s); err != nil {
		return err
	}
	events, err := x.o.Bus.Inbox.List(ctx, "", "", looksBack)
	if err != nil {
		return err
	}
	if err := x.collectSuppressed(ctx, events, words, s); err != nil {
		return err
	}
	if err := x.collectUndelivered(ctx, words, s); err != nil {
		return err
	}
	if err := x.heldNotices(ctx, words, s); err != nil {
		return err
	}
	if len(words) > 0 {
		return nil
	}
	s.Denied, err = x.o.Guard.AuditLines(ctx, guard.AuditQuery{Action: "call", Verdict: "deny", Since: s.Since, Limit: mostSilent})
	return err
}

// isUnexpectedlySilent reports whether a watcher is silent for a reason that the owner may not
// expect. Having found nothing is an expected reason.
func isUnexpectedlySilent(s watchers.Silence) bool {
	return slices.ContainsFunc(s.Holds, func(h watchers.Hold) bool {
		return h.Rule != watchers.RuleKnown && h.Rule != watchers.RuleNothing && h.Rule != watchers.RuleNotDue && h.Rule != watchers.RuleUnasked
	})
}

// addDeliveries adds each delivery to Told if it reached the owner, otherwise to Deliveries.
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

// parseSince splits a question into its subject and its start time.
func parseSince(about string, now time.Time) (words string, since time.Time, err error) {
	about = strings.TrimSpace(about)
	before, after, ok := strings.Cut(" "+about, " since ")
	if !ok {
		return about, now.Add(-silenceSpan), nil
	}
	if d, derr := time.ParseDuration(strings.TrimSpace(after)); derr == nil && d > 0 {
		return strings.TrimSpace(before), now.Add(-d), nil
	}
	if at, terr := time.Parse(time.RFC3339, strings.TrimSpace(after)); terr == nil {
		return strings.TrimSpace(before), at, nil
	}
	if p, perr := dateparse.ParsePeriod(after, now); perr == nil && !p.From.After(now) {
		return strings.TrimSpace(before), p.From, nil
	}
	m, err := dateparse.Parse(after, now)
	if err != nil {
		return "", since, fmt.Errorf("%w: %q is not a time such as \"14:00\", \"yesterday\" or \"2h\"", ErrUnclear, after)
	}
	if m.Time.After(now) { // a time of day that is later than now refers to yesterday
		m.Time = m.Time.AddDate(0, 0, -1)
	}
	return strings.TrimSpace(before), m.Time, nil
}

// ErrUnclear is wrapped if a question cannot be parsed.
var ErrUnclear = errors.New("question not understood")

// fillers matches words that are meaningless for a search.
var fillers = lazyregexp.New(`^(a|an|the|of|from|by|about|to|in|on|at|with|my|your|that|this|mail|mails|email|emails|message|messages|did|not|you|tell|told|me|why)$`)

// significantWords returns the words that are useful for a search.
func significantWords(words string) (out []string) {
	for _, w := range textnorm.FoldedWords(words) {
		if !fillers.MatchString(w) {
			out = append(out, w)
		}
	}
	return out
}

// Text formats the explanation for users.
func (s SilenceReport) Text(zone *time.Location) string {
	var b strings.Builder
	at := func(t time.Time) string { return t.In(zone).Format("2006-01-02 15:04:05") }
	section := func(n int, title string) {
		if n > 0 {
			fmt.Fprintf(&b, "\n%s\n", title)
		}
	}
	for _, w := range s.Watchers {
		b.WriteString(w.Text(at))
	}
	section(len(s.Told), "Delivered:")
	for _, d := range s.Told {
		fmt.Fprintf(&b, "    %s  %s: %q\n", at(d.CreatedAt), describeDelivery(d, at), textnorm.FirstLine(d.Text))
	}
	section(len(s.Passed), "Detected but not reported:")
	for _, p := range s.Passed {
		fmt.Fprintf(&b, "    %s (watcher %s)\n", p.Line(at), p.Watcher)
	}
	section(len(s.Goals), "Goals:")
	for _, g := range s.Goals {
		fmt.Fprintf(&b, "    %s %q: %s\n", g.Goal.ID, g.Goal.Name(), g.Rule)
		if g.Goal.Reason != "" {
			fmt.Fprintf(&b, "        its last reason: %q\n", textnorm.FirstLine(g.Goal.Reason))
		}
	}
	section(len(s.Events), "Events without a notification:")
	for _, e := range s.Events {
		fmt.Fprintf(&b, "    %s  %s %s %q: %s\n", at(e.Event.ReceivedAt), e.Event.Kind, e.Event.ID, textnorm.FirstLine(e.Event.Text), e.Rule)
	}
	section(len(s.Deliveries), "Not delivered yet:")
	for _, d := range s.Deliveries {
		fmt.Fprintf(&b, "    %s  %s: %q\n", at(d.CreatedAt), describeDelivery(d, at), textnorm.FirstLine(d.Text))
	}
	section(len(s.Notices), "Deferred or dropped notifications:")
	for _, n := range s.Notices {
		fmt.Fprintf(&b, "    %s: %q\n", n.Line(at), textnorm.FirstLine(n.Text))
	}
	section(len(s.Denied), "Denied tool calls:")
	for _, r := range s.Denied {
		fmt.Fprintf(&b, "    %s  %s: %s (event %s)\n", at(r.At), r.Tool, r.Rule, r.Event)
	}
	if b.Len() == 0 {
		what := "Nothing"
		if s.About != "" {
			what = fmt.Sprintf("Nothing about %q", s.About)
		}
		return fmt.Sprintf("%s was held back since %s: no watcher suppressed an event, no notification is deferred, no tool call was denied. `hob watch list` shows the watchers.", what, at(s.Since))
	}
	return strings.TrimSpace(b.String())
}
