package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/knowledge"
	"hob/platform/store"
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

// MessagesIn returns the messages of a period without a search, newest first. It implements
// social.Conversations for the tools. Results of tools are omitted.
func (l *MessageIndex) MessagesIn(ctx context.Context, q knowledge.ConversationQuery) (out []knowledge.Said, err error) {
	if err := l.Index(ctx); err != nil {
		return nil, err
	}
	r := l.s.db.Reader(ctx)
	s := search{q: Query{Limit: newest, Viewer: q.Viewer}}
	rows, err := r.Query(`SELECT `+docColumns+`, `+messageID+`, d.grp FROM docs d WHERE d.kind = ? AND (? = '' OR d.grp = ?) AND d.at >= ? AND d.at < ? ORDER BY d.n DESC LIMIT ?`,
		knowledge.KindTurn, q.Session, q.Session, store.Millis(q.Since), store.Millis(q.Until), q.Limit)
	if err != nil {
		return nil, fmt.Errorf("session: read messages of a period: %w", err)
	}
	defer rows.Close()
	var list []searchRow
	for rows.Next() {
		var x searchRow
		var at int64
		if err := rows.Scan(&x.Ref, &x.Text, &at, &x.Provenance, &x.Group, &x.Speaker, &x.Source, &x.message, &x.session); err != nil {
			return nil, err
		}
		x.At = store.Time(at)
		list = append(list, x)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("session: read messages of a period: %w", err)
	}
	for _, x := range list {
		f, err := toFound(r, s, x)
		if err != nil {
			return nil, fmt.Errorf("session: read messages of a period: %w", err)
		}
		if f.Who == WhoTool || q.Without != "" && f.Turn == q.Without {
			continue
		}
		text, ok := q.Viewer.Show("", x.Text)
		who := f.Who
		if f.Speaker != "" {
			who = f.Speaker
		}
		out = append(out, knowledge.Said{Message: f.Message, Session: f.Session, Who: who, At: f.At, Text: text, Provenance: f.Source, Origins: f.Origins, Withheld: !ok})
	}
	return out, nil
}
