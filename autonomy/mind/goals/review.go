package goals

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// maxLooks is the maximum number of consecutive investigations. After that the goal waits for its
// regular review.
const maxLooks = 3

// Stopped is the recorded reason for an action that the user stopped.
const Stopped = "stopped by the user"

// EventOutcome describes how an event for a goal ended.
type EventOutcome struct {
	Order EventPayload
	// As is the goal as it was at the start of the event.
	As Goal
	// Decision and Err are the result of a review. An unreadable answer is a deferral with an
	// error.
	Decision Decision
	Err      error
	By       string            // name of the model, or "rule"
	Source   provenance.Source // untrusted if untrusted text influenced the outcome
	// Failed is the reason why the action was not done, or "".
	Failed string
	// Agreed reports whether the user approved the shown text.
	Agreed bool
	Now    time.Time
}

// Outcome is the result shown to the user.
type Outcome struct {
	Told string // "" if there is nothing to tell
}

// WeighedDecision is a decision after the thresholds were applied.
type WeighedDecision struct {
	Follow Phase   // phase of the next event, or "" if there is none
	Bar    float64 // the threshold that applied
	Below  bool
}

// ApplyThresholds applies the thresholds to a decision.
func (g *Goals) ApplyThresholds(goal Goal, d Decision) WeighedDecision {
	p := WeighedDecision{}
	switch d.Verdict {
	case DoIt:
		risk := d.Risk
		if risk == "" { // without a claimed risk, the threshold for sending applies
			risk = RiskSend
		}
		p.Bar, p.Follow = g.o.Bars.Of(risk), Act
		if d.Told != "" {
			p.Follow = ""
		}
	case Investigate:
		p.Bar = g.o.Bars.Read
		if goal.Looked < maxLooks {
			p.Follow = Look
		}
	case Complete, Abandon:
		p.Bar = g.o.Bars.Write
	default:
		return p
	}
	if d.Confidence < p.Bar {
		p.Below, p.Follow = true, Ask
	}
	return p
}

// ConfirmationReason returns why a call with this risk needs approval, or "" if the confidence
// suffices.
func (g *Goals) ConfirmationReason(d Decision, risk Risk) string {
	if bar := g.o.Bars.Of(risk); d.Confidence < bar {
		return fmt.Sprintf("Hob is only %.0f %% sure that this helps the goal, and a call of this kind (%s) requires %.0f %% ([autonomy.confidence])", 100*d.Confidence, risk, 100*bar)
	}
	return ""
}

// EndTx records the end of an event for a goal: the decision, the time of the next review, and the
// following event. It runs in the transaction that finishes the event.
func (g *Goals) EndTx(tx *store.Tx, ev bus.Event, e EventOutcome) (Outcome, error) {
	goal, err := Get(tx, e.Order.Goal)
	if errors.Is(err, ErrNotFound) { // deleted in the meantime
		return Outcome{}, nil
	}
	if err != nil {
		return Outcome{}, err
	}
	if e.Order.Phase == Review {
		return g.applyReview(tx, ev, goal, e)
	}
	return g.applyFollowUp(tx, ev, goal, e)
}

// applyReview processes a decision.
func (g *Goals) applyReview(tx *store.Tx, ev bus.Event, goal Goal, e EventOutcome) (Outcome, error) {
	if goal.Status != string(Active) { // paused or completed in the meantime
		return Outcome{}, g.noteTx(tx, ev, goal, e, WeighedDecision{}, "", "the goal is "+goal.Status)
	}
	if as := e.As; as.ID != "" && !as.UpdatedAt.Equal(goal.UpdatedAt) { // the decision was about the previous text
		if as.Description != goal.Description || as.Success != goal.Success {
			goal.NextAt = e.Now
		}
		if err := g.updateGoal(tx, goal); err != nil {
			return Outcome{}, err
		}
		return Outcome{}, g.noteTx(tx, ev, goal, e, WeighedDecision{}, "", "the goal was changed in the meantime")
	}
	d := e.Decision
	var out Outcome
	why := ""
	if e.Err != nil {
		d = Decision{Verdict: Defer, Reason: "the answer of the review could not be parsed"}
		if e.Failed != "" {
			d.Reason = "the review did not finish"
		}
		why = textnorm.Ellipsize(e.Err.Error(), maxReason)
	}
	e.Decision = d
	p := g.ApplyThresholds(goal, d)
	goal.Reviewed++
	goal.LastAt, goal.Last, goal.Reason, goal.ReasonFrom = e.Now, string(d.Verdict), d.Reason, e.Source
	if d.Seen != "" {
		goal.Seen = d.Seen
	}
	if d.Verdict == Defer && e.Err == nil && e.By == Rule {
		goal.Seen = d.Seen
	}
	if e.By == Rule && e.Err == nil || p.Follow != "" || d.Told != "" || d.Verdict == Complete || d.Verdict == Abandon {
		goal.Quiet = 0
	} else {
		goal.Quiet++
	}
	if d.Verdict == Investigate && p.Follow != "" {
		goal.Looked++
	} else {
		goal.Looked = 0
	}
	goal.NextAt = g.nextReview(goal, d, e)
	then := ""
	switch {
	case p.Follow != "":
		follow, err := newEvent(goal, EventPayload{Phase: p.Follow, Goal: goal.ID, Review: ev.ID, Decision: d, Rule: e.By == Rule}, eventTitle(p.Follow, goal))
		if err != nil {
			return out, err
		}
		follow.Provenance = provenance.Worst(goal.Provenance, e.Source)
		follow.Key = "after:" + ev.ID
		acc, err := g.o.Bus.Inbox.PutTx(tx, follow)
		if err != nil {
			return out, err
		}
		then, goal.Event = acc.Event, acc.Event
		if p.Follow == Ask {
			goal.Status = string(Waiting)
		}
	case d.Verdict == Complete:
		out.Told = fmt.Sprintf("The goal %q has been reached: %s (If not, resume it with: hob goal resume %s)", goal.Name(), d.Reason, goal.ID)
		goal.Status = string(Done)
	case d.Verdict == Abandon:
		out.Told = fmt.Sprintf("I have abandoned the goal %q: %s (To resume it: hob goal resume %s)", goal.Name(), d.Reason, goal.ID)
		goal.Status = string(Abandoned)
	case d.Told != "":
		out.Told = d.Told
	}
	goal.UpdatedAt = e.Now
	if err := g.updateGoal(tx, goal); err != nil {
		return out, err
	}
	return out, g.noteTx(tx, ev, goal, e, p, then, why)
}

