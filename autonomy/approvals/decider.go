// Package approvals applies the user's answers to approval requests. Every answer goes through
// Decider.Answer: from chat, API, command line, buttons and speech. The package finds the request
// to which a bare yes or no refers. The guard stores requests and decides which calls need one.
package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/channels"
	"hob/platform/store"
)

// PushChannels reports which channels send their messages to their clients. *channels.Manager
// implements it.
type PushChannels interface {
	// Pushes reports whether the channel is running and sends messages itself, instead of waiting
	// for its clients to fetch them.
	Pushes(channel string) bool
}

// Options holds the options of New. All fields are required.
type Options struct {
	Store    *store.Store
	Bus      *bus.Bus
	Guard    *guard.Guard
	Channels PushChannels
}

// Decider finds the approval requests to which an answer refers, and decides them. Its methods may
// be called concurrently.
type Decider struct{ o Options }

// New returns a Decider after checking the options.
func New(o Options) (*Decider, error) {
	if o.Store == nil || o.Bus == nil || o.Guard == nil || o.Channels == nil {
		return nil, errors.New("approvals: Options needs Store, Bus, Guard and Channels")
	}
	return &Decider{o: o}, nil
}

// Answer decides an approval request, or all open requests in a batch, and lets the turns continue.
// Every answer goes through it: from chat, API, command line, buttons and speech. It returns the
// decided requests.
func (d *Decider) Answer(ctx context.Context, id string, ans guard.Answer) (decided []guard.Approval, err error) {
	err = d.o.Store.Write(ctx, func(tx *store.Tx) error {
		if decided, err = d.answerTx(tx, id, ans); err != nil {
			return err
		}
		done := map[string]bool{}
		for _, a := range decided {
			if done[a.Event] {
				continue
			}
			done[a.Event] = true
			if err := d.o.Bus.Inbox.ResumeTx(tx, a.Event); err != nil {
				return err
			}
		}
		return nil
	})
	return decided, err
}

func (d *Decider) answerTx(tx *store.Tx, id string, ans guard.Answer) ([]guard.Approval, error) {
	if guard.IsBatch(id) {
		return d.o.Guard.AnswerBatchTx(tx, id, ans)
	}
	a, err := d.o.Guard.AnswerTx(tx, id, ans)
	return []guard.Approval{a}, err
}

// Revoke ends a grant.
func (d *Decider) Revoke(ctx context.Context, id, by string) (g guard.Grant, err error) {
	err = d.o.Store.Write(ctx, func(tx *store.Tx) error {
		g, err = d.o.Guard.RevokeTx(tx, id, by)
		return err
	})
	return g, err
}

// Grant creates a grant that is not an answer to an approval request.
func (d *Decider) Grant(ctx context.Context, n guard.NewGrant) (g guard.Grant, err error) {
	err = d.o.Store.Write(ctx, func(tx *store.Tx) error {
		g, err = d.o.Guard.GrantTx(ctx, tx, n)
		return err
	})
	return g, err
}

// AnswerInChat is like Answer, but for answers from a chat. It rejects an approval if the request
// is too long for the chat.
func (d *Decider) AnswerInChat(ctx context.Context, id string, ans guard.Answer) ([]guard.Approval, error) {
	if ans.Approved {
		if err := d.o.Guard.ShownWhole(ctx, id); err != nil {
			return nil, err
		}
	}
	return d.Answer(ctx, id, ans)
}

// Spoken records that a delivery was spoken in a client's conversation. It returns the id of the
// approval request that a spoken yes or no would decide in that conversation, or "" if there is
// none.
func (d *Decider) Spoken(ctx context.Context, client string, sent channels.Delivery) (string, error) {
	if err := d.o.Bus.Outbox.MarkShown(ctx, client, bus.Display{Delivery: sent.ID, Again: true}); err != nil {
		return "", err
	}
	t, err := d.findTarget(ctx, spokenPlace(sent.Channel, sent.Chat, client))
	if len(t.decides) != 1 {
		return "", err
	}
	return t.decides[0].ID, err
}

// AnswerSpoken decides the approval request that was last spoken in a conversation. It returns
// channels.ErrNotShown if something was sent after the request or a bare yes cannot answer it.
func (d *Decider) AnswerSpoken(ctx context.Context, press channels.ButtonPress, ans guard.Answer) ([]guard.Approval, error) {
	t, err := d.findTarget(ctx, spokenPlace(press.Channel, press.Chat, press.Client))
	if err != nil {
		return nil, err
	}
	if len(t.decides) != 1 || t.decides[0].ID != press.Question {
		if a, err := d.o.Guard.Approval(ctx, press.Question); err == nil && a.State != guard.Pending {
			return nil, fmt.Errorf("request %s is already %s: %w", a.ID, a.State, guard.ErrDecided)
		}
		return nil, channels.ErrNotShown
	}
	return d.AnswerInChat(ctx, press.Question, ans)
}

func spokenPlace(channel, chat, client string) answerPlace {
	now := time.Now().Add(time.Millisecond)
	session := channels.Inbound{Channel: channel, Chat: chat}.Conversation(false)
	return answerPlace{session: session, channel: channel, chat: chat, client: client, until: now, taken: now}
}
