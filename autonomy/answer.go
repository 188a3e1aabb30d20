package autonomy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/intake/chattext"
	"hob/autonomy/payload"
	"hob/channels"
	"hob/platform/provenance"
)

// maxAnswerAge is the maximum age of a question that a bare yes or no answers.
const maxAnswerAge = 5 * time.Minute

// noClient is the client of an API message without a client name. Hob cannot show it anything.
const noClient = "?"

// errOnlyReplies refuses an approval that does not reply to its question.
var errOnlyReplies = errors.New("on this channel an approval must be a reply to the question, because anyone may know its id; reply to that message, or use hob approve in a terminal")

// answerPlace identifies where an answer was written: a chat of a channel, or a conversation in
// one API client.
type answerPlace struct {
	session, channel, chat, client string
	event                          string // of the answer
	until, taken                   time.Time
	replyTo                        []string
	threaded, onlyReplies          bool
}

// placeOfAnswer reads where and when a message was written.
func placeOfAnswer(ev bus.Event) (answerPlace, error) {
	m, err := payload.ParseMessage(ev)
	if err != nil {
		return answerPlace{}, err
	}
	p := answerPlace{
		session: ev.Session, channel: ev.Channel, chat: ev.Chat, client: m.Client, event: ev.ID, taken: takenAt(ev.ID),
		replyTo: m.ReplyTo, threaded: m.Threaded, onlyReplies: m.OnlyReplies,
	}
	p.until = p.taken
	if at := ev.ReceivedAt.Add(skew); !ev.ReceivedAt.IsZero() && at.Before(p.until) {
		p.until = at
	}
	return p, nil
}

// answerTarget is the set of approvals that an answer in a place may decide.
type answerTarget struct {
	// decides lists the approvals that a bare yes or no decides: one, or those of a batch.
	decides []guard.Approval
	// open lists the approvals waiting here that only an answer with an id decides.
	open []guard.Approval
	// asks is the shown question, which a reminder repeats.
	asks []string
}

// hasTarget reports whether there is anything that an answer could mean.
func (t answerTarget) hasTarget() bool { return len(t.decides)+len(t.open) > 0 }

// answerTarget finds what a bare answer in a place decides. "Yes" approves only the last
// question shown there: an attended turn of that conversation asked it, it is at most
// maxAnswerAge old, and nothing came after it. A reply to the message of a question answers
// that question, whichever turn asked it.
func (l *Loop) answerTarget(ctx context.Context, p answerPlace) (t answerTarget, err error) {
	list, err := l.o.Bus.Questions(ctx)
	if err != nil {
		return t, err
	}
	if len(p.replyTo) > 0 {
		for _, q := range list {
			if q.Channel == p.channel && q.State == channels.Sent && p.repliesTo(q) {
				t.decides, err = l.openOf(ctx, q)
				return t, err
			}
		}
	}
	list = slices.DeleteFunc(list, func(q bus.Question) bool { return !l.isAskedHere(p, q) })
	if t.open, err = l.openHere(ctx, p, list); err != nil || len(list) == 0 || p.onlyReplies || len(p.replyTo) > 0 && !p.threaded {
		return t, err
	}
	q := list[0] // the last one; an earlier one is not decided by a bare word
	if shown, err := l.lastShown(ctx, p, q); err != nil || !shown {
		return t, err
	}
	open, err := l.openOf(ctx, q)
	if err != nil {
		return t, err
	}
	for _, a := range open {
		if own, err := l.askedBy(ctx, p, a); err != nil || !own || p.taken.Sub(a.CreatedAt) > maxAnswerAge {
			return t, err
		}
	}
	t.decides, t.asks, t.open = open, q.Asks, nil
	return t, nil
}

// repliesTo reports whether an answer replies to a message of a question. Most platforms
// count messages within a chat, or within the chat that a thread belongs to.
func (p answerPlace) repliesTo(q bus.Question) bool {
	ref := channels.DeliveryRef(q.Delivery)
	chat := q.Chat == p.chat || p.threaded && strings.HasPrefix(p.chat, q.Chat+"/") || p.onlyReplies
	return slices.ContainsFunc(p.replyTo, func(id string) bool {
		return id == ref || strings.HasPrefix(id, ref+".") || id != "" && chat && slices.Contains(q.Parts, id)
	})
}

