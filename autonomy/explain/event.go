package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/autonomy/payload"
	"hob/autonomy/trace"
	"hob/autonomy/undo"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Why holds everything known about one event: its content, the decisions and their authority, the
// actions and the answers.
type Why struct {
	Event bus.Event   `json:"event,omitzero"`
	Trace *trace.Turn `json:"trace,omitempty"`
	// Nothing reports whether there is nothing to explain yet.
	Nothing bool   `json:"nothing,omitempty"`
	instead string // the text to show if the answer is not about an event
	// Origins lists the sources of the event's untrusted text. Thing is the item that the question
	// names, if any.
	Origins    []provenance.Origin `json:"origins,omitempty"`
	Thing      *ItemOrigin         `json:"thing,omitempty"`
	Calls      []bus.Entry         `json:"calls"`
	Approvals  []guard.Approval    `json:"approvals"`
	Audit      []guard.Record      `json:"audit"`
	Deliveries []bus.Delivery      `json:"deliveries"`
	sends      []bus.ScheduledSend // the delayed calls among Calls
	Spent      *Spent              `json:"spent,omitempty"`
	// Ticks lists the ticks that claimed the event, oldest first.
	Ticks []trace.Tick `json:"ticks,omitempty"`
	// Notices lists the outcomes of notices about the event.
	Notices []notify.Notice `json:"notices,omitempty"`
	// Goal is the result of the event if the event belongs to a goal.
	Goal *goals.ReviewRecord `json:"goal,omitempty"`
}

// Spent holds the model chosen for a turn, the reason for the choice, and the usage.
type Spent struct {
	Model   string   `json:"model"`
	Reason  string   `json:"reason"`
	Calls   int      `json:"model_calls"`
	CostUSD *float64 `json:"cost_usd"` // null means that no price is known
	Cost    string   `json:"-"`        // cost in a form for people
}

const nothingYet = "Nothing has happened here yet, so there is nothing to explain. Send a message first (`hob ask hello`), or ask about missing notifications: `hob why silence`."

// ExplainEvent explains an event, a delivery or the last firing of a watcher. If id is "", it
// explains the last event in the session, or in any session if session is empty. If there are no
// events yet, it returns a Why with Nothing set, and no error.
func (x *Explainer) ExplainEvent(ctx context.Context, id, session string) (Why, error) {
	var w Why
	ev, err := x.findEvent(ctx, id, session)
	if errors.Is(err, bus.ErrNotFound) && id == "" {
		return emptyWhy(), nil
	}
	if errors.Is(err, bus.ErrNotFound) {
		w.Thing, ev, err = x.madeIn(ctx, id, err)
	}
	if err != nil {
		return w, err
	}
	w.Event = ev
	if w.Trace, err = trace.ReadTurn(x.o.Store.Reader(ctx), ev.ID); err != nil {
		return w, err
	}
	if w.Ticks, err = trace.EventTicks(x.o.Store.Reader(ctx), ev.ID); err != nil {
		return w, err
	}
	if x.o.Notices != nil {
		if w.Notices, err = x.o.Notices.Why(ctx, ev.ID); err != nil {
			return w, err
		}
	}
	if w.Calls, err = x.o.Bus.Ledger.Calls(ctx, ev.ID); err != nil {
		return w, err
	}
	if err = x.traceOrigins(ctx, &w); err != nil {
		return w, err
	}
	if w.Event.Kind == bus.Goal && x.o.Goals != nil {
		if w.Goal, err = x.o.Goals.Trace(ctx, ev.ID); err != nil {
			return w, err
		}
	}
	if w.Approvals, err = x.o.Guard.Approvals(ctx, "", "", ev.ID, 100); err != nil {
		return w, err
	}
	if w.Audit, err = x.o.Guard.Audit(ctx, ev.ID, 0, 100); err != nil {
		return w, err
	}
	if w.Deliveries, err = x.o.Bus.Outbox.EventDeliveries(ctx, ev.ID); err != nil {
		return w, err
	}
	if w.sends, err = x.o.Bus.Scheduled.EventCalls(ctx, ev.ID); err != nil {
		return w, err
	}
	w.Spent, err = x.readSpent(ctx, ev.ID)
	return w, err
}

