package session

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"hob/knowledge/store"
	"hob/platform/provenance"
)

// Query says what is searched for in all conversations.
type Query struct {
	// Text: all words have to occur, in any form that begins with them; "in
	// quotes" a phrase; -word must not occur. When nothing has all words, any
	// word will do.
	Text    string
	Session string // "" = all
	Who     string // "" = everybody; see WhoOwner
	Since   time.Time
	Until   time.Time
	Limit   int
	// Without leaves a turn out: the one that asks.
	Without string
}

// Found is one message that fits, the best first.
type Found struct {
	Message int64             `json:"message"`
	Session string            `json:"session"`
	Turn    string            `json:"turn"`
	Who     string            `json:"who"`
	At      time.Time         `json:"at"`
	Snippet string            `json:"snippet"` // the words found stand in [brackets]
	Source  provenance.Source `json:"source"`
	// Origins are from where outside text in it came.
	Origins []provenance.Origin `json:"origins,omitempty"`
}

// ErrNoWords says that the text of a query has no word in it.
var ErrNoWords = errors.New("there is no word to search for; give at least one")

// ErrNoMessage says that there is no message of this id.
var ErrNoMessage = errors.New("there is no such message")

// Search finds messages by their words.
func (s *Sessions) Search(ctx context.Context, q Query) ([]Found, error) {
	t := parseQuery(q.Text)
	if len(t.want) == 0 {
		return nil, ErrNoWords
	}
	if q.Limit <= 0 {
		q.Limit = 20
	}
	if err := s.Index(ctx); err != nil {
		return nil, err
	}
	out, err := s.match(ctx, t.match(" AND "), q)
	if err == nil && len(out) == 0 && len(t.want) > 1 {
		out, err = s.match(ctx, t.match(" OR "), q)
	}
	if err != nil {
		return nil, fmt.Errorf("session: search: %w", err)
	}
	return out, nil
}

func (s *Sessions) match(ctx context.Context, expr string, q Query) ([]Found, error) {
	until := int64(math.MaxInt64)
	if !q.Until.IsZero() {
		until = store.Millis(q.Until)
	}
	// The copies in a fork are found there alone.
	rows, err := s.db.Read().QueryContext(ctx, `SELECT m.id, m.session, m.turn, m.created_at, m.message, found.who, snippet(found, 0, '[', ']', '…', 24)
		FROM found JOIN messages m ON m.id = found.rowid
		WHERE found MATCH ? AND (? = '' AND m.origin = 0 OR m.session = ?) AND (? = '' OR found.who = ?) AND m.turn <> ?
			AND m.created_at BETWEEN ? AND ? ORDER BY rank, m.id DESC LIMIT ?`,
		expr, q.Session, q.Session, q.Who, q.Who, q.Without, store.Millis(q.Since), until, q.Limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []Found{}
	for rows.Next() {
		var f Found
		var r Row
		var at int64
		var raw []byte
		if err := rows.Scan(&f.Message, &f.Session, &f.Turn, &at, &raw, &f.Who, &f.Snippet); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(raw, &r.Message); err != nil {
			return nil, err
		}
		_, f.Source = searchable(r.Message)
		f.Origins = OriginsIn(r.Message, f.Session, f.Turn)
		f.At, f.Snippet = store.Time(at), squeeze(f.Snippet)
		out = append(out, f)
	}
	return out, rows.Err()
}

// Message returns one stored message and its conversation.
func (s *Sessions) Message(ctx context.Context, id int64) (session string, r Row, err error) {
	var raw []byte
	var at int64
	err = s.db.Read().QueryRowContext(ctx, `SELECT session, id, turn, message, created_at FROM messages WHERE id = ?`, id).Scan(&session, &r.ID, &r.Turn, &raw, &at)
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

// terms is a query in the language of people.
type terms struct{ want, without []string }

// Bounds of a query.
const (
	maxTerms = 16
	maxTerm  = 64
)

// parseQuery makes terms that are safe in the language of the index
// (https://www.sqlite.org/fts5.html#full_text_query_syntax): strings in quotes,
// made of letters, digits and blanks.
func parseQuery(text string) (t terms) {
	for i, piece := range strings.Split(text, `"`) {
		if i%2 == 1 {
			t.add(&t.want, plain(piece), "")
			continue
		}
		for word := range strings.FieldsSeq(piece) {
			to := &t.want
			if rest, ok := strings.CutPrefix(word, "-"); ok {
				word, to = rest, &t.without
			}
			for part := range strings.FieldsSeq(plain(word)) {
				if star := "*"; len([]rune(part)) < 3 {
					t.add(to, part, "")
				} else {
					t.add(to, part, star)
				}
			}
		}
	}
	return t
}

func (t *terms) add(to *[]string, term, star string) {
	if r := []rune(term); len(r) > maxTerm {
		term = string(r[:maxTerm])
	}
	if term = strings.TrimSpace(term); term == "" || len(t.want)+len(t.without) >= maxTerms {
		return
	}
	*to = append(*to, `"`+term+`"`+star)
}

// plain replaces everything that is not part of a word by blanks.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(s, " "))
}

func (t terms) match(join string) string {
	expr := "(" + strings.Join(t.want, join) + ")"
	if len(t.without) > 0 {
		expr += " NOT (" + strings.Join(t.without, " OR ") + ")"
	}
	return expr
}