// applyFollowUp processes the result of an action, an investigation or a question.
func (g *Goals) applyFollowUp(tx *store.Tx, ev bus.Event, goal Goal, e EventOutcome) (Outcome, error) {
	var out Outcome
	then := ""
	if goal.Status == string(Waiting) {
		goal.Status = string(Active)
	}
	living := goal.Status == string(Active)
	switch {
	case e.Order.Phase == Ask && e.Agreed && living:
		switch d := e.Order.Decision; d.Verdict {
		case Complete:
			goal.Status = string(Done)
		case Abandon:
			goal.Status = string(Abandoned)
		default:
			phase := Act
			if d.Verdict == Investigate {
				phase = Look
			}
			whole := shownAction(d.Action) == textnorm.Ellipsize(d.Action, maxAction)
			if whole { // the approval covers only the shown text
				d.Confidence = 1
			}
			follow, err := newEvent(goal, EventPayload{Phase: phase, Goal: goal.ID, Review: e.Order.Review, Decision: d, Agreed: whole}, eventTitle(phase, goal))
			if err != nil {
				return out, err
			}
			follow.Provenance = provenance.Worst(goal.Provenance, ev.Provenance)
			follow.Key = "after:" + ev.ID
			acc, err := g.o.Bus.Inbox.PutTx(tx, follow)
			if err != nil {
				return out, err
			}
			then, goal.Event = acc.Event, acc.Event
		}
	case e.Order.Phase == Look && living && e.Failed == "":
		goal.NextAt = e.Now // the next review decides on the basis of the findings
	case e.Failed != "":
		if e.Order.Rule && e.Order.Phase == Act && e.Failed != Stopped { // the state that the rule evaluated still requires the action
			goal.Seen = ""
		}
		goal.Quiet++
		if at := g.intervalNext(goal, e.Now); living && at.After(goal.NextAt) {
			goal.NextAt = at
		}
	}
	goal.UpdatedAt = e.Now
	if err := g.updateGoal(tx, goal); err != nil {
		return out, err
	}
	e.Decision = e.Order.Decision
	return out, g.noteTx(tx, ev, goal, e, WeighedDecision{}, then, e.Failed)
}

// eventTitle returns the title of an event in phase p.
func eventTitle(p Phase, goal Goal) string {
	switch p {
	case Act:
		return `Work on the goal "` + goal.Name() + `"`
	case Look:
		return `Look into the goal "` + goal.Name() + `"`
	case Ask:
		return `A question about the goal "` + goal.Name() + `"`
	}
	return `Review of the goal "` + goal.Name() + `"`
}

// nextReview returns the time of the next review, which is usually the time in the decision. After
// several reviews without a change, it is not before the time that intervalNext returns.
func (g *Goals) nextReview(goal Goal, d Decision, e EventOutcome) time.Time {
	own := g.intervalNext(goal, e.Now)
	switch {
	case d.Next.IsZero():
		return own
	case goal.Quiet > 1 && d.Next.Before(own):
		return own
	}
	return d.Next
}

// intervalNext returns now plus the review interval. From the second consecutive review without a
// change on, each one doubles the interval, up to the factor Options.Backoff. The result is at most
// furthest after now, unless the goal's own interval is longer.
func (g *Goals) intervalNext(goal Goal, now time.Time) time.Time {
	every, factor := goal.EveryDuration(), 1
	for range max(0, goal.Quiet-1) {
		if factor *= 2; factor >= g.o.Backoff {
			factor = g.o.Backoff
			break
		}
	}
	return now.Add(min(every*time.Duration(factor), max(every, furthest)))
}

