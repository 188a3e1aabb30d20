package session

import (
	"context"
	"errors"
	"slices"
	"strings"

	"hob/knowledge"
	"hob/tools"
)

// SearchConversations implements memory.Conversations for the tools.
func (l *MessageIndex) SearchConversations(ctx context.Context, q knowledge.ConversationQuery) ([]knowledge.Said, error) {
	if q.Who != "" && !slices.Contains(Speakers(), q.Who) {
		return nil, tools.Errorf(tools.InvalidArguments, "unknown speaker %q; who must be one of %s", tools.Clean(q.Who), tools.Clean(strings.Join(Speakers(), ", ")))
	}
	found, err := l.Search(ctx, Query{
		Text: q.Text, Session: q.Session, Who: q.Who, Since: q.Since, Until: q.Until, Limit: q.Limit, Without: q.Without, Viewer: q.Viewer,
	})
	if errors.Is(err, ErrNoWords) {
		return nil, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	}
	var out []knowledge.Said
	for _, f := range found {
		out = append(out, knowledge.Said{Message: f.Message, Session: f.Session, Who: f.Who, At: f.At, Text: f.Snippet, Provenance: f.Source, Origins: f.Origins, Withheld: f.Withheld})
	}
	return out, err
}

// SaidIn implements memory.Conversations for the tools.
func (l *MessageIndex) SaidIn(ctx context.Context, message int64) (knowledge.Said, error) {
	id, r, err := l.s.Message(ctx, message)
	if errors.Is(err, ErrNoMessage) {
		return knowledge.Said{}, tools.Errorf(tools.NotFound, "%w", tools.CleanErr(err))
	}
	text, src := Text(r.Message)
	return knowledge.Said{Message: r.ID, Session: id, Who: SpeakerOf(r.Message), At: r.CreatedAt, Text: text, Provenance: src, Origins: OriginsIn(r.Message, id, r.Turn)}, err
}
