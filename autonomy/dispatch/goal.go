package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/commit"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/mind/goals"
	"hob/autonomy/turn"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// goalHandler handles goal events.
type goalHandler struct {
	shared
	asker *turn.Runner // asks the owner to confirm a goal's decision
}

// newQuestionRunner returns a runner whose only tool asks the owner about a goal's decision.
func newQuestionRunner(r *turn.Runner) (*turn.Runner, error) {
	c, err := tools.NewCatalog(goals.Question())
	if err != nil {
		return nil, err
	}
	return r.With(func(o *turn.Options) { o.Catalog, o.Whole = c, nil })
}

// handleGoalEvent processes a goal event: the review, the decided action, or the approval request
// for that action.
func (h goalHandler) handleGoalEvent(ctx context.Context, ev bus.Event) (commit.Outcome, error) {
	res := commit.Outcome{How: "goal", Kind: channels.Notice}
	order, err := goals.OrderOf(ev)
	if err != nil || h.o.Goals == nil {
		return res, cmp.Or(err, errors.New("goals are not configured"))
	}
	res.Goal = &goals.EventOutcome{Order: order}
	goal, err := goals.Get(h.o.Store.Reader(ctx), order.Goal)
	if errors.Is(err, goals.ErrNotFound) {
		return res, nil
	}
	if err != nil {
		return res, err
	}
	res.Goal.As = goal
	if at := goals.Status(goal.Status); at != goals.Active && !(order.Phase == goals.Ask && at == goals.Waiting) {
		res.Goal.Failed = "the goal is " + goal.Status
		return res, nil
	}
	if res.Target, err = h.o.Delivery.ResolveTarget(ctx, goal.Report); err != nil {
		return res, err
	}
	switch order.Phase {
	case goals.Ask:
		return h.askAbout(ctx, ev, goal, res)
	case goals.Review:
		if h.o.Facts != nil && h.isOffline(ctx, goal.Agent) {
			return h.byRule(ctx, goal, res)
		}
	}
	who, err := h.creatorAgent(ctx, ev, goal.Agent)
	if err != nil {
		return res, err
	}
	if waits, err := h.waitForBudget(ctx, ev); waits || err != nil {
		return suspended(), err
	}
	t, err := h.goalTurn(ctx, ev, goal, order, res)
	if err != nil {
		return res, err
	}
	res.Outcome, err = who.Runner.Run(ctx, t)
	if err != nil || res.Suspended {
		return res, err
	}
	return h.goalEnded(ctx, goal, order, res)
}

// goalTurn returns the turn for a phase. Only the phase that carries out the decision may do more
// than read.
func (h goalHandler) goalTurn(ctx context.Context, ev bus.Event, goal goals.Goal, order goals.EventPayload, res commit.Outcome) (turn.Turn, error) {
	t := turn.Turn{
		Event: ev, Source: provenance.Worst(provenance.Hob, ev.Provenance, goal.Provenance), Origin: "goal",
		Report: res.Session, Channel: res.Channel, Chat: res.Chat, Cancelled: h.o.Turns.WasCancelled(ev.ID), Hold: h.o.Turns.Hold(ev.ID),
	}
	if goal.Reason != "" { // the text quotes the reason
		t.Source = provenance.Worst(t.Source, goal.ReasonFrom)
	}
	var err error
	if t.Text, err = goals.Text(goal, order, time.Now().In(h.o.Zone())); err != nil {
		return t, err
	}
	if t.Source.Tainted() {
		if t.Origins, err = h.goalOrigins(ctx, goal, order); err != nil {
			return t, err
		}
	}
	t.Level = h.levelOf(t.Channel, "")
	if order.Phase != goals.Act {
		t.Level = t.Level.Narrower(guard.Watch)
		return t, nil
	}
	if !order.Agreed { // text that the owner has confirmed counts as the owner's own words
		t.Doubt = func(s *tools.Spec, e tools.Effects) string {
			risk := goals.RiskOf(e)
			if slices.Contains([]string{"delegate_tasks", "spawn_background_task", "delegate_to_agent", "sessions_send"}, s.Name) { // a delegated task may do anything
				risk = goals.RiskDestroy
			}
			return h.o.Goals.ConfirmationReason(order.Decision, risk)
		}
	}
	return t, nil
}