// askedBy reports whether a turn that the owner asked for in this conversation put a
// question: not a task, whatever started it.
func (l *Loop) askedBy(ctx context.Context, p answerPlace, a guard.Approval) (bool, error) {
	if !a.Attended {
		return false, nil
	}
	ev, err := l.o.Bus.Event(ctx, a.Event)
	if err != nil {
		return false, err
	}
	return ev.Kind == bus.Message && ev.Provenance == provenance.Owner && ev.Session == p.session, nil
}

// isAskedHere reports whether a question was asked in the place of the answer.
func (l *Loop) isAskedHere(p answerPlace, q bus.Question) bool {
	if p.client != "" {
		return q.Session == p.session
	}
	return q.Channel == p.channel && q.Chat == p.chat
}

// lastShown reports whether a question was displayed in a place, and nothing came after it
// there until the answer.
func (l *Loop) lastShown(ctx context.Context, p answerPlace, q bus.Question) (bool, error) {
	at, after := q.SentAt, q.After
	if p.client != "" {
		var shown bool
		var err error
		if at, after, shown, err = l.o.Bus.ShownTo(ctx, q.Delivery, p.client); err != nil || !shown {
			return false, err
		}
	} else if q.State != channels.Sent {
		return false, nil
	}
	if at.After(p.until) {
		return false, nil
	}
	passed, whole, err := l.o.Bus.PassedSince(ctx, after, p.event)
	if err != nil || !whole {
		return false, err
	}
	return !slices.ContainsFunc(passed, func(x bus.Passed) bool {
		return x.ID != q.Delivery && (x.Kind == "" || !x.At.After(p.taken)) && l.seenHere(p, x)
	}), nil
}

// seenHere reports whether a text or message appeared in the place of the answer. Pull clients
// also show notices and questions of other conversations.
func (l *Loop) seenHere(p answerPlace, x bus.Passed) bool {
	if p.client == "" {
		return x.Channel == p.channel && x.Chat == p.chat
	}
	if x.Session == p.session {
		return true
	}
	return (x.Kind == channels.Notice || x.Kind == channels.Question) && !l.o.Pushes(x.Channel)
}

// openOf lists the approvals of a question that still wait, in its order.
func (l *Loop) openOf(ctx context.Context, q bus.Question) (out []guard.Approval, err error) {
	for _, id := range q.Asks {
		a, err := l.o.Guard.Approval(ctx, id)
		switch {
		case errors.Is(err, guard.ErrNoApproval):
		case err != nil:
			return nil, err
		case a.State == guard.Pending && time.Now().Before(a.ExpiresAt):
			out = append(out, a)
		}
	}
	return out, nil
}

