package app

import (
	"context"
	"errors"
	"slices"
	"strings"

	"hob/autonomy/session"
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
