package autonomy

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/goals"
	"hob/autonomy/guard"
	"hob/autonomy/notify"
	"hob/channels"
	"hob/platform/phrase"
	"hob/platform/provenance"
	"hob/platform/when"
	"hob/watchers"
)

// Watching explains the silences of watchers; *watchers.Manager does.
type Watching interface {
	Silence(ctx context.Context, id string) (watchers.Silence, error)
	Passed(ctx context.Context, words []string, since time.Time, limit int) ([]watchers.Passed, error)
	Find(ctx context.Context, words string, f watchers.Filter) (watchers.Spec, error)
	List(ctx context.Context, f watchers.Filter) ([]watchers.Spec, error)
}

// The bounds of an answer about silence.
const (
	silenceSpan = 24 * time.Hour // how far back, unless the owner says else
	mostSilent  = 20             // rows of each kind
	looksBack   = 500            // events and deliveries that are looked through
)

// Silent is why the owner was not told.
type Silent struct {
	About string    `json:"about,omitempty"`
	Since time.Time `json:"since"`
	// Watchers are the one that was asked about, or those that do not work.
	Watchers []watchers.Silence `json:"watchers"`
	// Passed is what watchers saw and did not tell.
	Passed []watchers.Passed `json:"passed"`
	Goals  []GoalSilence     `json:"goals"`
	// Events came, but nothing was said about them.
	Events []Unsaid `json:"events"`
	// Deliveries were worded and have not reached the owner; Told have.
	Deliveries []bus.Delivery `json:"deliveries"`
	Told       []bus.Delivery `json:"told"`
	// Notices are those that were held or dropped.
	Notices []notify.Notice `json:"notices"`
	// Denied is what the guard kept from being done unasked.
	Denied []guard.Record `json:"denied"`
}

// GoalSilence is why a goal says nothing.
type GoalSilence struct {
	Goal goals.Goal      `json:"goal"`
	Rule string          `json:"rule"`
	Last *goals.Reviewed `json:"last,omitempty"`
}

// Unsaid is an event about which nothing was said, and the rule.
type Unsaid struct {
	Event bus.Event `json:"event"`
	Rule  string    `json:"rule"`
}

var goalID = regexp.MustCompile(`^g-[a-z0-9]+$`)

// Silence explains what was not told: of a watcher or goal (by its id or words),
// of anything with certain words, or ("") of all, since a time ("since 14:00",
// "since yesterday"; a day unless it says).
func (l *Loop) Silence(ctx context.Context, about string) (Silent, error) {
	now := time.Now().In(l.o.Zone())
	words, since, err := sinceOf(about, now)
	if err != nil {
		return Silent{}, err
	}
	s := Silent{
		About: words, Since: since, Watchers: []watchers.Silence{}, Passed: []watchers.Passed{}, Goals: []GoalSilence{}, Events: []Unsaid{},
		Deliveries: []bus.Delivery{}, Told: []bus.Delivery{}, Notices: []notify.Notice{}, Denied: []guard.Record{},
	}
	if words != "" {
		if ok, err := l.named(ctx, words, &s); ok || err != nil {
			return s, err
		}
	}
	return s, l.silences(ctx, significant(words), &s)
}

// sinceOf splits what is asked about from the time since when.
func sinceOf(about string, now time.Time) (words string, since time.Time, err error) {
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
	if p, perr := when.ParsePeriod(after, now); perr == nil && !p.From.After(now) {
		return strings.TrimSpace(before), p.From, nil
	}
	m, err := when.Parse(after, now)
	if err != nil {
		return "", since, fmt.Errorf("%w: %q is no time such as \"14:00\", \"yesterday\" or \"2h\"", ErrUnclear, after)
	}
	if m.Time.After(now) { // a time of day is the last one
		m.Time = m.Time.AddDate(0, 0, -1)
	}
	return strings.TrimSpace(before), m.Time, nil
}

// ErrUnclear is wrapped when a question cannot be understood.
var ErrUnclear = errors.New("that is not clear")

// fillers are words that name nothing.
var fillers = regexp.MustCompile(`^(a|an|the|of|from|by|about|to|in|on|at|with|my|your|that|this|mail|mails|email|emails|message|messages|did|not|you|tell|told|me|why)$`)

// significant are the words by which something can be found again.
func significant(words string) (out []string) {
	for _, w := range phrase.Split(words) {
		if !fillers.MatchString(w) {
			out = append(out, w)
		}
	}
	return out
}

// named explains the one watcher or goal that is meant.
func (l *Loop) named(ctx context.Context, words string, s *Silent) (bool, error) {
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
	if spec.Kind == watchers.KindCron || spec.Kind == watchers.KindOneshot {
		kind = bus.Schedule
	}
	events, err := l.o.Bus.List(ctx, string(kind)+":"+spec.ID, "", mostSilent)
	if err != nil {
		return false, err
	}
	s.About = spec.ID
	return true, l.unsaid(ctx, events, nil, s)
}

