package explain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/autonomy/trace"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
)

// collectSuppressed collects the events without a notice. It skips the owner's own messages,
// because they always get an answer.
func (x *Explainer) collectSuppressed(ctx context.Context, events []bus.Event, words []string, s *SilenceReport) error {
	for _, ev := range events {
		if len(s.Events) == mostSilent {
			return nil
		}
		if ev.ReceivedAt.Before(s.Since) || ev.Kind == bus.Message && ev.Provenance == provenance.Owner || ev.Kind == bus.Task || !textnorm.ContainsAllWords(ev.Text, words) {
			continue
		}
		said, err := x.o.Bus.Outbox.EventDeliveries(ctx, ev.ID)
		if err != nil {
			return err
		}
		said = slices.DeleteFunc(said, func(d bus.Delivery) bool { return d.Kind == channels.Send }) // a send goes to another person
		if len(said) > 0 {
			if s.About != "" {
				s.addDeliveries(said)
			}
			continue
		}
		rule, err := x.unsaidRule(ctx, ev)
		if err != nil {
			return err
		}
		s.Events = append(s.Events, SuppressedEvent{ev, rule})
	}
	return nil
}

// unsaidRule explains why an event has no notice.
func (x *Explainer) unsaidRule(ctx context.Context, ev bus.Event) (string, error) {
	switch ev.State {
	case bus.Done:
	case bus.Dead:
		return "[given_up] after " + countTries(ev) + ": " + ev.Error, nil
	default:
		last, err := trace.LastTick(x.o.Store.Reader(ctx), ev.ID)
		if err != nil || last == nil {
			return "[not_done_yet] it is " + string(ev.State), err
		}
		return "[not_done_yet] " + last.Rule, nil
	}
	if x.o.Notices != nil {
		held, err := x.o.Notices.Why(ctx, ev.ID)
		if err != nil {
			return "", err
		}
		if len(held) > 0 {
			return fmt.Sprintf("[notice_%s] %s", held[0].State, held[0].Why), nil
		}
	}
	if ev.Kind == bus.Goal && x.o.Goals != nil {
		r, err := x.o.Goals.Trace(ctx, ev.ID)
		if err != nil {
			return "", err
		}
		if r != nil {
			return fmt.Sprintf("[%s] decision of the last review: %s", r.Decision, r.Reason), nil
		}
	}
	denied, err := x.o.Guard.AuditLines(ctx, guard.AuditQuery{Event: ev.ID, Verdict: "deny", Limit: 1})
	if err != nil {
		return "", err
	}
	if len(denied) > 0 {
		return fmt.Sprintf("[denied] %s was not allowed: %s", denied[0].Tool, denied[0].Rule), nil
	}
	if ev.Kind == bus.System {
		return "[nothing_on] there was nothing to report", nil
	}
	return "[nothing_to_say] its turn ended without a message", nil
}

// collectUndelivered collects the messages to the owner and separates those that arrived from those
// that did not.
func (x *Explainer) collectUndelivered(ctx context.Context, words []string, s *SilenceReport) error {
	list, err := x.o.Bus.Outbox.Deliveries(ctx, "", "", "", looksBack)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, d := range slices.Concat(s.Told, s.Deliveries) {
		known[d.ID] = true
	}
	for _, d := range list {
		switch {
		case d.CreatedAt.Before(s.Since) || !textnorm.ContainsAllWords(d.Text, words) || d.Kind == channels.Send || known[d.ID]:
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

// heldNotices collects the notices that were not sent immediately.
func (x *Explainer) heldNotices(ctx context.Context, words []string, s *SilenceReport) error {
	if x.o.Notices == nil {
		return nil
	}
	list, err := x.o.Notices.List(ctx, "", "", looksBack)
	if err != nil {
		return err
	}
	for _, n := range list {
		if n.State == notify.Told || len(s.Notices) == mostSilent || n.CreatedAt.Before(s.Since) {
			continue
		}
		if n.Text == "" { // the notice repeats another one
			if n.Text, err = x.o.Notices.NoticeText(ctx, n); err != nil {
				return err
			}
		}
		if textnorm.ContainsAllWords(n.Text+" "+n.Subject, words) {
			s.Notices = append(s.Notices, n)
		}
	}
	return nil
}

// lastNotice returns the id of the newest notice from Hob, or "".
func (x *Explainer) lastNotice(ctx context.Context) (id string, err error) {
	list, err := x.o.Bus.Outbox.Deliveries(ctx, "", "", "", looksBack)
	for _, d := range list {
		if d.Kind == channels.Notice {
			return d.ID, err
		}
	}
	return "", err
}

// GoalSilence explains why a goal sends no notices.
type GoalSilence struct {
	Goal goals.Goal          `json:"goal"`
	Rule string              `json:"rule"`
	Last *goals.ReviewRecord `json:"last,omitempty"`
}

var goalID = lazyregexp.New(`^g-[a-z0-9]+$`)

func (x *Explainer) goalSilences(ctx context.Context, words []string, s *SilenceReport) error {
	if x.o.Goals == nil {
		return nil
	}
	list, err := goals.ListIn(x.o.Store.Reader(ctx), false)
	if err != nil {
		return err
	}
	for _, g := range list {
		if len(s.Goals) == mostSilent || !textnorm.ContainsAllWords(g.Description, words) {
			continue
		}
		one, err := x.goalSilence(ctx, g)
		if err != nil {
			return err
		}
		s.Goals = append(s.Goals, one)
	}
	return nil
}

// goalSilence explains why a goal sends no notices.
func (x *Explainer) goalSilence(ctx context.Context, g goals.Goal) (GoalSilence, error) {
	out := GoalSilence{Goal: g}
	if g.Event != "" {
		r, err := x.o.Goals.Trace(ctx, g.Event)
		if err != nil {
			return out, err
		}
		out.Last = r
	}
	at := func(t time.Time) string { return t.In(x.o.Zone()).Format("2006-01-02 15:04") }
	switch goals.Status(g.Status) {
	case goals.Active:
	case goals.Waiting:
		out.Rule = "[waiting] waiting for your answer: hob approvals"
		return out, nil
	default:
		out.Rule = "[" + g.Status + "] its reviews have ended"
		if goals.Status(g.Status) == goals.Paused {
			out.Rule = "[paused] hob goal resume " + g.ID + " resumes it"
		}
		return out, nil
	}
	switch {
	case g.NextAt.IsZero():
		out.Rule = "[due] its review is queued or running"
	case g.Reviewed == 0:
		out.Rule = "[not_due] its first review is at " + at(g.NextAt)
	case g.Quiet > 0:
		out.Rule = fmt.Sprintf("[backing_off] nothing changed in its last %d review(s), so the reviews are less frequent: next at %s", g.Quiet, at(g.NextAt))
	default:
		out.Rule = fmt.Sprintf("[%s] this was the decision of its last review; the next one is at %s", g.Last, at(g.NextAt))
	}
	return out, nil
}
