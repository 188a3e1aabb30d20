package autonomy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/intake"
	"hob/autonomy/intake/chattext"
	"hob/autonomy/llm"
	"hob/autonomy/mind/goals"
	"hob/autonomy/notify"
	"hob/autonomy/payload"
	"hob/autonomy/turn"
	"hob/autonomy/undo"
	"hob/channels"
	"hob/platform/provenance"
	"hob/watchers"
)

// ownerPerson stands for the owner as the person whose message is answered.
const ownerPerson = "owner"

// result is the outcome of an event.
type result struct {
	turn.Outcome
	how  string // "command", "notice", "turn", "call", "undo"
	kind channels.DeliveryKind
	// said is false if there is nothing to send.
	said                   bool
	session, channel, chat string              // target of the answer
	goal                   *goals.EventOutcome // how an event of a goal ended
	digest                 bool                // the text is read when the event ends
	asks                   []string            // approvals that the answer asks for
}

// answerEvent turns an event into an answer.
func (l *Loop) answerEvent(ctx context.Context, ev bus.Event) (result, error) {
	switch ev.Kind {
	case bus.Message:
		if intake.IsSteering(ev) {
			return l.steerTurn(ctx, ev)
		}
		if ev.Lane != ev.Session || intake.IsReset(ev) {
			return l.runCommand(ctx, ev)
		}
		return l.answerMessage(ctx, ev)
	case bus.Watcher, bus.Schedule, bus.Webhook:
		return l.handleSignal(ctx, ev)
	case bus.Goal:
		return l.handleGoalEvent(ctx, ev)
	case bus.Task:
		if agents.IsTaskEvent(ev) {
			return l.runDelegatedTask(ctx, ev)
		}
		return l.runOwnerCall(ctx, ev)
	case bus.System:
		switch ev.Source {
		case goals.PlanSource:
			return l.dayPlan(ctx, ev)
		case notify.Source:
			return l.deliverDigest(ctx, ev)
		}
		f, err := payload.ParseSignal(ev)
		if err != nil {
			return result{}, err
		}
		return l.noticeResult(ctx, f.Report, ev.Text, ev.Provenance)
	}
	return result{}, fmt.Errorf("event %s has the unknown kind %s", ev.ID, ev.Kind)
}

// answerMessage answers a message.
func (l *Loop) answerMessage(ctx context.Context, ev bus.Event) (result, error) {
	m, err := payload.ParseMessage(ev)
	if err != nil {
		return result{}, err
	}
	if !m.Until.IsZero() {
		return l.replyRateLimited(ev, m), nil
	}
	if text := parseForgetRequest(ev); text != "" {
		return l.runForget(ctx, ev, text)
	}
	if r, ok, err := l.o.Undo.UndoByMessage(ctx, ev, m); err != nil {
		return result{}, err
	} else if ok {
		return undoResult(ev, r), nil
	}
	res := result{how: "turn", kind: channels.Reply, said: true, session: ev.Session, channel: ev.Channel, chat: ev.Chat}
	who, err := l.selectAgent(ctx, ev, m)
	if err != nil {
		return res, err
	}
	told, err := l.recentNotices(ctx, ev)
	if err != nil {
		return res, err
	}
	t := turn.Turn{
		Event: ev, Text: chattext.SteerText(ev.Text), Source: ev.Provenance, Said: func() []turn.SteerMessage { return l.takeSteerMessages(ev.ID) }, Outside: m.Outside, OutsideFrom: m.OutsideOrigins(ev), Origins: m.Origins(ev), Attended: ev.Provenance == provenance.Owner,
		Origin: ev.Channel, Report: ev.Session, Channel: ev.Channel, Chat: ev.Chat, Told: told, Cancelled: l.wasCancelled(ev.ID), Hold: l.holdFunc(ev.ID),
	}
	if m.Via != "" {
		t.Origin = m.Via
	}
	t.Person, t.Private = ownerPerson, t.Attended && !m.Shared && !m.Unknown
	if !t.Attended {
		t.Person = ev.Channel + ":" + ev.Sender
	}
	t.Level = l.o.Level(ev.Channel, t.Person)
	if !t.Attended { // the owner gets the questions and creations of unattended turns
		t.Guest = true
		if t.Report, t.Channel, t.Chat, err = l.resolveNoticeTarget(ctx, ""); err != nil {
			return res, err
		}
	}
	for _, i := range m.Images {
		t.Images = append(t.Images, llm.Image{MIME: i.MIME, Data: i.Data})
	}
	defer l.o.Typing(ctx, ev.Channel, ev.Chat)()
	defer l.startLiveReply(ctx, ev)()
	res.Outcome, err = who.Runner.Run(ctx, t)
	return res, err
}

