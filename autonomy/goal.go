package autonomy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/intake"
	"hob/autonomy/llm"
	"hob/autonomy/mind/goals"
	"hob/autonomy/payload"
	"hob/autonomy/turn"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// enqueueDue puts due work into the inbox and returns the next due time (zero if none). Each source
// handles its own.
func (l *Loop) enqueueDue(ctx context.Context) (next time.Time) {
	for _, source := range l.o.Due {
		at, err := source(ctx, time.Now())
		if err != nil && ctx.Err() == nil {
			l.o.Log.Error("what is due cannot be found; trying again", "err", err)
		}
		next = earlierTime(next, at)
	}
	return next
}

func earlierTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// newQuestionRunner returns a runner whose only tool asks the owner about a goal's decision.
func newQuestionRunner(r *turn.Runner) (*turn.Runner, error) {
	c, err := tools.NewCatalogue(goals.Question())
	if err != nil {
		return nil, err
	}
	return r.With(func(o *turn.Options) { o.Catalogue, o.Whole = c, nil })
}

// handleGoalEvent processes an event of a goal: its review, the decided action, or the approval
// request for it.
func (l *Loop) handleGoalEvent(ctx context.Context, ev bus.Event) (result, error) {
	res := result{how: "goal", kind: channels.Notice}
	order, err := goals.OrderOf(ev)
	if err != nil || l.o.Goals == nil {
		return res, cmp.Or(err, errors.New("goals are not configured"))
	}
	res.goal = &goals.EventOutcome{Order: order}
	goal, err := goals.Get(l.o.Store.Reader(ctx), order.Goal)
	if errors.Is(err, goals.ErrNotFound) {
		return res, nil
	}
	if err != nil {
		return res, err
	}
	res.goal.As = goal
	if at := goals.Status(goal.Status); at != goals.Active && !(order.Phase == goals.Ask && at == goals.Waiting) {
		res.goal.Failed = "the goal is " + goal.Status
		return res, nil
	}
	if res.session, res.channel, res.chat, err = l.resolveNoticeTarget(ctx, goal.Report); err != nil {
		return res, err
	}
	switch order.Phase {
	case goals.Ask:
		return l.askAbout(ctx, ev, goal, res)
	case goals.Review:
		if l.o.Facts != nil && l.o.Offline(ctx, goal.Agent) {
			return l.byRule(ctx, goal, res)
		}
	}
	who, err := l.creatorAgent(ctx, ev, payload.Signal{Agent: goal.Agent})
	if err != nil {
		return res, err
	}
	if ok, at := l.o.Room(time.Now()); !ok {
		return result{Outcome: turn.Outcome{Suspended: true}}, l.postponeEvent(ctx, ev, at)
	}
	t, err := l.goalTurn(ctx, ev, goal, order, res)
	if err != nil {
		return res, err
	}
	res.Outcome, err = who.Runner.Run(ctx, t)
	if err != nil || res.Suspended {
		return res, err
	}
	return l.goalEnded(ctx, goal, order, res)
}

// goalTurn returns the turn of a phase. Only the phase that carries out the decision may do
// more than read.
func (l *Loop) goalTurn(ctx context.Context, ev bus.Event, goal goals.Goal, order goals.EventPayload, res result) (turn.Turn, error) {
	t := turn.Turn{
		Event: ev, Source: provenance.Worst(provenance.Hob, ev.Provenance, goal.Provenance), Origin: "goal",
		Report: res.session, Channel: res.channel, Chat: res.chat, Cancelled: l.wasCancelled(ev.ID), Hold: l.holdFunc(ev.ID),
	}
	if goal.Reason != "" { // the text quotes it
		t.Source = provenance.Worst(t.Source, goal.ReasonFrom)
	}
	var err error
	if t.Text, err = goals.Text(goal, order, time.Now().In(l.o.Zone())); err != nil {
		return t, err
	}
	if t.Source.Tainted() {
		if t.Origins, err = l.goalOrigins(ctx, goal, order); err != nil {
			return t, err
		}
	}
	t.Level = l.o.Level(t.Channel, "")
	if order.Phase != goals.Act {
		t.Level = t.Level.Narrower(guard.Watch)
		return t, nil
	}
	if !order.Agreed { // what the owner has agreed to is his own word
		t.Doubt = func(s *tools.Spec, e tools.Effects) string {
			risk := goals.RiskOf(e)
			if s.Name == "delegate_tasks" || s.Name == "spawn_background_task" { // a delegated task may do anything
				risk = goals.RiskDestroy
			}
			return l.o.Goals.ConfirmationReason(order.Decision, risk)
		}
	}
	return t, nil
}

// goalOrigins returns the origins of the untrusted text that influenced a goal or its decision.
func (l *Loop) goalOrigins(ctx context.Context, goal goals.Goal, order goals.EventPayload) ([]provenance.Origin, error) {
	made, err := origins.Of(l.o.Store.Reader(ctx), origins.Row, goal.ID)
	if err != nil {
		return nil, err
	}
	own := provenance.Origin{Kind: "goal", Label: goal.Name(), Event: order.Review}
	return provenance.Join([]provenance.Origin{own}, made), nil
}

