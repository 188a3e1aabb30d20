package simulate

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/channels"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// Kind is the kind of a timeline entry.
type Kind string

// The kinds of entries.
const (
	Start   Kind = "start"
	End     Kind = "end"
	Gone    Kind = "away"    // Hob is not running
	Quiet   Kind = "quiet"   // a day without due work
	Heard   Kind = "hear"    // a message was received
	Notice  Kind = "notice"  // a watcher or schedule fired, or a goal was due
	Decide  Kind = "decide"  // the result of a goal review
	Do      Kind = "do"      // a tool was used
	Would   Kind = "would"   // a tool would have had an effect outside Hob
	Denied  Kind = "denied"  // a tool was not allowed
	Ask     Kind = "ask"     // an approval was requested
	Answers Kind = "answer"  // the user's answer to an approval request, or a note that there was none
	Say     Kind = "say"     // a message from Hob
	Hold    Kind = "hold"    // a message was deferred
	Failed  Kind = "failed"  // an operation failed
	Differs Kind = "differs" // the reply differs from the one on the replayed day
	Problem Kind = "problem" // the script does not match the simulation
)

// Entry is one line of the timeline.
type Entry struct {
	At   time.Time `json:"at"`
	Kind Kind      `json:"kind"`
	Text string    `json:"text"`
	// Event identifies the entry's event: e1 is the first event.
	Event string `json:"event,omitempty"`
	// Source is the kind of the event: message, watcher, schedule, goal, ...
	Source  string `json:"source,omitempty"`
	Session string `json:"session,omitempty"`
	Channel string `json:"channel,omitempty"`
	Tool    string `json:"tool,omitempty"`
	// Rule is the guard's rule, or the name of the decision maker.
	Rule       string   `json:"rule,omitempty"`
	ModelCalls int      `json:"model_calls,omitempty"`
	CostUSD    *float64 `json:"cost_usd,omitempty"`

	n int // position in the order in which entries were added
}

// Result is the result of a simulation.
type Result struct {
	Start      time.Time `json:"start"`
	End        time.Time `json:"end"`
	Zone       string    `json:"zone"`
	Days       int       `json:"days"`
	Inputs     int       `json:"inputs"`
	Ticks      int64     `json:"ticks"`
	Events     int       `json:"events"`
	ModelCalls int       `json:"model_calls"`
	// CostUSD is the cost of the calls with a known price. Unpriced is the number of other calls.
	CostUSD  float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced_calls"`
	// Replayed is the number of replayed events, Differences the number of those with a different
	// reply.
	Replayed    int     `json:"replayed,omitempty"`
	Differences int     `json:"differences,omitempty"`
	Timeline    []Entry `json:"timeline"`
}

// timeline collects the entries of the timeline.
type timeline struct {
	zone   *time.Location
	ticks  int64
	inputs int

	mu   sync.Mutex
	list []Entry
}

func (t *timeline) addEntry(e Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.n = len(t.list)
	e.At = e.At.In(t.zone)
	e.Text = textnorm.Ellipsize(strings.TrimSpace(e.Text), 2000)
	t.list = append(t.list, e)
}

// openingText describes the state at the start.
func (p *play) openingText(ctx context.Context) string {
	var watchers []api.Watcher
	var goals []api.GoalDetails
	if client, err := p.apiClient(); err == nil { // without an answer the line shows 0
		watchers, _ = client.Watchers(ctx, api.Query{})
		goals, _ = client.Goals(ctx, api.Query{})
	}
	return fmt.Sprintf("%s starts: %s, %s, model %s", p.conf.Agent.Name, textnorm.CountNoun(len(watchers), "watcher", "watchers"), textnorm.CountNoun(len(goals), "goal", "goals"), p.conf.Agent.Model)
}