// undoResult returns the result of a message that was answered by an undo.
func undoResult(ev bus.Event, r undo.Reply) result {
	res := result{how: "undo", kind: channels.Reply, said: true, session: ev.Session, channel: ev.Channel, chat: ev.Chat}
	res.Answer, res.Source = r.Text, r.Source
	res.Messages = []llm.Message{
		{Role: llm.User, Parts: []llm.Part{{Text: ev.Text, Source: provenance.Owner}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Text: r.Text, Source: r.Source}}},
	}
	return res
}

// handleSignal handles what a watcher, a schedule or a trigger brought.
func (l *Loop) handleSignal(ctx context.Context, ev bus.Event) (result, error) {
	f, err := payload.ParseSignal(ev)
	if err != nil {
		return result{}, err
	}
	switch f.Mode {
	case watchers.Notify: // the signal's own text mentions a delay
		return l.noticeResult(ctx, f.Report, f.Signal, ev.Provenance)
	case watchers.Remind:
		return l.noticeResult(ctx, f.Report, "Reminder: "+f.Action+f.LatenessNote(" (", ")"), f.Made)
	}
	if strings.TrimSpace(f.Action) == "" {
		return l.noticeResult(ctx, f.Report, f.Signal, ev.Provenance)
	}
	who, err := l.creatorAgent(ctx, ev, f)
	if err != nil {
		return l.noticeResult(ctx, f.Report, fmt.Sprintf("%s I did nothing: %v.", f.Signal, err), ev.Provenance)
	}
	if ok, at := l.o.Room(time.Now()); !ok {
		return result{Outcome: turn.Outcome{Suspended: true}}, l.postponeEvent(ctx, ev, at)
	}
	from, err := f.Origins(l.o.Store.Reader(ctx), ev)
	if err != nil {
		l.o.Log.WarnContext(ctx, "origins cannot be read", "watcher", f.Watcher, "err", err)
	}
	t := turn.Turn{Event: ev, Text: f.Action, Source: provenance.Worst(provenance.Hob, f.Made), Origins: from, Origin: string(ev.Kind), Report: f.Report, Cancelled: l.wasCancelled(ev.ID), Hold: l.holdFunc(ev.ID)}
	if ev.Kind != bus.Schedule && f.Signal != "" {
		t.Outside = []string{f.Signal}
	}
	if t.Report, t.Channel, t.Chat, err = l.resolveNoticeTarget(ctx, f.Report); err != nil {
		return result{}, err
	}
	t.Level = l.o.Level(t.Channel, "")
	res := result{how: "turn", kind: channels.Notice, session: t.Report, channel: t.Channel, chat: t.Chat}
	res.Outcome, err = who.Runner.Run(ctx, t)
	res.said = strings.TrimSpace(res.Answer) != ""
	if res.said {
		res.Answer = f.LatenessNote("(", ")\n") + res.Answer
	}
	return res, err
}

func (l *Loop) noticeResult(ctx context.Context, report, text string, src provenance.Source) (result, error) {
	res := result{how: "notice", kind: channels.Notice, said: true}
	res.Answer, res.Source = text, src
	var err error
	res.session, res.channel, res.chat, err = l.resolveNoticeTarget(ctx, report)
	return res, err
}