// Rule is the name of the decider if no model is used.
const Rule = "rule"

// ReviewRecord is the stored record of one event for a goal.
type ReviewRecord struct {
	Event      string    `json:"event"`
	Goal       string    `json:"goal"`
	Phase      string    `json:"phase"`
	DueAt      time.Time `json:"due_at,omitzero"`
	At         time.Time `json:"at"`
	By         string    `json:"by"`
	Decision   string    `json:"decision"`
	Confidence float64   `json:"confidence"`
	Bar        float64   `json:"bar"`
	Risk       string    `json:"risk,omitempty"`
	Reason     string    `json:"reason"`
	Action     string    `json:"action,omitempty"`
	NextAt     time.Time `json:"next_review,omitzero"`
	Error      string    `json:"error,omitempty"`
	Then       string    `json:"then,omitempty"` // kind of the event that follows
}

func (g *Goals) noteTx(tx *store.Tx, ev bus.Event, goal Goal, e EventOutcome, p WeighedDecision, then, problem string) error {
	next := goal.NextAt
	if goal.Status != string(Active) {
		next = time.Time{}
	}
	d := e.Decision
	_, err := tx.Exec(`INSERT INTO goal_reviews (event, goal, phase, due_at, at, by, decision, confidence, bar, risk, reason, action, next_at, error, then_event)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (event) DO NOTHING`,
		ev.ID, goal.ID, string(e.Order.Phase), store.Millis(e.Order.Due), store.Millis(e.Now), e.By, string(d.Verdict), d.Confidence, p.Bar, string(d.Risk), d.Reason, d.Action,
		store.Millis(next), problem, then)
	if err != nil {
		return fmt.Errorf("goals: write trace: %w", err)
	}
	return nil
}

const reviewColumns = `event, goal, phase, due_at, at, by, decision, confidence, bar, risk, reason, action, next_at, error, then_event`

func scanReview(row interface{ Scan(...any) error }) (r ReviewRecord, err error) {
	var due, at, next int64
	err = row.Scan(&r.Event, &r.Goal, &r.Phase, &due, &at, &r.By, &r.Decision, &r.Confidence, &r.Bar, &r.Risk, &r.Reason, &r.Action, &next, &r.Error, &r.Then)
	r.DueAt, r.At, r.NextAt = store.Time(due), store.Time(at), store.Time(next)
	return r, err
}

// Trace returns the record of an event for a goal, or nil if the event has not ended.
func (g *Goals) Trace(ctx context.Context, event string) (*ReviewRecord, error) {
	r, err := scanReview(g.o.Store.Read().QueryRowContext(ctx, `SELECT `+reviewColumns+` FROM goal_reviews WHERE event = ?`, event))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("goals: read trace: %w", err)
	}
	return &r, nil
}

// Reviews returns the records of a goal, newest first.
func (g *Goals) Reviews(ctx context.Context, goal string, limit int) (out []ReviewRecord, err error) {
	rows, err := g.o.Store.Read().QueryContext(ctx, `SELECT `+reviewColumns+` FROM goal_reviews WHERE goal = ? ORDER BY at DESC, event DESC LIMIT ?`, goal, limit)
	if err != nil {
		return nil, fmt.Errorf("goals: read reviews: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = []ReviewRecord{}
	for rows.Next() {
		r, err := scanReview(rows)
		if err != nil {
			return nil, fmt.Errorf("goals: read reviews: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// Text describes the outcome of an event for a goal.
func (r ReviewRecord) Text(at func(time.Time) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  goal %s, %s", at(r.At), r.Goal, r.Phase)
	if !r.DueAt.IsZero() {
		fmt.Fprintf(&b, " (due %s)", at(r.DueAt))
	}
	if r.Decision != "" {
		fmt.Fprintf(&b, ": %s decided %s", cmp.Or(r.By, "nobody"), r.Decision)
		if r.By != Rule && r.Error == "" {
			fmt.Fprintf(&b, ", %.0f %% sure", 100*r.Confidence)
			if r.Bar > 0 {
				fmt.Fprintf(&b, " (%.0f %% required)", 100*r.Bar)
			}
		}
		if r.Reason != "" {
			fmt.Fprintf(&b, ": %s", r.Reason)
		}
	}
	b.WriteString("\n")
	for _, line := range []struct{ head, text string }{{"to do", r.Action}, {"problem", r.Error}, {"continued as", r.Then}} {
		if line.text != "" {
			fmt.Fprintf(&b, "    %s: %s\n", line.head, textnorm.Ellipsize(line.text, 300))
		}
	}
	if !r.NextAt.IsZero() {
		fmt.Fprintf(&b, "    next review: %s\n", at(r.NextAt))
	}
	return b.String()
}