// collectResult builds the result from Hob's records.
func (p *play) collectResult(ctx context.Context) (*Result, error) {
	end := p.end
	out := &Result{Start: p.start.In(p.zone), End: end.In(p.zone), Zone: p.zone.String(), Days: p.o.Days}
	if p.past != nil {
		out.Replayed = len(p.past.days)
	}
	err := readStory(ctx, p.d.Parts(), p.start, func(w eventReport) error {
		if p.known[w.Event.ID] {
			return nil // the event existed before the simulation
		}
		out.Events++
		id := fmt.Sprintf("e%d", out.Events)
		p.recordEvent(id, w)
		if p.compareReplies(id, w.Why) {
			out.Differences++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	now, err := p.d.Parts().Usage.Total(ctx, llm.Offline)
	if err != nil {
		return nil, err
	}
	out.ModelCalls, out.CostUSD, out.Unpriced = now.Calls-p.spent.Calls, (now.Cost - p.spent.Cost).USD(), now.Unpriced-p.spent.Unpriced
	p.addQuietDays(end)
	p.line.addEntry(Entry{At: end, Kind: End, Text: "the simulated time is over"})
	out.Ticks = p.line.ticks + countTicks(p.d.Parts())
	out.Inputs = p.line.inputs
	out.Timeline = p.line.list
	sorting.ByFunc(out.Timeline, func(a, b Entry) int {
		return cmp.Or(a.At.Truncate(time.Second).Compare(b.At.Truncate(time.Second)), cmp.Compare(a.n, b.n))
	})
	return out, nil
}

// addQuietDays adds a line for each day without entries.
func (p *play) addQuietDays(end time.Time) {
	busy := map[string]bool{}
	for _, e := range p.line.list {
		if e.Kind != Start {
			busy[e.At.Format(time.DateOnly)] = true
		}
	}
	for at := p.start.In(p.zone); at.Before(end); at = at.AddDate(0, 0, 1) {
		if !busy[at.Format(time.DateOnly)] {
			p.line.addEntry(Entry{At: at, Kind: Quiet, Text: "nothing was due on " + at.Format("Monday, 2 January")})
		}
	}
}

// recordEvent adds an event and its outcome to the timeline.
func (p *play) recordEvent(id string, w eventReport) {
	base := Entry{Event: id, Source: string(w.Event.Kind), Session: w.Event.Session}
	with := func(at time.Time, k Kind, text string, change func(*Entry)) {
		if at.Before(p.start) {
			return
		}
		e := base
		e.At, e.Kind, e.Text = at, k, text
		if change != nil {
			change(&e)
		}
		p.line.addEntry(e)
	}
	came := Notice
	switch w.Event.Kind {
	case bus.Message, bus.Webhook, bus.Task:
		came = Heard
	}
	text := w.Event.Text
	if w.Event.Kind == bus.Message && w.Event.Sender != "" {
		text = w.Event.Sender + " writes: " + text
	}
	if w.Event.Kind != bus.System {
		with(w.Event.ReceivedAt, came, text, func(e *Entry) {
			e.Channel = w.Event.Channel
			if s := w.Spent; s != nil && !strings.HasPrefix(s.Model, llm.Offline) {
				e.ModelCalls, e.CostUSD = s.Calls, s.CostUSD
			}
		})
	}
	if g := w.Goal; g != nil {
		with(g.At, Decide, strings.TrimSpace(g.Decision+": "+g.Reason), func(e *Entry) { e.Rule = g.By })
	}
	for _, c := range w.Calls {
		kind, text := Do, c.Tool+": "+c.Result
		switch {
		case c.State == bus.CallDone && strings.HasPrefix(c.Result, wouldDo):
			kind, text = Would, strings.TrimPrefix(c.Result, wouldDo)
		case c.Code == "policy_denied":
			kind = Denied
		case c.Code != "":
			kind = Failed
		}
		with(c.StartedAt, kind, text, func(e *Entry) { e.Tool, e.Rule = c.Tool, c.Decision })
	}
	for _, a := range w.Approvals {
		with(a.CreatedAt, Ask, a.Summary, func(e *Entry) { e.Tool, e.Rule = a.Tool, cmp.Or(a.Rule, a.Reason) })
		if a.State != guard.Pending {
			with(a.DecidedAt, Answers, fmt.Sprintf("%s: %s", a.State, a.Summary), func(e *Entry) { e.Tool, e.Rule = a.Tool, a.DecidedBy })
		}
	}
	for _, d := range w.Deliveries {
		if d.Kind == channels.Question {
			continue // already listed among the approval requests
		}
		at, kind, rule := d.SentAt, Say, string(d.Kind)
		if at.IsZero() || at.Before(d.CreatedAt) {
			at = d.CreatedAt
		}
		switch d.State {
		case channels.Dead, channels.Failed:
			kind = Failed
		case channels.Cancelled:
			continue
		case channels.Sent, channels.Sending:
		default:
			if d.NotBefore.After(d.CreatedAt) {
				kind = Hold
			}
		}
		for _, n := range w.Notices {
			if n.Delivery == d.ID {
				rule = fmt.Sprintf("%s (%s): %s", n.Urgency, n.Rule, n.Why)
			}
		}
		with(at, kind, d.Text, func(e *Entry) { e.Rule, e.Channel, e.Session = rule, d.Channel, d.Session })
	}
	for _, n := range w.Notices {
		if n.HeldBy == "" {
			continue
		}
		with(n.CreatedAt, Hold, n.Text, func(e *Entry) {
			e.Rule, e.Channel, e.Session = fmt.Sprintf("until %s, %s; %s (%s)", n.Until.In(p.zone).Format("Mon 15:04"), n.Why, n.Urgency, n.Rule), n.Channel, n.Session
		})
	}
	if w.Event.Error != "" {
		with(w.Event.DoneAt, Failed, w.Event.Error, nil)
	}
}
