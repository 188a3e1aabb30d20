package agents

import (
	"context"
	"errors"
	"iter"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/llm"
	"hob/autonomy/session"
	"hob/autonomy/turn/modelrouter"
)

// unownedRealm is the memory namespace of conversations that belong to no agent. Only the user can
// search it.
const unownedRealm = "(nobody)"

// RealmOf returns the memory namespace of the agent that owns a conversation.
func (c *Registry) RealmOf(ctx context.Context, id string) (string, error) {
	if i := strings.LastIndexByte(id, '/'); i >= 0 { // the conversation of a delegated task
		t, err := c.Task(ctx, id[i+1:])
		if err == nil && t.Own() == id {
			if m, ok := c.Named(t.Agent); ok {
				return m.Options.Realm, nil
			}
			return t.Agent, nil // the agent no longer exists; its memory stays separate
		}
		if err != nil && !errors.Is(err, bus.ErrNotFound) {
			return "", err
		}
	}
	info, _, err := c.o.Sessions.Get(ctx, id)
	if err != nil {
		return "", err
	}
	m, err := c.CurrentAgent(ctx, MessageOrigin{Session: id, Channel: info.Channel, Chat: info.Chat})
	if errors.Is(err, ErrNobody) {
		return unownedRealm, nil
	}
	return m.Options.Realm, err
}

// AboutTurn returns the sender of the message that a turn answers, with the name used by the
// channel.
func (c *Registry) AboutTurn(ctx context.Context, turn string) (session.About, error) {
	ev, err := c.o.Bus.Inbox.Event(ctx, turn)
	if errors.Is(err, bus.ErrNotFound) {
		return session.About{}, nil
	}
	return session.About{Sender: ev.Sender, Call: ev.Kind == bus.Task && !IsTaskEvent(ev)}, err
}

// SummaryModel returns the model of the agent that owns a conversation, so that no other provider
// reads the conversation. Calls are charged to the agent.
func (c *Registry) SummaryModel(ctx context.Context, id string) (llm.Model, error) {
	info, _, err := c.o.Sessions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	who, err := c.CurrentAgent(ctx, MessageOrigin{Session: id, Channel: info.Channel, Chat: info.Chat})
	if err != nil {
		return nil, err
	}
	choice, err := who.Options.Models.Choose(ctx, modelrouter.TurnInfo{Agent: who.Options.Name, Session: id})
	if err != nil {
		return nil, err
	}
	return accountedModel{choice.Model, who.Options.Name}, nil
}

// accountedModel charges model calls to an agent's account.
type accountedModel struct {
	llm.Model
	agent string
}

// Stream implements llm.Model.
func (m accountedModel) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	r.Account.Agent = m.agent
	return m.Model.Stream(ctx, r)
}
