package commit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/mind/goals"
	"hob/autonomy/payload"
	"hob/autonomy/trace"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/watchers"
)

// tickTx records how a tick handled an event.
func tickTx(tx *store.Tx, t Claim, rule, state string) error {
	if t.Tick == "" {
		return nil
	}
	return trace.WriteTickTx(tx, trace.Tick{Tick: t.Tick, Event: t.Event.ID, Woke: t.Woke, Rule: rule, State: state, At: t.Since, EndedAt: time.Now()})
}

// noteTick is like tickTx, but for an event that is waiting or has failed and therefore has no
// transaction of its own. Errors are only logged.
func (c *Committer) noteTick(ctx context.Context, t Claim, rule, state string) {
	err := c.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return tickTx(tx, t, rule, state) })
	if err != nil {
		c.o.Log.Warn("cannot store the trace of a tick", "event", t.Event.ID, "err", err)
	}
}

// ruleOf returns the rule that decided how an event was handled. The text contains row names and
// configuration keys, but no untrusted text.
func ruleOf(ev bus.Event, res Outcome) string {
	model := "without a model"
	if res.Model != "" {
		model = fmt.Sprintf("by the model %s in %d rounds", res.Model, res.Rounds)
		if res.Rounds == 1 {
			model = fmt.Sprintf("by the model %s in 1 round", res.Model)
		}
	}
	switch ev.Kind {
	case bus.Message:
		switch {
		case ev.Lane != ev.Session || res.How == "command":
			return "a command from you, " + model
		case ev.Provenance != provenance.Owner:
			return "a message from a guest, answered with guest permissions " + model
		}
		return "a message from you, answered " + model
	case bus.Watcher, bus.Schedule, bus.Webhook:
		return firedRule(ev, model)
	case bus.Goal:
		if res.Goal == nil {
			return "a goal, " + model
		}
		if res.Goal.By == goals.Rule {
			model = "by its rule, without a model"
		}
		return fmt.Sprintf("the goal %s, phase %s, %s", res.Goal.Order.Goal, res.Goal.Order.Phase, model)
	case bus.Task:
		if agents.IsTaskEvent(ev) {
			return "a delegated task, done " + model
		}
		if ev.Provenance.Tainted() {
			return "a tool call from " + ev.Sender
		}
		return "a tool call from you"
	case bus.System:
		if ev.Source == goals.PlanSource {
			return "the plan of the day ([plan] at), " + model
		}
		return "a notice from Hob, sent unchanged"
	}
	return string(ev.Kind)
}

// NoteWaiting records in the trace that an event is waiting for an answer, for a delegated task, or
// until the rate limit or the budget allows a model call.
func (c *Committer) NoteWaiting(ctx context.Context, t Claim, res Outcome) {
	c.noteTick(ctx, t, waitRule(res), trace.TickWaits)
}

// waitRule returns the reason why an event is waiting.
func waitRule(res Outcome) string {
	if res.How == "" { // the turn did not begin
		return "the limits allow no more model calls for background work ([autonomy] calls_per_minute, [budget])"
	}
	return "waiting for your answer or for a delegated task"
}

func firedRule(ev bus.Event, model string) string {
	f, err := payload.ParseSignal(ev)
	if err != nil {
		return string(ev.Kind)
	}
	what := fmt.Sprintf("the %s %s", ev.Kind, f.Watcher)
	switch {
	case f.Mode == watchers.Notify || f.Mode == watchers.Do && strings.TrimSpace(f.Action) == "":
		return what + ", whose mode is notify: its text was sent unchanged, without a model"
	case f.Mode == watchers.Tell:
		return what + ", whose mode is tell: its text goes to the sender of the message, without a model"
	case f.Mode == watchers.Remind, f.Mode == watchers.Show:
		return what + fmt.Sprintf(", whose mode is %s: the requested text was sent, without a model", f.Mode)
	}
	return what + ", whose mode is do: its action was carried out " + model
}