// goalOrigins returns the origins of the untrusted text that influenced a goal or its decision.
func (h goalHandler) goalOrigins(ctx context.Context, goal goals.Goal, order goals.EventPayload) ([]provenance.Origin, error) {
	made, err := origins.Of(h.o.Store.Reader(ctx), origins.Row, goal.ID)
	if err != nil {
		return nil, err
	}
	own := provenance.Origin{Kind: "goal", Label: goal.Name(), Event: order.Review}
	return provenance.Join([]provenance.Origin{own}, made), nil
}

// byRule reviews a goal without a model.
func (h goalHandler) byRule(ctx context.Context, goal goals.Goal, res commit.Outcome) (commit.Outcome, error) {
	d, err := goals.DecideByRule(ctx, goal, h.o.Facts, time.Now().In(h.o.Zone()))
	if err != nil {
		return res, fmt.Errorf("review the goal %q: %w", goal.Name(), err)
	}
	res.How, res.Source = "rule", provenance.Worst(provenance.Hob, goal.Provenance, d.Source) // the reason may quote tasks and facts
	res.Answer = d.Reason
	res.Goal.Decision, res.Goal.By = d, goals.Rule
	return res, nil
}

// goalEnded returns the outcome of a goal's turn.
func (h goalHandler) goalEnded(ctx context.Context, goal goals.Goal, order goals.EventPayload, res commit.Outcome) (commit.Outcome, error) {
	res.Goal.By = res.Model
	if res.Interrupted {
		res.Goal.Failed, res.Goal.Err = goals.Stopped, errors.New(goals.Stopped)
		return res, nil
	}
	switch order.Phase {
	case goals.Review:
		if h.o.Facts != nil && strings.HasPrefix(res.Model, offlineProvider) { // the models failed, or the budget is used up
			return h.byRule(ctx, goal, res)
		}
		res.Goal.Decision, res.Goal.Err = goals.Parse(res.Answer, time.Now())
	case goals.Act:
		res.Send = strings.TrimSpace(res.Answer) != ""
	}
	return res, nil
}

// offlineProvider is the name prefix of the built-in brain.
const offlineProvider = "offline"

// askAbout asks the owner to confirm a decision.
func (h goalHandler) askAbout(ctx context.Context, ev bus.Event, goal goals.Goal, res commit.Outcome) (commit.Outcome, error) {
	order := res.Goal.Order
	args, err := goals.QuestionArgs(goal, order.Decision)
	if err != nil {
		return res, err
	}
	bar := h.o.Goals.ApplyThresholds(goal, order.Decision).Bar
	t := turn.Turn{
		Event: ev, Text: ev.Text, Source: provenance.Worst(provenance.Hob, ev.Provenance, goal.Provenance), Origin: "goal",
		Report: res.Session, Channel: res.Channel, Chat: res.Chat, Cancelled: h.o.Turns.WasCancelled(ev.ID), Hold: h.o.Turns.Hold(ev.ID),
		Call: &llm.ToolCall{Name: goals.QuestionTool, Args: args}, Level: h.levelOf(res.Channel, ""),
		Doubt: func(*tools.Spec, tools.Effects) string {
			return fmt.Sprintf("I am only %.0f %% sure; I act without asking only if I am at least %.0f %% sure", 100*order.Decision.Confidence, 100*bar)
		},
	}
	if t.Source.Tainted() {
		if t.Origins, err = h.goalOrigins(ctx, goal, order); err != nil {
			return res, err
		}
	}
	if res.Outcome, err = h.asker.Run(ctx, t); err != nil || res.Suspended {
		return res, err
	}
	res.Goal.By = "owner"
	if res.Goal.Agreed = res.Answer == goals.Agreed; !res.Goal.Agreed {
		res.Goal.Failed = cmp.Or(textnorm.FirstLine(res.Answer), "not agreed")
	}
	return res, nil
}
