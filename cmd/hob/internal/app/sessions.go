package app

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"hob/autonomy/agents"
	"hob/autonomy/llm"
	"hob/autonomy/session"
	brains "hob/autonomy/turn/modelrouter"
	"hob/tools"
	"hob/tools/memory"
)

// conversations gives tools access to all messages.
type conversations struct{ d *App }

// SearchConversations implements memory.Conversations.
func (c conversations) SearchConversations(ctx context.Context, q memory.ConversationQuery) ([]memory.Said, error) {
	if q.Who != "" && !slices.Contains(session.Speakers(), q.Who) {
		return nil, tools.Errorf(tools.InvalidArguments, "unknown speaker %q; who must be one of %s", tools.Clean(q.Who), tools.Clean(strings.Join(session.Speakers(), ", ")))
	}
	found, err := c.d.library.Search(ctx, session.Query{
		Text: q.Text, Session: q.Session, Who: q.Who, Since: q.Since, Until: q.Until, Limit: q.Limit, Without: q.Without, Viewer: q.Viewer,
	})
	if errors.Is(err, session.ErrNoWords) {
		return nil, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	}
	var out []memory.Said
	for _, f := range found {
		out = append(out, memory.Said{Message: f.Message, Session: f.Session, Who: f.Who, At: f.At, Text: f.Snippet, Provenance: f.Source, Origins: f.Origins, Withheld: f.Withheld})
	}
	return out, err
}

// SaidIn implements memory.Conversations.
func (c conversations) SaidIn(ctx context.Context, message int64) (memory.Said, error) {
	id, r, err := c.d.sessions.Message(ctx, message)
	if errors.Is(err, session.ErrNoMessage) {
		return memory.Said{}, tools.Errorf(tools.NotFound, "%w", tools.CleanErr(err))
	}
	text, src := session.Text(r.Message)
	return memory.Said{Message: r.ID, Session: id, Who: session.SpeakerOf(r.Message), At: r.CreatedAt, Text: text, Provenance: src, Origins: session.OriginsIn(r.Message, id, r.Turn)}, err
}

// summaryModel returns the model of the agent that owns the conversation, so that no other provider
// reads it.
func (d *App) summaryModel(ctx context.Context, id string) (llm.Model, error) {
	info, _, err := d.sessions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	who, err := d.crew.CurrentAgent(ctx, agents.MessageOrigin{Session: id, Channel: info.Channel, Chat: info.Chat})
	if err != nil {
		return nil, err
	}
	c, err := who.Options.Model(ctx, brains.TurnInfo{Agent: who.Options.Name, Session: id})
	if err != nil {
		return nil, err
	}
	return accountedModel{c.Model, who.Options.Name}, nil
}

// accountedModel charges model calls to an agent's account.
type accountedModel struct {
	llm.Model
	agent string
}

// Stream implements llm.Model.
func (b accountedModel) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	r.Account.Agent = b.agent
	return b.Model.Stream(ctx, r)
}