// openHere lists the approvals that a bare answer in a place may have meant: those that block
// the conversation, the latest one, and those of the last minutes. An older approval of a
// background task does not block a conversation.
func (l *Loop) openHere(ctx context.Context, p answerPlace, list []bus.Question) (out []guard.Approval, err error) {
	last, err := l.o.Bus.LastSaid(ctx, func(x bus.Passed) bool { return l.seenHere(p, x) }, p.taken)
	if err != nil {
		return nil, err
	}
	for _, q := range list {
		open, err := l.openOf(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, a := range open {
			if q.Delivery == last || p.taken.Sub(q.SentAt) <= maxAnswerAge || a.Attended {
				out = append(out, a)
			}
		}
	}
	held, err := l.o.Guard.Approvals(ctx, guard.Pending, p.session, "", 100)
	if err != nil {
		return nil, err
	}
	for _, a := range held {
		if a.Attended && time.Now().Before(a.ExpiresAt) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(x, y guard.Approval) int { return strings.Compare(x.ID, y.ID) })
	return slices.CompactFunc(out, func(x, y guard.Approval) bool { return x.ID == y.ID }), nil
}

// skew is the tolerated lag of a platform's message timestamps. Without it an answer could look
// older than its question; many platforms truncate to seconds.
const skew = 2 * time.Second

// takenAt returns when this machine received an event, from the UUIDv7 of its id.
func takenAt(event string) time.Time {
	id, err := uuid.Parse(event)
	if err != nil {
		return time.Now()
	}
	return time.Unix(id.Time().UnixTime()).Add(time.Millisecond) // the id has whole milliseconds
}

// answersHere reports whether a bare word in a message is dealt with as an answer, and not
// as conversation.
func (l *Loop) answersHere(ctx context.Context, ev bus.Event) (bool, error) {
	p, err := placeOfAnswer(ev)
	if err != nil {
		return false, err
	}
	t, err := l.answerTarget(ctx, p)
	return t.hasTarget(), err
}

// replyToBareAnswer answers an agreement that decides nothing. asks are the approvals that the reminder
// shows again.
func (l *Loop) replyToBareAnswer(ctx context.Context, ev bus.Event) (text string, asks []string, err error) {
	p, err := placeOfAnswer(ev)
	if err != nil {
		return "", nil, err
	}
	t, err := l.answerTarget(ctx, p)
	switch {
	case err != nil:
		return "", nil, err
	case len(t.decides) == 1:
		return fmt.Sprintf("Reply yes to approve or no to deny: %s.", strings.TrimRight(t.decides[0].Summary, ".")), t.asks, nil
	}
	return nameOne(append(t.decides, t.open...), p), nil, nil
}

// approvalsToRepeat returns the approvals that the reply to a bare answer lists again, since it
// could mean any of them.
func (l *Loop) approvalsToRepeat(ctx context.Context, ev bus.Event, all bool) ([]string, error) {
	p, err := placeOfAnswer(ev)
	if err != nil {
		return nil, err
	}
	t, err := l.answerTarget(ctx, p)
	if err != nil || len(t.decides) < 2 {
		return nil, err
	}
	if _, one := t.singleApproval(all); one {
		return nil, nil
	}
	return t.asks, nil
}

// decideApproval answers the named question, or the last one shown in this chat.
func (l *Loop) decideApproval(ctx context.Context, ev bus.Event, id string, ans guard.Answer) (string, error) {
	if err := requireKnownOrigin(ev); err != nil {
		return "", err
	}
	p, err := placeOfAnswer(ev)
	if err != nil {
		return "", err
	}
	if id == "" || id == chattext.All {
		t, err := l.answerTarget(ctx, p)
		if err != nil {
			return "", err
		}
		var one bool
		if id, one = t.singleApproval(id == chattext.All); !one {
			return nameOne(append(t.decides, t.open...), p), nil
		}
	} else if err := l.mayName(ctx, p, id); err != nil {
		return "", err
	}
	decided, err := l.AnswerInChat(ctx, id, ans)
	switch {
	case errors.Is(err, guard.ErrDecided), errors.Is(err, guard.ErrNoApproval), errors.Is(err, guard.ErrScope), errors.Is(err, guard.ErrTooLong):
		return "", err
	case err != nil:
		return "", fmt.Errorf("your answer could not be saved: %w", err)
	}
	what := decided[0].Summary
	if n := len(decided); n > 1 {
		what = fmt.Sprintf("%s, and %d more like it", what, n-1)
	}
	if ans.Approved {
		return "Thank you. Going on: " + what, nil
	}
	return "All right, I will not do that: " + what, nil
}

// singleApproval returns the one approval or batch that a bare answer decides.
func (t answerTarget) singleApproval(all bool) (id string, one bool) {
	switch batch := len(t.decides) > 0 && t.decides[0].Batch != ""; {
	case len(t.decides) == 1:
		return t.decides[0].ID, true
	case all && batch && !slices.ContainsFunc(t.decides, func(a guard.Approval) bool { return a.Batch != t.decides[0].Batch }):
		return t.decides[0].Batch, true
	}
	return "", false
}

// mayName rejects an answer by id on a channel where only replies count, unless it is a reply
// to that question. It reports an earlier decision as such.
func (l *Loop) mayName(ctx context.Context, p answerPlace, id string) error {
	if !p.onlyReplies {
		return nil
	}
	t, err := l.answerTarget(ctx, p)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(t.decides, func(a guard.Approval) bool { return a.ID == id || a.Batch == id }) {
		return nil
	}
	if a, err := l.o.Guard.Approval(ctx, id); err == nil && a.State != guard.Pending {
		return fmt.Errorf("approval %s is %s: %w", id, a.State, guard.ErrDecided)
	}
	return errOnlyReplies
}

// AnswerInChat is Answer from a chat. It rejects an approval if the question is too long for
// the chat.
func (l *Loop) AnswerInChat(ctx context.Context, id string, ans guard.Answer) ([]guard.Approval, error) {
	if ans.Approved {
		if err := l.o.Guard.ShownWhole(ctx, id); err != nil {
			return nil, err
		}
	}
	return l.Answer(ctx, id, ans)
}

// Spoken records that a delivery was spoken in a client's conversation. It returns the approval
// that a spoken yes or no decides there, "" if none.
func (l *Loop) Spoken(ctx context.Context, client string, d channels.Delivery) (string, error) {
	if err := l.o.Bus.MarkShown(ctx, client, bus.Display{Delivery: d.ID, Again: true}); err != nil {
		return "", err
	}
	t, err := l.answerTarget(ctx, spokenPlace(d.Channel, d.Chat, client))
	if len(t.decides) != 1 {
		return "", err
	}
	return t.decides[0].ID, err
}

// AnswerSpoken decides the last question spoken in a conversation. The error is
// channels.ErrNotShown if something came after the question or a bare yes cannot answer it.
func (l *Loop) AnswerSpoken(ctx context.Context, press channels.ButtonPress, ans guard.Answer) ([]guard.Approval, error) {
	t, err := l.answerTarget(ctx, spokenPlace(press.Channel, press.Chat, press.Client))
	if err != nil {
		return nil, err
	}
	if len(t.decides) != 1 || t.decides[0].ID != press.Question {
		if a, err := l.o.Guard.Approval(ctx, press.Question); err == nil && a.State != guard.Pending {
			return nil, fmt.Errorf("approval %s is %s: %w", a.ID, a.State, guard.ErrDecided)
		}
		return nil, channels.ErrNotShown
	}
	return l.AnswerInChat(ctx, press.Question, ans)
}

func spokenPlace(channel, chat, client string) answerPlace {
	now := time.Now().Add(time.Millisecond)
	session := channels.Inbound{Channel: channel, Chat: chat}.Conversation(false)
	return answerPlace{session: session, channel: channel, chat: chat, client: client, until: now, taken: now}
}

// nameOne explains how to answer questions that a bare answer does not decide.
func nameOne(open []guard.Approval, p answerPlace) string {
	if len(open) == 0 {
		return "There is no question waiting for your answer here."
	}
	var b strings.Builder
	if len(open) == 1 {
		fmt.Fprintf(&b, "I did not take that as an answer to this question: %s.\n", strings.TrimRight(open[0].Summary, "."))
	} else {
		fmt.Fprintf(&b, "%d questions wait for you. Which one do you mean?\n", len(open))
	}
	if p.onlyReplies {
		b.WriteString("Reply to the message with the question:\n")
	}
	batches := map[string]bool{"": true}
	for _, a := range open {
		if !batches[a.Batch] && len(open) > 1 {
			batches[a.Batch] = true
			fmt.Fprintf(&b, "/yes %s or /no %s: all of these alike\n", a.Batch, a.Batch)
		}
		fmt.Fprintf(&b, "/yes %s or /no %s: %s\n", a.ID, a.ID, a.Summary)
	}
	fmt.Fprintf(&b, "All details: hob approvals show %s", open[0].ID)
	return b.String()
}
