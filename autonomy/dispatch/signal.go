package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/commit"
	"hob/autonomy/llm"
	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/autonomy/payload"
	"hob/autonomy/turn"
	"hob/channels"
	"hob/platform/provenance"
	"hob/watchers"
)

// signalHandler handles signals from watchers, schedules and webhooks, and Hob's own notices.
type signalHandler struct{ shared }

// handleSignal handles a signal from a watcher, a schedule or a trigger.
func (h signalHandler) handleSignal(ctx context.Context, ev bus.Event) (commit.Outcome, error) {
	f, err := payload.ParseSignal(ev)
	if err != nil {
		return commit.Outcome{}, err
	}
	switch f.Mode {
	case watchers.Notify: // the signal's text already mentions any delay
		return h.noticeOutcome(ctx, f.Report, f.Signal, ev.Provenance)
	case watchers.Show:
		return h.noticeOutcome(ctx, f.Report, "Reminder: "+f.Action, f.Made)
	case watchers.Tell:
		return h.answerSender(ctx, ev, f)
	case watchers.Remind:
		return h.noticeOutcome(ctx, f.Report, f.ReminderText(), f.Made)
	}
	if strings.TrimSpace(f.Action) == "" {
		return h.noticeOutcome(ctx, f.Report, f.Signal, ev.Provenance)
	}
	who, err := h.creatorAgent(ctx, ev, f.Agent)
	if err != nil {
		return h.noticeOutcome(ctx, f.Report, fmt.Sprintf("%s I did nothing: %v.", f.Signal, err), ev.Provenance)
	}
	if waits, err := h.waitForBudget(ctx, ev); waits || err != nil {
		return suspended(), err
	}
	from, err := f.Origins(h.o.Store.Reader(ctx), ev)
	if err != nil {
		h.o.Log.WarnContext(ctx, "origins cannot be read", "watcher", f.Watcher, "err", err)
	}
	t := turn.Turn{Event: ev, Text: f.Action, Source: provenance.Worst(provenance.Hob, f.Made), Origins: from, Origin: string(ev.Kind), Report: f.Report, Cancelled: h.o.Turns.WasCancelled(ev.ID), Hold: h.o.Turns.Hold(ev.ID)}
	if ev.Kind != bus.Schedule && f.Signal != "" {
		t.Outside = []string{f.Signal}
	}
	to, err := h.o.Delivery.ResolveTarget(ctx, f.Report)
	if err != nil {
		return commit.Outcome{}, err
	}
	t.Report, t.Channel, t.Chat = to.Session, to.Channel, to.Chat
	t.Level = h.levelOf(t.Channel, "")
	res := commit.Outcome{How: "turn", Kind: channels.Notice, Target: to}
	res.Outcome, err = who.Runner.Run(ctx, t)
	res.Send = strings.TrimSpace(res.Answer) != ""
	if res.Send {
		res.Answer = f.LatenessNote("(", ")\n") + res.Answer
	}
	return res, err
}

// answerSender sends the text of an intent to the person whose message made it fire, without a
// model. The guard decides on the call as on every other one that the user does not attend.
func (h signalHandler) answerSender(ctx context.Context, ev bus.Event, f payload.Signal) (commit.Outcome, error) {
	var to watchers.Recipient
	if err := json.Unmarshal(f.Data, &to); err != nil {
		return commit.Outcome{}, fmt.Errorf("event %s: read the recipient: %w", ev.ID, err)
	}
	args, err := json.Marshal(map[string]string{"channel": to.Channel, "to": to.To, "text": f.Action})
	if err != nil {
		return commit.Outcome{}, fmt.Errorf("event %s: %w", ev.ID, err)
	}
	report, err := h.o.Delivery.ResolveTarget(ctx, f.Report)
	if err != nil {
		return commit.Outcome{}, err
	}
	res := commit.Outcome{How: "call", Kind: channels.Notice, Target: report}
	res.Outcome, err = h.o.Runner.Run(ctx, turn.Turn{
		Event: ev, Text: "tell the sender: " + f.Action, Source: provenance.Worst(provenance.Hob, f.Made), Origin: string(ev.Kind),
		Report: report.Session, Channel: report.Channel, Chat: report.Chat, Call: &llm.ToolCall{Name: "send_message", Args: args},
		Cancelled: h.o.Turns.WasCancelled(ev.ID), Hold: h.o.Turns.Hold(ev.ID), Level: h.levelOf(report.Channel, ""),
	})
	res.Send = strings.TrimSpace(res.Answer) != "" && !res.Suspended
	return res, err
}

func (h signalHandler) noticeOutcome(ctx context.Context, report, text string, src provenance.Source) (commit.Outcome, error) {
	res := commit.Outcome{How: "notice", Kind: channels.Notice, Send: true}
	res.Answer, res.Source = text, src
	var err error
	res.Target, err = h.o.Delivery.ResolveTarget(ctx, report)
	return res, err
}

// handleSystemEvent sends the daily plan, the digest of deferred notices, or a notice.
func (h signalHandler) handleSystemEvent(ctx context.Context, ev bus.Event) (commit.Outcome, error) {
	switch ev.Source {
	case goals.PlanSource:
		return h.sendDayPlan(ctx, ev)
	case notify.Source:
		res := commit.Outcome{How: "digest", Kind: channels.Notice, Digest: true}
		var err error
		res.Target, err = h.o.Delivery.DigestTarget(ctx, ev.ID)
		return res, err
	}
	f, err := payload.ParseSignal(ev)
	if err != nil {
		return commit.Outcome{}, err
	}
	return h.noticeOutcome(ctx, f.Report, ev.Text, ev.Provenance)
}

// nothingOn is the answer for an empty plan. It is not sent.
const nothingOn = "Nothing is planned today, so no plan was sent."

// dayOver is the answer for a plan that was not sent before the end of its day.
const dayOver = "The day of this plan ended before it could be sent."

// sendDayPlan sends the daily plan to the owner's active channel. It generates the text when the
// plan is sent, not when the plan became due.
func (h signalHandler) sendDayPlan(ctx context.Context, ev bus.Event) (commit.Outcome, error) {
	res := commit.Outcome{How: "plan", Kind: channels.Notice}
	if h.o.Plan == nil {
		return res, errors.New("the daily plan is switched off; set [plan] at")
	}
	var err error
	if res.Target, err = h.o.Delivery.ResolveTarget(ctx, ""); err != nil {
		return res, err
	}
	if h.o.Plan.IsOver(ev, time.Now()) {
		res.Answer, res.Source = dayOver, provenance.Hob
		return res, nil
	}
	if res.Answer, res.Source, err = h.o.Plan.Text(ctx, time.Now()); err != nil {
		return res, err
	}
	if res.Send = res.Answer != ""; !res.Send {
		res.Answer = nothingOn
	}
	return res, nil
}
