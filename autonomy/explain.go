package autonomy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/watchers"
)

// The kinds of questions that Explain answers.
const (
	WhyEvent        = "event"
	WhyTick         = "tick"
	WhyNotification = "notification"
	WhySilence      = "silence"
)

// Explanation answers a question: a Why, a Tick or a Silent.
type Explanation interface {
	// Text formats the explanation for users.
	Text(zone *time.Location) string
	// Source reports whether it quotes untrusted text.
	Source() provenance.Source
}

// Question identifies the event that the owner wants explained.
type Question struct {
	Kind string // "" is an event
	// About is an id; for a silence also words and "since TIME"; "" or "last" means the last
	// one.
	About   string
	Session string // where to find the last event; "" means anywhere
	Asked   string // the event of the question itself, which is not meant
}

// ParseWhyQuery parses a question as written on a command line: "tick last", "silence since 14:00",
// or an id alone.
func ParseWhyQuery(args string) Question {
	kind, rest, _ := strings.Cut(strings.TrimSpace(args), " ")
	if slices.Contains([]string{WhyEvent, WhyTick, WhyNotification, WhySilence}, kind) {
		return Question{Kind: kind, About: strings.TrimSpace(rest)}
	}
	return Question{About: strings.TrimSpace(args)}
}

// Explain answers why something happened, or did not.
func (l *Loop) Explain(ctx context.Context, q Question) (Explanation, error) {
	about := q.About
	if about == "last" {
		about = ""
	}
	switch q.Kind {
	case WhyTick:
		return l.Tick(ctx, about)
	case WhySilence:
		return l.Silence(ctx, about)
	case WhyNotification:
		if about == "" {
			id, err := l.lastNotice(ctx)
			if err != nil || id == "" {
				return noNotice(), err
			}
			about = id
		}
		return l.Why(ctx, about, "")
	case "", WhyEvent:
		if about == "" && q.Asked != "" {
			return l.whyBefore(ctx, q)
		}
		return l.Why(ctx, about, q.Session)
	}
	return nil, fmt.Errorf("%w: %q cannot be explained; there are event, tick, notification and silence", ErrUnclear, q.Kind)
}

// whyBefore explains the events before the question.
func (l *Loop) whyBefore(ctx context.Context, q Question) (Why, error) {
	list, err := l.o.Bus.List(ctx, q.Session, "", 100)
	if err != nil {
		return Why{}, err
	}
	for _, e := range list {
		if e.ID != q.Asked && (e.Kind != bus.Message || e.Lane == e.Session) {
			return l.Why(ctx, e.ID, q.Session)
		}
	}
	return emptyWhy(), nil
}

func noNotice() Why {
	w := emptyWhy()
	w.instead = "I have not sent you a notification yet."
	return w
}

// Source implements Explanation.
func (w Why) Source() provenance.Source {
	out := provenance.Worst(provenance.Tool, w.Event.Provenance)
	for _, c := range w.Calls {
		out = provenance.Worst(out, c.Source)
	}
	if len(w.Origins) > 0 {
		out = provenance.Outside
	}
	return out
}

// Source implements Explanation.
func (t Tick) Source() provenance.Source {
	out := provenance.Tool
	for _, w := range t.Events {
		out = provenance.Worst(out, w.Source())
	}
	return out
}

// Source implements Explanation.
func (s SilenceReport) Source() provenance.Source {
	if len(s.Passed)+len(s.Events)+len(s.Deliveries)+len(s.Told)+len(s.Notices)+len(s.Denied) > 0 {
		return provenance.Outside
	}
	out := provenance.Tool
	for _, g := range s.Goals {
		out = provenance.Worst(out, g.Goal.Provenance, g.Goal.ReasonFrom)
	}
	for _, w := range s.Watchers {
		out = provenance.Worst(out, w.Watcher.Provenance)
		quotes := func(h watchers.Hold) bool { return h.Error != "" }
		if len(w.Passed) > 0 || slices.ContainsFunc(w.Holds, quotes) {
			out = provenance.Outside
		}
	}
	return out
}
