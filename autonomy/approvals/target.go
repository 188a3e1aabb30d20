package approvals

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/payload"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/text/sorting"
)

// maxAnswerAge is the maximum age of a request that a bare yes or no can answer.
const maxAnswerAge = 5 * time.Minute

// errOnlyReplies is the error for an approval that is not a reply to its request.
var errOnlyReplies = errors.New("on this channel an approval must be a reply to the request, because other people may know its id; reply to that message, or use hob approve in a terminal")

// answerPlace identifies where an answer was written: in a chat on a channel, or in a conversation
// in one API client.
type answerPlace struct {
	session, channel, chat, client string
	event                          string // event of the answer
	until, taken                   time.Time
	replyTo                        []string
	threaded, onlyReplies          bool
}

// placeOfAnswer returns where and when a message was written.
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

// answerTarget is the set of approval requests that an answer in a place may decide.
type answerTarget struct {
	// decides lists the requests that a bare yes or no decides: a single one, or those in a batch.
	decides []guard.Approval
	// open lists the waiting requests that only an answer with an id can decide.
	open []guard.Approval
	// asks lists the ids of the displayed requests, which a reminder shows again.
	asks []string
}

// hasTarget reports whether there is a request to which an answer could refer.
func (t answerTarget) hasTarget() bool { return len(t.decides)+len(t.open) > 0 }

// findTarget finds the request that a bare answer in a chat decides. "Yes" approves only the last
// request shown in the chat, and only if an attended turn in that conversation made the request,
// the request is at most maxAnswerAge old, and nothing was sent after it. A reply to the message
// with a request answers that request, regardless of which turn made it.
func (d *Decider) findTarget(ctx context.Context, p answerPlace) (t answerTarget, err error) {
	list, err := d.o.Bus.Outbox.Questions(ctx)
	if err != nil {
		return t, err
	}
	if len(p.replyTo) > 0 {
		for _, q := range list {
			if q.Channel == p.channel && q.State == channels.Sent && p.repliesTo(q) {
				t.decides, err = d.openOf(ctx, q)
				return t, err
			}
		}
	}
	list = slices.DeleteFunc(list, func(q bus.Question) bool { return !d.isAskedHere(p, q) })
	if t.open, err = d.openHere(ctx, p, list); err != nil || len(list) == 0 || p.onlyReplies || len(p.replyTo) > 0 && !p.threaded {
		return t, err
	}
	q := list[0] // the last one; a bare word does not decide an earlier one
	if shown, err := d.lastShown(ctx, p, q); err != nil || !shown {
		return t, err
	}
	open, err := d.openOf(ctx, q)
	if err != nil {
		return t, err
	}
	for _, a := range open {
		if own, err := d.askedBy(ctx, p, a); err != nil || !own || p.taken.Sub(a.CreatedAt) > maxAnswerAge {
			return t, err
		}
	}
	t.decides, t.asks, t.open = open, q.Asks, nil
	return t, nil
}

// repliesTo reports whether an answer is a reply to a message with question q. On most platforms a
// message id is unique only within a chat, or within the chat that contains the thread.
func (p answerPlace) repliesTo(q bus.Question) bool {
	ref := channels.DeliveryRef(q.Delivery)
	chat := q.Chat == p.chat || p.threaded && strings.HasPrefix(p.chat, q.Chat+"/") || p.onlyReplies
	return slices.ContainsFunc(p.replyTo, func(id string) bool {
		return id == ref || strings.HasPrefix(id, ref+".") || id != "" && chat && slices.Contains(q.Parts, id)
	})
}

// askedBy reports whether the request comes from a turn that the owner started in this
// conversation, and not from a task.
func (d *Decider) askedBy(ctx context.Context, p answerPlace, a guard.Approval) (bool, error) {
	if !a.Attended {
		return false, nil
	}
	ev, err := d.o.Bus.Inbox.Event(ctx, a.Event)
	if err != nil {
		return false, err
	}
	return ev.Kind == bus.Message && ev.Provenance == provenance.Owner && ev.Session == p.session, nil
}

