// Package explain answers why something happened or did not happen. It reads the traces, the
// ledger, the audit log, the queues and the origins of untrusted text, and formats what they
// contain. It does not change data. The commands `hob why` and `hob audit show`, the chat command
// /why, the explain tool and the API use it.
package explain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/autonomy/usage"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/templates"
	"hob/tools"
	"hob/watchers"
)

// Options holds the options of New. Options without a documented default are required.
type Options struct {
	Store *store.Store
	Bus   *bus.Bus
	Guard *guard.Guard
	// Goals and Notices may be nil if they are not used.
	Goals   *goals.Goals
	Notices *notify.Notifier
	// Watchers explains why watchers are silent. Nil disables this.
	Watchers Watchers
	// Models returns the model that was chosen for a turn, and Costs the cost of the turn. If one
	// is nil, that information is omitted.
	Models ModelChoices
	Costs  EventCosts
	// Zone returns the user's current time zone.
	Zone func() *time.Location
	Log  *slog.Logger // nil discards all messages
}

// Watchers explains why watchers are silent. *watchers.Manager implements it.
type Watchers interface {
	Silence(ctx context.Context, id string) (watchers.Silence, error)
	Passed(ctx context.Context, words []string, since time.Time, limit int) ([]watchers.SuppressedSignal, error)
	Find(ctx context.Context, words string, f watchers.Filter) (watchers.Spec, error)
	List(ctx context.Context, f watchers.Filter) ([]watchers.Spec, error)
}

// ModelChoices returns which model was chosen for an event's turn, and why. *modelrouter.Models
// implements it.
type ModelChoices interface {
	Lookup(ctx context.Context, event string) (model, reason string, ok bool, err error)
}

// EventCosts returns the number of model calls for an event and their cost, which is nil if a price
// is not known. *usage.Tracker implements it.
type EventCosts interface {
	Of(ctx context.Context, event string) (calls int, cost *usage.Micros, err error)
}

// Explainer answers questions about events, ticks and missing notices. Its methods may be called
// concurrently.
type Explainer struct{ o Options }