// Auto selects the owner's active channel for notices (Options.Where).
const Auto = "auto"

// resolveNoticeTarget finds where to notify the owner: the configured channel, the session of the cause, or
// the session in which the owner wrote last.
func (l *Loop) resolveNoticeTarget(ctx context.Context, report string) (session, channel, chat string, err error) {
	notify := l.o.Notify
	if notify == Auto {
		notify = l.o.Where(ctx)
	}
	if notify != "" && notify != "origin" {
		return report, notify, "", nil
	}
	info, ok, err := l.o.Sessions.Get(ctx, report)
	if err != nil {
		return "", "", "", err
	}
	if ok { // a model may have named the conversation: never report to that of an unknown sender
		if ok, err = l.o.Bus.Owner.HasWritten(ctx, report); err != nil {
			return "", "", "", err
		}
	}
	if ok {
		return l.activeTarget(ctx, report, info.Channel, info.Chat)
	}
	session, channel, chat, err = l.o.Bus.Owner.LastSession(ctx)
	if err != nil || session == "" {
		return cmp.Or(report, "main"), "web", "", err
	}
	return l.activeTarget(ctx, session, channel, chat)
}

// recentNotices lists the notices that Hob sent in this conversation since its last turn. A handle
// replaces untrusted text, so that it does not taint the conversation.
func (l *Loop) recentNotices(ctx context.Context, ev bus.Event) ([]string, error) {
	rows, err := l.o.Bus.Outbox.Notices(ctx, ev.Session, ev.ID, 5)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, n := range rows {
		at := n.CreatedAt.In(l.o.Zone()).Format("15:04")
		if n.Provenance.Tainted() {
			out = append(out, fmt.Sprintf("at %s, a notice with outside text (id %s)", at, n.ID))
			continue
		}
		out = append(out, fmt.Sprintf("at %s, %s", at, n.Text))
	}
	back, err := l.o.Bus.Ledger.TakenBack(ctx, ev.Session, ev.ID)
	for _, b := range back { // on the command line, say: the conversation does not know
		label := b.Label
		if b.Source.Tainted() {
			label = "undo the call " + b.Call
		}
		out = append(out, fmt.Sprintf("at %s, the owner had me %s", b.At.In(l.o.Zone()).Format("15:04"), label))
	}
	return out, err
}

// runOwnerCall runs one tool call that the owner made directly.
func (l *Loop) runOwnerCall(ctx context.Context, ev bus.Event) (result, error) {
	var c payload.ToolCall
	if err := json.Unmarshal(ev.Payload, &c); err != nil {
		return result{}, fmt.Errorf("event %s: %w", ev.ID, err)
	}
	t := turn.Turn{
		Event: ev, Text: "hob tool call " + c.Tool, Source: provenance.Owner, Attended: true, Private: true, Origin: "tool", Report: c.Report, Channel: ev.Channel,
		Call: &llm.ToolCall{Name: c.Tool, Args: c.Args}, Cancelled: l.wasCancelled(ev.ID),
		Person: ownerPerson, Level: l.o.Level(ev.Channel, ownerPerson),
	}
	out, err := l.o.Runner.Run(ctx, t)
	return result{Outcome: out, how: "call"}, err
}

func (l *Loop) wasCancelled(event string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	yes := l.cancelled[event]
	delete(l.cancelled, event)
	return yes
}

// replyRateLimited answers a guest who has written too much, without a model.
func (l *Loop) replyRateLimited(ev bus.Event, m payload.Message) result {
	res := result{how: "limit", kind: channels.Reply, said: true, session: ev.Session, channel: ev.Channel, chat: ev.Chat}
	res.Answer = fmt.Sprintf("That was a lot for one hour: I read at most %d messages an hour from you. What you write before %s I do not see; please write again then.",
		l.o.Intake.GuestLimit(), m.Until.In(l.o.Zone()).Format("15:04"))
	res.Source = provenance.Hob
	return res
}