// isAskedHere reports whether a question was sent to the place of the answer.
func (d *Decider) isAskedHere(p answerPlace, q bus.Question) bool {
	if p.client != "" {
		return q.Session == p.session
	}
	return q.Channel == p.channel && q.Chat == p.chat
}

// lastShown reports whether a question was displayed in a place, and nothing was sent there between
// the question and the answer.
func (d *Decider) lastShown(ctx context.Context, p answerPlace, q bus.Question) (bool, error) {
	at, after := q.SentAt, q.After
	if p.client != "" {
		var shown bool
		var err error
		if at, after, shown, err = d.o.Bus.Outbox.ShownTo(ctx, q.Delivery, p.client); err != nil || !shown {
			return false, err
		}
	} else if q.State != channels.Sent {
		return false, nil
	}
	if at.After(p.until) {
		return false, nil
	}
	passed, whole, err := d.o.Bus.Outbox.PassedSince(ctx, after, p.event)
	if err != nil || !whole {
		return false, err
	}
	return !slices.ContainsFunc(passed, func(x bus.Passed) bool {
		return x.ID != q.Delivery && (x.Kind == "" || !x.At.After(p.taken)) && d.seenHere(p, x)
	}), nil
}

// seenHere reports whether a message from Hob or the owner appeared in the place of the answer.
// Pull clients also show notices and questions from other conversations.
func (d *Decider) seenHere(p answerPlace, x bus.Passed) bool {
	if p.client == "" {
		return x.Channel == p.channel && x.Chat == p.chat
	}
	if x.Session == p.session {
		return true
	}
	return (x.Kind == channels.Notice || x.Kind == channels.Question) && !d.o.Channels.Pushes(x.Channel)
}

// openOf lists the pending approval requests in a question, in order.
func (d *Decider) openOf(ctx context.Context, q bus.Question) (out []guard.Approval, err error) {
	for _, id := range q.Asks {
		a, err := d.o.Guard.Approval(ctx, id)
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

// openHere lists the requests to which a bare answer in a chat may refer: the requests that block
// the conversation, the latest request, and requests from the last minutes. An older request from a
// background task does not block a conversation.
func (d *Decider) openHere(ctx context.Context, p answerPlace, list []bus.Question) (out []guard.Approval, err error) {
	last, err := d.o.Bus.Outbox.LastSaid(ctx, func(x bus.Passed) bool { return d.seenHere(p, x) }, p.taken)
	if err != nil {
		return nil, err
	}
	for _, q := range list {
		open, err := d.openOf(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, a := range open {
			if q.Delivery == last || p.taken.Sub(q.SentAt) <= maxAnswerAge || a.Attended {
				out = append(out, a)
			}
		}
	}
	held, err := d.o.Guard.Approvals(ctx, guard.Pending, p.session, "", 100)
	if err != nil {
		return nil, err
	}
	for _, a := range held {
		if a.Attended && time.Now().Before(a.ExpiresAt) {
			out = append(out, a)
		}
	}
	sorting.ByFunc(out, func(x, y guard.Approval) int { return strings.Compare(x.ID, y.ID) })
	return slices.CompactFunc(out, func(x, y guard.Approval) bool { return x.ID == y.ID }), nil
}

// skew is the tolerated lag of a platform's message timestamps. Without it, an answer could appear
// to be older than its question, because many platforms truncate to seconds.
const skew = 2 * time.Second

// takenAt returns the time at which this machine received an event. It derives the time from the
// event id, which is a UUIDv7.
func takenAt(event string) time.Time {
	id, err := uuid.Parse(event)
	if err != nil {
		return time.Now()
	}
	return time.Unix(id.Time().UnixTime()).Add(time.Millisecond) // rounded up, because the id contains only whole milliseconds
}

// singleApproval returns the id of the only request or batch that a bare answer decides. one is
// false if there is no such request, or more than one.
func (t answerTarget) singleApproval(all bool) (id string, one bool) {
	switch batch := len(t.decides) > 0 && t.decides[0].Batch != ""; {
	case len(t.decides) == 1:
		return t.decides[0].ID, true
	case all && batch && !slices.ContainsFunc(t.decides, func(a guard.Approval) bool { return a.Batch != t.decides[0].Batch }):
		return t.decides[0].Batch, true
	}
	return "", false
}