// readSpent returns the model of an event's turn and the usage, or nil if no model was used.
func (x *Explainer) readSpent(ctx context.Context, event string) (*Spent, error) {
	var s Spent
	var err error
	if x.o.Models != nil {
		if s.Model, s.Reason, _, err = x.o.Models.Lookup(ctx, event); err != nil {
			return nil, err
		}
	}
	if x.o.Costs != nil {
		calls, cost, err := x.o.Costs.Of(ctx, event)
		if err != nil {
			return nil, err
		}
		if s.Calls = calls; cost != nil {
			s.CostUSD, s.Cost = new(cost.USD()), cost.String()
		}
	}
	if s.Model == "" && s.Calls == 0 {
		return nil, nil
	}
	return &s, nil
}

// emptyWhy returns the answer for a home without events.
func emptyWhy() Why {
	return Why{
		Nothing: true, instead: nothingYet,
		Calls: []bus.Entry{}, Approvals: []guard.Approval{}, Audit: []guard.Record{}, Deliveries: []bus.Delivery{},
	}
}

func (x *Explainer) findEvent(ctx context.Context, id, session string) (bus.Event, error) {
	if id == "" {
		list, err := x.o.Bus.Inbox.List(ctx, session, "", 100)
		if err != nil {
			return bus.Event{}, err
		}
		for _, e := range list {
			if e.Kind == bus.Message && e.Lane != e.Session {
				continue
			}
			if look, err := x.isReadOnlyCommand(ctx, e); err != nil || !look {
				return e, err
			}
		}
		return bus.Event{}, bus.ErrNotFound
	}
	ev, err := x.o.Bus.Inbox.Event(ctx, id)
	if !errors.Is(err, bus.ErrNotFound) {
		return ev, err
	}
	if e, derr := x.o.Bus.Outbox.DeliveryEvent(ctx, id); derr == nil {
		return x.o.Bus.Inbox.Event(ctx, e)
	}
	if c, cerr := x.o.Bus.Ledger.Call(ctx, id); cerr == nil {
		return x.o.Bus.Inbox.Event(ctx, c.Event)
	}
	if x.o.Notices != nil {
		if n, nerr := x.o.Notices.Why(ctx, id); nerr == nil && len(n) > 0 {
			return x.o.Bus.Inbox.Event(ctx, n[0].Event)
		}
	}
	for _, kind := range []bus.Kind{bus.Watcher, bus.Schedule, bus.Goal} {
		if list, lerr := x.o.Bus.Inbox.List(ctx, string(kind)+":"+id, "", 1); lerr == nil && len(list) > 0 {
			return list[0], nil
		}
	}
	return ev, err
}

// isReadOnlyCommand reports whether an event is a read-only command, such as `hob status`. Users do
// not ask for the reasons of such commands.
func (x *Explainer) isReadOnlyCommand(ctx context.Context, e bus.Event) (bool, error) {
	if e.Kind != bus.Task {
		return false, nil
	}
	calls, err := x.o.Bus.Ledger.Calls(ctx, e.ID)
	return isReadOnly(e, calls), err
}

func isReadOnly(e bus.Event, calls []bus.Entry) bool {
	return e.Kind == bus.Task && len(calls) > 0 && !slices.ContainsFunc(calls, func(c bus.Entry) bool { return c.Effects != tools.Read.String() })
}

// describeDelivery describes the target and the state of a delivery.
func describeDelivery(d bus.Delivery, at func(time.Time) string) string {
	s := fmt.Sprintf("%s to %s on %s, %s", d.Kind, d.Session, d.Channel, d.State)
	if d.Kind == channels.Send {
		s = fmt.Sprintf("send on %s, %s", strings.TrimSuffix(d.Channel+" to "+d.Chat, " to "), d.State)
	}
	switch {
	case d.Error != "":
		s += " (" + textnorm.FirstLine(d.Error) + ")"
	case d.Kind == channels.Send && d.State == channels.Queued:
		s += ", will be sent at " + at(d.NotBefore)
	}
	return s
}

// describeSend describes the state of a delayed call.
func describeSend(s bus.ScheduledSend, at func(time.Time) string) string {
	text := fmt.Sprintf("%s: %s", s.What, s.State)
	switch s.State {
	case bus.SendWaiting:
		text += ", will be sent at " + at(s.At)
	case bus.SendSent, bus.SendCancelled:
		text += " at " + at(s.EndedAt)
	}
	if s.Error != "" {
		text += " (" + textnorm.FirstLine(s.Error) + ")"
	}
	return text
}

// Text explains the event for users: first the cause and what Hob did, as a person would answer, then the
// details, one sentence per line. See SplitDetails.
func (w Why) Text(zone *time.Location) string {
	if w.instead != "" {
		return w.instead
	}
	return w.writeAnswer(zone) + api.WhyDetails + w.describeDetails(zone)
}