// New returns an Explainer after checking the options.
func New(o Options) (*Explainer, error) {
	if o.Store == nil || o.Bus == nil || o.Guard == nil || o.Zone == nil {
		return nil, errors.New("explain: Options needs Store, Bus, Guard and Zone")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Explainer{o: o}, nil
}

// The kinds of questions that Explain answers.
const (
	WhyEvent        = "event"
	WhyTick         = "tick"
	WhyNotification = "notification"
	WhySilence      = "silence"
)

// Explanation is the answer to a question: a Why, a Tick or a SilenceReport.
type Explanation interface {
	// Text formats the explanation for users.
	Text(zone *time.Location) string
	// Source returns Outside if the explanation quotes untrusted text.
	Source() provenance.Source
}

// ParseQuestion parses a question as written on a command line: "tick last", "silence since 14:00",
// or an id alone.
func ParseQuestion(args string) tools.ExplainRequest {
	kind, rest, _ := strings.Cut(strings.TrimSpace(args), " ")
	if slices.Contains([]string{WhyEvent, WhyTick, WhyNotification, WhySilence}, kind) {
		return tools.ExplainRequest{Kind: kind, About: strings.TrimSpace(rest)}
	}
	return tools.ExplainRequest{About: strings.TrimSpace(args)}
}

// ExplainForTool is like Explain, but for the tool explain: it returns text and tool errors.
func (x *Explainer) ExplainForTool(ctx context.Context, q tools.ExplainRequest) (tools.Result, error) {
	out, err := x.Explain(ctx, q)
	switch {
	case errors.Is(err, ErrUnclear):
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	case errors.Is(err, bus.ErrNotFound):
		return tools.Result{}, tools.Errorf(tools.NotFound, "%w", tools.CleanErr(err))
	case err != nil:
		return tools.Result{}, err
	}
	return tools.Result{Text: out.Text(x.o.Zone()), Source: out.Source()}, nil
}

// Explain answers why something happened or did not happen.
func (x *Explainer) Explain(ctx context.Context, q tools.ExplainRequest) (Explanation, error) {
	about := q.About
	if about == "last" {
		about = ""
	}
	switch q.Kind {
	case WhyTick:
		return x.ExplainTick(ctx, about)
	case WhySilence:
		return x.ExplainSilence(ctx, about)
	case WhyNotification:
		if about == "" {
			id, err := x.lastNotice(ctx)
			if err != nil || id == "" {
				return noNotice(), err
			}
			about = id
		}
		return x.ExplainEvent(ctx, about, "")
	case "", WhyEvent:
		if about == "" && q.Asked != "" {
			return x.whyBefore(ctx, q)
		}
		if about == "" && q.Session == "" {
			if w, ok, err := x.whyTemplate(ctx); ok || err != nil {
				return w, err
			}
		}
		return x.ExplainEvent(ctx, about, q.Session)
	}
	return nil, fmt.Errorf("%w: %q cannot be explained; use event, tick, notification or silence", ErrUnclear, q.Kind)
}

// whyBefore explains the event before the question. Earlier questions of this kind do not count.
func (x *Explainer) whyBefore(ctx context.Context, q tools.ExplainRequest) (Why, error) {
	list, err := x.o.Bus.Inbox.List(ctx, q.Session, "", 100)
	if err != nil {
		return Why{}, err
	}
	for _, e := range list {
		if e.ID == q.Asked || e.Kind == bus.Message && e.Lane != e.Session {
			continue
		}
		calls, err := x.o.Bus.Ledger.Calls(ctx, e.ID)
		if err != nil {
			return Why{}, err
		}
		if len(calls) == 0 || slices.ContainsFunc(calls, func(c bus.Entry) bool { return c.Tool != "explain" }) {
			return x.ExplainEvent(ctx, e.ID, q.Session)
		}
	}
	return emptyWhy(), nil
}

// TemplateAction is the audited action of a user who applies or resets a template.
const TemplateAction = "template"

// templateWindow is the time after a change of the template in which the first reviews of its goals
// count as its results.
const templateWindow = 15 * time.Minute

// whyTemplate explains the last change of the template. ok is false if you have done something else
// since then, or if later events do not come from the change.
func (x *Explainer) whyTemplate(ctx context.Context) (w Why, ok bool, err error) {
	rows, err := x.o.Guard.AuditLines(ctx, guard.AuditQuery{Action: TemplateAction, Actor: "owner", Limit: 1})
	if err != nil || len(rows) == 0 {
		return w, false, err
	}
	change := rows[0]
	list, err := x.o.Bus.Inbox.List(ctx, "", "", 100)
	if err != nil {
		return w, false, err
	}
	var since []bus.Event
	for _, e := range list {
		if e.ReceivedAt.Before(change.At) {
			break
		}
		calls, err := x.o.Bus.Ledger.Calls(ctx, e.ID)
		if err != nil {
			return w, false, err
		}
		if isReadOnly(e, calls) || len(calls) == 1 && calls[0].Tool == templates.ChangeTool {
			continue
		}
		if e.Kind != bus.Goal || e.ReceivedAt.Sub(change.At) > templateWindow {
			return w, false, nil
		}
		since = append(since, e)
	}
	w = emptyWhy()
	w.Nothing, w.Audit = false, rows
	w.instead = x.describeTemplateChange(change, since)
	return w, true, nil
}

func (x *Explainer) describeTemplateChange(change guard.Record, since []bus.Event) string {
	name, applied := strings.CutPrefix(change.Outcome, "template:")
	how := "through the command line"
	if change.Origin != "api" {
		how = "in the " + change.Origin
	}
	what := "reset the template"
	if applied {
		what = "switched to the template " + name
	}
	at := func(t time.Time) string { return t.In(x.o.Zone()).Format("15:04:05") }
	var b strings.Builder
	fmt.Fprintf(&b, "On %s at %s you %s %s.", change.At.In(x.o.Zone()).Format(time.DateOnly), at(change.At), what, how)
	if applied {
		fmt.Fprintf(&b, " Its contents: hob template info %s. Revert with: hob template reset.", name)
	}
	for _, e := range slices.Backward(since) {
		fmt.Fprintf(&b, "\nAt %s Hob then reviewed a goal: %q. Why: hob why %s", at(e.ReceivedAt), textnorm.FirstLine(e.Text), e.ID)
	}
	return b.String()
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