// silences collects everything that was held back.
func (l *Loop) silences(ctx context.Context, words []string, s *Silent) error {
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
			if one.Passed = nil; held(one) {
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
	if err := l.unsaid(ctx, events, words, s); err != nil {
		return err
	}
	if err := l.undelivered(ctx, words, s); err != nil {
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

// held reports whether a watcher says nothing for a reason that the owner may not
// expect: having nothing to say is none.
func held(s watchers.Silence) bool {
	return slices.ContainsFunc(s.Holds, func(h watchers.Hold) bool {
		return h.Rule != watchers.RuleKnown && h.Rule != watchers.RuleNothing && h.Rule != watchers.RuleNotDue && h.Rule != watchers.RuleUnasked
	})
}

// unsaid finds the events that came and of which the owner heard nothing. What he
// says himself is answered always.
func (l *Loop) unsaid(ctx context.Context, events []bus.Event, words []string, s *Silent) error {
	for _, ev := range events {
		if len(s.Events) == mostSilent {
			return nil
		}
		if ev.ReceivedAt.Before(s.Since) || ev.Kind == bus.Message && ev.Provenance == provenance.Owner || ev.Kind == bus.Task || !holds(ev.Text, words) {
			continue
		}
		said, err := l.o.Bus.EventDeliveries(ctx, ev.ID)
		if err != nil {
			return err
		}
		if len(said) > 0 {
			if s.About != "" {
				s.Told = append(s.Told, said...)
			}
			continue
		}
		rule, err := l.unsaidRule(ctx, ev)
		if err != nil {
			return err
		}
		s.Events = append(s.Events, Unsaid{ev, rule})
	}
	return nil
}

// unsaidRule says why nothing was said about an event.
func (l *Loop) unsaidRule(ctx context.Context, ev bus.Event) (string, error) {
	switch ev.State {
	case bus.Done:
	case bus.Dead:
		return "[given_up] after " + fmt.Sprint(ev.Attempts) + " attempt(s): " + ev.Error, nil
	default:
		rows, err := ticked(l.o.Store.Reader(ctx), "WHERE event = ? ORDER BY tick DESC LIMIT 1", ev.ID)
		if err != nil || len(rows) == 0 {
			return "[not_done_yet] it is " + string(ev.State), err
		}
		return "[not_done_yet] " + rows[0].Rule, nil
	}
	if l.o.Notices != nil {
		held, err := l.o.Notices.Why(ctx, ev.ID)
		if err != nil {
			return "", err
		}
		if len(held) > 0 {
			return fmt.Sprintf("[notice_%s] %s", held[0].State, held[0].Why), nil
		}
	}
	if ev.Kind == bus.Goal && l.o.Goals != nil {
		r, err := l.o.Goals.Trace(ctx, ev.ID)
		if err == nil && r != nil {
			return fmt.Sprintf("[%s] the review decided so: %s", r.Decision, r.Reason), nil
		}
	}
	denied, err := l.o.Guard.AuditLines(ctx, guard.AuditQuery{Event: ev.ID, Verdict: "deny", Limit: 1})
	if err != nil {
		return "", err
	}
	if len(denied) > 0 {
		return fmt.Sprintf("[denied] %s was not allowed: %s", denied[0].Tool, denied[0].Rule), nil
	}
	if ev.Kind == bus.System {
		return "[nothing_on] there was nothing to tell", nil
	}
	return "[nothing_to_say] what was done about it came to no words", nil
}

// undelivered finds what was worded and did not reach the owner, and what did.
func (l *Loop) undelivered(ctx context.Context, words []string, s *Silent) error {
	list, err := l.o.Bus.Deliveries(ctx, "", "", "", looksBack)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, d := range s.Told {
		known[d.ID] = true
	}
	for _, d := range list {
		switch {
		case d.CreatedAt.Before(s.Since) || !holds(d.Text, words) || d.Kind == channels.Send || known[d.ID]:
		case d.State == channels.Sent:
			if len(words) > 0 && len(s.Told) < mostSilent && d.Kind != channels.Reply {
				s.Told = append(s.Told, d)
			}
		case len(s.Deliveries) < mostSilent:
			s.Deliveries = append(s.Deliveries, d)
		}
	}
	s.Told = slices.DeleteFunc(s.Told, func(d bus.Delivery) bool { return d.Kind == channels.Reply && len(words) > 0 })
	return nil
}

// heldNotices finds the notices that did not go out at once.
func (l *Loop) heldNotices(ctx context.Context, words []string, s *Silent) error {
	if l.o.Notices == nil {
		return nil
	}
	list, err := l.o.Notices.List(ctx, "", "", looksBack)
	if err != nil {
		return err
	}
	for _, n := range list {
		if n.State != notify.Told && len(s.Notices) < mostSilent && !n.CreatedAt.Before(s.Since) && holds(n.Text+" "+n.Subject, words) {
			s.Notices = append(s.Notices, n)
		}
	}
	return nil
}

func holds(text string, words []string) bool {
	have := phrase.Fold(text)
	for _, w := range words {
		if !strings.Contains(have, phrase.Fold(w)) {
			return false
		}
	}
	return true
}

func (l *Loop) goalSilences(ctx context.Context, words []string, s *Silent) error {
	if l.o.Goals == nil {
		return nil
	}
	list, err := goals.ListIn(l.o.Store.Reader(ctx), false)
	if err != nil {
		return err
	}
	for _, g := range list {
		if len(s.Goals) == mostSilent || !holds(g.Description, words) {
			continue
		}
		one, err := l.goalSilence(ctx, g)
		if err != nil {
			return err
		}
		s.Goals = append(s.Goals, one)
	}
	return nil
}

// goalSilence says why a goal says nothing.
func (l *Loop) goalSilence(ctx context.Context, g goals.Goal) (GoalSilence, error) {
	out := GoalSilence{Goal: g}
	if g.Event != "" {
		r, err := l.o.Goals.Trace(ctx, g.Event)
		if err != nil {
			return out, err
		}
		out.Last = r
	}
	at := func(t time.Time) string { return t.In(l.o.Zone()).Format("2006-01-02 15:04") }
	switch goals.Status(g.Status) {
	case goals.Active:
	case goals.Waiting:
		out.Rule = "[waiting] it waits for your answer: hob approvals"
		return out, nil
	default:
		out.Rule = "[" + g.Status + "] it is not looked at any more"
		if goals.Status(g.Status) == goals.Paused {
			out.Rule = "[paused] hob goal resume " + g.ID + " sets it going again"
		}
		return out, nil
	}
	switch {
	case g.NextAt.IsZero():
		out.Rule = "[due] its review is under way"
	case g.Reviewed == 0:
		out.Rule = "[not_due] its first review is at " + at(g.NextAt)
	case g.Quiet > 0:
		out.Rule = fmt.Sprintf("[backing_off] nothing changed in its last %d review(s), so that it is looked at more seldom: next at %s", g.Quiet, at(g.NextAt))
	default:
		out.Rule = fmt.Sprintf("[%s] its last review decided so; the next is at %s", g.Last, at(g.NextAt))
	}
	return out, nil
}

// Text tells it in words.
func (s Silent) Text(zone *time.Location) string {
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
	section(len(s.Told), "Told after all:")
	for _, d := range s.Told {
		fmt.Fprintf(&b, "    %s  %s: %q\n", at(d.CreatedAt), wayOf(d, at), firstLine(d.Text))
	}
	section(len(s.Passed), "Seen and not told:")
	for _, p := range s.Passed {
		fmt.Fprintf(&b, "    %s (watcher %s)\n", p.Line(at), p.Watcher)
	}
	section(len(s.Goals), "Goals:")
	for _, g := range s.Goals {
		fmt.Fprintf(&b, "    %s %q: %s\n", g.Goal.ID, g.Goal.Name(), g.Rule)
		if g.Goal.Reason != "" {
			fmt.Fprintf(&b, "        its last reason: %q\n", firstLine(g.Goal.Reason))
		}
	}
	section(len(s.Events), "Came, and nothing was said:")
	for _, e := range s.Events {
		fmt.Fprintf(&b, "    %s  %s %s %q: %s\n", at(e.Event.ReceivedAt), e.Event.Kind, e.Event.ID, firstLine(e.Event.Text), e.Rule)
	}
	section(len(s.Deliveries), "Worded, and not with you yet:")
	for _, d := range s.Deliveries {
		fmt.Fprintf(&b, "    %s  %s: %q\n", at(d.CreatedAt), wayOf(d, at), firstLine(d.Text))
	}
	section(len(s.Notices), "Held for later, or dropped:")
	for _, n := range s.Notices {
		fmt.Fprintf(&b, "    %s: %q\n", n.Line(at), firstLine(n.Text))
	}
	section(len(s.Denied), "Not allowed unasked:")
	for _, r := range s.Denied {
		fmt.Fprintf(&b, "    %s  %s: %s (event %s)\n", at(r.At), r.Tool, r.Rule, r.Event)
	}
	if b.Len() == 0 {
		what := "Nothing"
		if s.About != "" {
			what = fmt.Sprintf("Nothing about %q", s.About)
		}
		return fmt.Sprintf("%s was held back since %s, as far as I saw: no watcher saw it and kept it to itself, no notice waits, nothing was denied. `hob watch list` tells what is watched.", what, at(s.Since))
	}
	return strings.TrimSpace(b.String())
}

// lastNotice is the id of the newest text that Hob said by itself, "" for none.
func (l *Loop) lastNotice(ctx context.Context) (id string, err error) {
	list, err := l.o.Bus.Deliveries(ctx, "", "", "", looksBack)
	for _, d := range list {
		if d.Kind == channels.Notice {
			return d.ID, err
		}
	}
	return "", err
}