// describeDetails returns everything known about the event, one sentence per line.
func (w Why) describeDetails(zone *time.Location) string {
	if w.instead != "" {
		return w.instead
	}
	var b strings.Builder
	day := w.Event.ReceivedAt.In(zone).Format(time.DateOnly)
	at := func(t time.Time) string { // the first line has the day
		return strings.TrimPrefix(t.In(zone).Format("2006-01-02 15:04:05"), day+" ")
	}
	if w.Thing != nil {
		b.WriteString(w.Thing.formatText(at))
	}
	fmt.Fprintf(&b, "On %s at %s %s: %q\n", day, at(w.Event.ReceivedAt), describeCause(w.Event), textnorm.FirstLine(w.Event.Text))
	writeOrigins(&b, "It contains", w.Origins)
	for _, c := range w.Calls {
		fmt.Fprintf(&b, "At %s Hob called the tool %s, which %s. %s\n", at(c.StartedAt), c.Tool, describeCallState(c), describeDecision(c.Decision))
		if done := undo.Describe(c); done != "" {
			b.WriteString("    " + done + "\n")
		}
		if !c.UndoneAt.IsZero() {
			fmt.Fprintf(&b, "    This was undone at %s (%s).\n", at(c.UndoneAt), c.UndoLabel)
		}
		for _, s := range w.sends {
			if s.Call == c.Call {
				b.WriteString("    " + describeSend(s, at) + "\n")
			}
		}
		writeOrigins(&b, "Before this call, Hob had read", c.Origins)
		writeOrigins(&b, "The result contains", c.Returned)
	}
	for _, r := range w.Audit {
		if r.Action == "hook" {
			fmt.Fprintf(&b, "At %s your %s (%s): %s\n", at(r.At), r.Rule, strings.TrimSpace(r.Origin+" "+r.Tool), r.Outcome)
		}
	}
	if w.Goal != nil {
		b.WriteString(w.Goal.Text(at))
	}
	for _, a := range w.Approvals {
		fmt.Fprintf(&b, "At %s Hob asked you: %s, because %s. %s\n", at(a.CreatedAt), a.API().Sentence(), a.Reason, describeAnswer(a))
		if a.Provenance.Tainted() {
			fmt.Fprintf(&b, "    Before this request, Hob had read text from %s.\n", a.API().OriginNames())
		}
	}
	for _, d := range w.Deliveries {
		verb := "wrote this"
		if d.Kind == channels.Send {
			verb = "prepared a"
		}
		fmt.Fprintf(&b, "At %s Hob %s %s: %q\n", at(d.CreatedAt), verb, describeDelivery(d, at), textnorm.FirstLine(d.Text))
	}
	for _, n := range w.Notices {
		b.WriteString(n.Line(at) + "\n")
	}
	w.writeOutcome(&b, at)
	for _, t := range w.Ticks {
		fmt.Fprintf(&b, "\nThe main loop (iteration %s at %s, woken by: %s) decided: %s; %s.", t.Tick, at(t.At), t.Woke, t.Rule, t.State)
	}
	return strings.TrimSpace(b.String())
}

// describeCause describes what started an event.
func describeCause(e bus.Event) string {
	mine := e.Provenance == provenance.Owner
	switch {
	case e.Kind == bus.Message && mine:
		return "you wrote through " + e.Source
	case e.Kind == bus.Task && mine && e.Source == "tool":
		return "you ran the tool"
	}
	what := "the " + payload.SourceName(e) + " started this"
	if e.Kind == bus.Message {
		what = "a message arrived through " + e.Source
	}
	if e.Provenance.Tainted() {
		what += " with untrusted text"
	}
	return what
}

// describeAnswer describes the answer to an approval request.
func describeAnswer(a guard.Approval) string {
	through := ""
	if a.DecidedBy != "" {
		through = " through " + a.DecidedBy
	}
	switch a.State {
	case guard.Pending:
		return "The request is still open."
	case guard.Approved:
		return "You approved it" + through + "."
	case guard.Denied:
		return "You denied it" + through + "."
	case guard.TimedOut:
		return "You did not answer in time."
	case guard.Cancelled:
		return "The request was canceled."
	}
	return "The request is " + string(a.State) + through + "."
}

