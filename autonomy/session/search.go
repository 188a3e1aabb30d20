package session

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/text/credential"
)

// Query describes a search in all conversations.
type Query struct {
	// Text is the query. All of its words must occur, as prefixes of words in the message.
	// Quotation marks enclose a phrase, and a word after "-" must not occur. If no message contains
	// all words, messages that contain any of them match.
	Text    string
	Session string // "" means all conversations
	Who     string // "" matches any speaker; see WhoOwner
	Since   time.Time
	Until   time.Time
	Limit   int
	// Without is a turn to exclude, for example the one that runs the search.
	Without string
	// Viewer describes who reads the results. The zero value must not see credentials.
	Viewer credential.Viewer
}

// Found is one search result.
type Found struct {
	Message int64             `json:"message"` // 0 if the result is not a message in this store
	Ref     string            `json:"ref"`
	Session string            `json:"session"`
	Turn    string            `json:"turn"`
	Who     string            `json:"who"`
	Speaker string            `json:"speaker,omitempty"` // name of the speaker, unless the owner is the speaker
	At      time.Time         `json:"at"`
	Snippet string            `json:"snippet"` // text in which matches are in [brackets]
	Source  provenance.Source `json:"source"`
	// Withheld reports whether the message looks like a credential that the query did not name.
	// Snippet then says so.
	Withheld bool `json:"withheld,omitempty"`
	// Origins lists the origins of the untrusted text in the message.
	Origins []provenance.Origin `json:"origins,omitempty"`
}

// ErrNoWords means that the query contains no word.
var ErrNoWords = errors.New("the query contains no words; enter at least one")

// ErrNoMessage means that no message has the given id.
var ErrNoMessage = errors.New("message not found")

const (
	// ranked is the number of index matches that are checked.
	ranked = 1000
	// newest is the number of rows that are scanned, newest first, if there are too few index
	// matches. Any row may contain a phrase or a prefix.
	newest = 20_000
)

// Search finds messages by words. The knowledge index returns candidates, and Search then checks
// each of them against the query.
func (l *MessageIndex) Search(ctx context.Context, q Query) ([]Found, error) {
	t := parseQuery(q.Text)
	if len(t.want) == 0 {
		return nil, ErrNoWords
	}
	if q.Limit <= 0 {
		q.Limit = 20
	}
	if err := l.Index(ctx); err != nil {
		return nil, err
	}
	s := search{q: q, t: t, seen: map[string]bool{}}
	r := l.s.db.Reader(ctx)
	err := l.collectRows(ctx, r, &s)
	if err != nil {
		return nil, fmt.Errorf("session: search messages: %w", err)
	}
	out := make([]Found, 0, len(s.all))
	for _, d := range s.bestRows() {
		f, err := toFound(r, s, d)
		if err != nil {
			return nil, fmt.Errorf("session: search messages: %w", err)
		}
		out = append(out, f)
	}
	return out, nil
}

// collectRows adds matching rows, starting with the best source.
func (l *MessageIndex) collectRows(ctx context.Context, r store.Querier, s *search) error {
	if s.q.Session != "" { // a single conversation can be scanned completely
		return scanRows(r, s, `SELECT `+docColumns+`, m.id, m.session FROM messages m
			JOIN docs d ON d.kind = ? AND d.ref = 'm' || CASE m.origin WHEN 0 THEN m.id ELSE m.origin END
			WHERE m.session = ? ORDER BY m.id DESC`, knowledge.KindTurn, s.q.Session)
	}
	a, err := l.base.Retrieve(ctx, r, knowledge.Request{
		Text: s.t.plainWords(), Kinds: []string{knowledge.KindTurn}, EveryRealm: true, Limit: ranked, Since: s.q.Since, Until: s.q.Until, Hops: -1, Viewer: credential.Everything(),
	})
	if err != nil {
		return err
	}
	for _, h := range a.Hits {
		err := scanRows(r, s, `SELECT `+docColumns+`, `+messageID+`, d.grp FROM docs d WHERE d.kind = ? AND d.ref = ?`, h.Kind, h.Ref)
		if err != nil {
			return err
		}
	}
	if s.isComplete() {
		return nil
	}
	return scanRows(r, s, `SELECT `+docColumns+`, `+messageID+`, d.grp FROM docs d WHERE d.kind = ? ORDER BY d.n DESC LIMIT ?`, knowledge.KindTurn, newest)
}

// searchRow is a searchable message.
type searchRow struct {
	knowledge.Doc
	message int64
	session string // differs from Group for a message copied by a fork
}

// messageID selects the id of the message, or 0 for rows that belong to no message in this store.
const messageID = `CASE WHEN d.ref GLOB 'm[1-9]*' THEN CAST(substr(d.ref, 2) AS INTEGER) ELSE 0 END`

const docColumns = `d.ref, d.text, d.at, d.provenance, d.grp, d.speaker, d.source`

func scanRows(r store.Querier, s *search, stmt string, args ...any) (err error) {
	list, err := r.Query(stmt, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	for list.Next() && !s.isComplete() {
		var x searchRow
		var at int64
		if err := list.Scan(&x.Ref, &x.Text, &at, &x.Provenance, &x.Group, &x.Speaker, &x.Source, &x.message, &x.session); err != nil {
			return err
		}
		x.At = store.Time(at)
		s.addRow(x)
	}
	return list.Err()
}

func toFound(r store.Querier, s search, d searchRow) (Found, error) {
	f := Found{
		Message: d.message, Ref: d.Ref, Session: d.session, Turn: turnOf(d.Doc), Who: whoOf(d.Speaker), At: d.At, Source: d.Provenance,
	}
	text, ok := s.q.Viewer.Show("", d.Text)
	if f.Snippet = s.t.matchSnippet(text); !ok {
		f.Snippet, f.Withheld = credential.Mark, true
	}
	if f.Who == WhoOutside && d.Speaker != WhoOutside {
		f.Speaker = d.Speaker
	}
	if !d.Provenance.Tainted() {
		return f, nil
	}
	var err error
	if f.Origins, err = origins.Of(r, origins.Row, d.Ref); err == nil && len(f.Origins) == 0 {
		f.Origins = []provenance.Origin{{Kind: "conversation", Label: d.session, Event: f.Turn}}
	}
	return f, err
}

// Message returns one stored message and its conversation.
func (s *Sessions) Message(ctx context.Context, id int64) (session string, r Row, err error) {
	return readMessage(s.db.Reader(ctx), id)
}

func readMessage(q store.Querier, id int64) (session string, r Row, err error) {
	var raw []byte
	var at int64
	err = q.QueryRow(`SELECT session, id, turn, message, created_at FROM messages WHERE id = ?`, id).Scan(&session, &r.ID, &r.Turn, &raw, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return "", r, fmt.Errorf("message %d: %w", id, ErrNoMessage)
	}
	if err == nil {
		err = json.Unmarshal(raw, &r.Message)
	}
	if err != nil {
		return "", r, fmt.Errorf("session: message %d: %w", id, err)
	}
	r.CreatedAt = store.Time(at)
	return session, r, nil
}