// byRule reviews a goal without a model.
func (l *Loop) byRule(ctx context.Context, goal goals.Goal, res result) (result, error) {
	d, err := goals.DecideByRule(ctx, goal, l.o.Facts, time.Now().In(l.o.Zone()))
	if err != nil {
		return res, fmt.Errorf("review the goal %q: %w", goal.Name(), err)
	}
	res.how, res.Source = "rule", provenance.Worst(provenance.Hob, goal.Provenance, d.Source) // its reason may quote tasks and facts
	res.Answer = d.Reason
	res.goal.Decision, res.goal.By = d, goals.Rule
	return res, nil
}

// goalEnded returns the outcome of a turn of a goal.
func (l *Loop) goalEnded(ctx context.Context, goal goals.Goal, order goals.EventPayload, res result) (result, error) {
	res.goal.By = res.Model
	if res.Interrupted {
		res.goal.Failed, res.goal.Err = goals.Stopped, errors.New(goals.Stopped)
		return res, nil
	}
	switch order.Phase {
	case goals.Review:
		if l.o.Facts != nil && strings.HasPrefix(res.Model, offlineProvider) { // the models failed, or the budget is used up
			return l.byRule(ctx, goal, res)
		}
		res.goal.Decision, res.goal.Err = goals.Parse(res.Answer, time.Now())
	case goals.Act:
		res.said = strings.TrimSpace(res.Answer) != ""
	}
	return res, nil
}

// offlineProvider begins the name of the built-in brain.
const offlineProvider = "offline"

// askAbout puts a decision before the owner.
func (l *Loop) askAbout(ctx context.Context, ev bus.Event, goal goals.Goal, res result) (result, error) {
	order := res.goal.Order
	args, err := goals.QuestionArgs(goal, order.Decision)
	if err != nil {
		return res, err
	}
	bar := l.o.Goals.ApplyThresholds(goal, order.Decision).Bar
	t := turn.Turn{
		Event: ev, Text: ev.Text, Source: provenance.Worst(provenance.Hob, ev.Provenance, goal.Provenance), Origin: "goal",
		Report: res.session, Channel: res.channel, Chat: res.chat, Cancelled: l.wasCancelled(ev.ID), Hold: l.holdFunc(ev.ID),
		Call: &llm.ToolCall{Name: goals.QuestionTool, Args: args}, Level: l.o.Level(res.channel, ""),
		Doubt: func(*tools.Spec, tools.Effects) string {
			return fmt.Sprintf("I am only %.0f %% sure, and do this by myself from %.0f %% on", 100*order.Decision.Confidence, 100*bar)
		},
	}
	if t.Source.Tainted() {
		if t.Origins, err = l.goalOrigins(ctx, goal, order); err != nil {
			return res, err
		}
	}
	if res.Outcome, err = l.asker.Run(ctx, t); err != nil || res.Suspended {
		return res, err
	}
	res.goal.By = "owner"
	if res.goal.Agreed = res.Answer == goals.Agreed; !res.goal.Agreed {
		res.goal.Failed = cmp.Or(textnorm.FirstLine(res.Answer), "not agreed")
	}
	return res, nil
}

// endGoal records the end of a goal's event. It returns additional text for the owner, "" if
// none.
func (l *Loop) endGoal(tx *store.Tx, ev bus.Event, res result) (string, error) {
	if l.o.Goals == nil || res.goal == nil {
		return "", nil
	}
	e := *res.goal
	e.Now, e.Source = time.Now(), provenance.Worst(provenance.Hob, res.Source, ev.Provenance)
	out, err := l.o.Goals.EndTx(tx, ev, e)
	return out.Told, err
}

// goalFailed ends a goal's event that cannot be handled. The goal stays active until its next
// review.
func (l *Loop) goalFailed(ctx context.Context, t *activeTurn, res result, cause error) error {
	if res.goal == nil {
		return l.tellDead(ctx, t.ev, llm.DescribeError(cause))
	}
	why := llm.DescribeError(cause)
	res.how, res.said, res.Answer = "error", false, why
	res.goal.Err, res.goal.Failed = cause, why
	if res.Source != provenance.Outside { // a provider's error may quote the request
		res.Source = provenance.Hob
	}
	name, record := strings.TrimPrefix(strings.TrimPrefix(t.ev.Text, "Review of "), "Work on "), res.Record
	key := fmt.Sprintf("goal-failed:%s:%s", res.goal.Order.Goal, time.Now().In(l.o.Zone()).Format(time.DateOnly))
	text := fmt.Sprintf("I could not work on %s: %s. I will retry at its next review; `hob why %s` shows more.", name, strings.TrimRight(why, ". "), t.ev.ID)
	from, report := provenance.Worst(provenance.Hob, t.ev.Provenance, res.Source), res.session
	res.Record = func(tx *store.Tx) error {
		if record != nil {
			if err := record(tx); err != nil {
				return err
			}
		}
		return l.o.Intake.NotifyTx(tx, intake.Notice{Key: key, Text: text, Report: report, Source: from})
	}
	return l.commitResult(ctx, t, res)
}