// describeCallState describes the result of a tool call as the end of a sentence.
func describeCallState(c bus.Entry) string {
	text := map[bus.CallState]string{
		bus.CallStarted: "is still running", bus.CallDone: "succeeded", bus.CallFailed: "failed",
		bus.CallDenied: "was denied", bus.CallUnknown: "may have taken effect, but Hob does not know its result",
	}[c.State]
	if c.Code != "" {
		text += " (" + strings.ReplaceAll(c.Code, "_", " ") + ")"
	}
	return text
}

// describeDecision describes a decision of the guard, such as "allow: write, owner asked, clean".
func describeDecision(decision string) string {
	verdict, rule, _ := strings.Cut(decision, ": ")
	if verb := map[string]string{"allow": "allowed it", "ask": "required your approval", "deny": "denied it"}[verdict]; verb != "" {
		return strings.TrimSuffix("The policy check "+verb+": "+rule, ": ") + "."
	}
	return "The policy check decided: " + decision + "."
}

// writeOutcome writes the model with its cost, and how the event ended.
func (w Why) writeOutcome(b *strings.Builder, at func(time.Time) string) {
	if s := w.Spent; s != nil {
		cost := "its cost is unknown"
		if s.CostUSD != nil {
			cost = "they cost " + s.Cost
		}
		fmt.Fprintf(b, "The model %s was chosen: %s. Model calls: %d; %s.\n", s.Model, s.Reason, s.Calls, cost)
	}
	switch {
	case w.Trace != nil:
		what := map[string]string{"turn": "The turn", "error": "The turn", "command": "The command"}[w.Trace.How]
		fmt.Fprintf(b, "%s ended at %s", cmp.Or(what, "It"), at(w.Trace.EndedAt))
		if w.Trace.How == "error" {
			b.WriteString(" with an error")
		}
		if w.Trace.Model != "" {
			fmt.Fprintf(b, ", answered by %s in %s", w.Trace.Model, countOf(w.Trace.Rounds, "round", "rounds"))
		}
		b.WriteString(".")
	case w.Event.State == bus.Dead:
		fmt.Fprintf(b, "Hob gave up after %s: %s.", countTries(w.Event), strings.TrimSuffix(w.Event.Error, "."))
	case w.Event.State == bus.Done:
		b.WriteString("It is done.")
	default:
		fmt.Fprintf(b, "It is still %s after %s.", w.Event.State, countTries(w.Event))
		if w.Event.Error != "" {
			b.WriteString(" The last error was: " + w.Event.Error)
		}
	}
}

// countTries describes how often Hob has tried to handle an event.
func countTries(e bus.Event) string {
	s := countOf(e.Attempts, "attempt", "attempts")
	if e.Crashes > 0 {
		s += " and " + countOf(e.Crashes, "crash", "crashes")
	}
	return s
}

func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Tick is one iteration of the loop that had an input.
type Tick struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	Woke   string    `json:"woke"`
	Events []Why     `json:"events"`
	// Nothing reports whether no tick has had an input yet.
	Nothing bool `json:"nothing,omitempty"`
}

// ExplainTick explains one tick, given its id or the id of one of its events. "" or "last" means
// the last tick with an input.
func (x *Explainer) ExplainTick(ctx context.Context, id string) (Tick, error) {
	q := x.o.Store.Reader(ctx)
	if id == "last" {
		id = ""
	}
	t := Tick{Events: []Why{}}
	var err error
	if t.ID, err = trace.FindTick(q, id); err != nil {
		return t, err
	}
	switch {
	case t.ID == "" && id == "":
		t.Nothing = true
		return t, nil
	case t.ID == "":
		return t, fmt.Errorf("no tick and no event has the id %q: %w", id, bus.ErrNotFound)
	}
	rows, err := trace.TickEvents(q, t.ID)
	if err != nil {
		return t, err
	}
	for _, r := range rows {
		t.At, t.Woke = r.At, r.Woke
		w, err := x.ExplainEvent(ctx, r.Event, "")
		if errors.Is(err, bus.ErrNotFound) { // the event has been erased since
			continue
		}
		if err != nil {
			return t, err
		}
		t.Events = append(t.Events, w)
	}
	return t, nil
}

// Text formats the explanation for users.
func (t Tick) Text(zone *time.Location) string {
	if t.Nothing {
		return "No tick has had an input yet: nothing has arrived and nothing was due."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Iteration %s of the main loop began at %s, woken by: %s. Events: %d.\n", t.ID, t.At.In(zone).Format("2006-01-02 15:04:05"), t.Woke, len(t.Events))
	for _, w := range t.Events {
		b.WriteString("\n" + w.describeDetails(zone) + "\n")
	}
	return strings.TrimSpace(b.String())
}
