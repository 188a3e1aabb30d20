package learn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/store"
	"hob/platform/text/shortid"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// Entry is one fact about the owner.
type Entry struct {
	ID   string `json:"id"`
	What string `json:"what"` // name, language, like, dislike, channel or hours
	Text string `json:"text"`
	// SaidBy is "owner" for a message, "edit" for an entry edited by hand, and "hob" for a count by
	// Hob.
	SaidBy   string    `json:"said_by"`
	At       time.Time `json:"at,omitzero"` // time of the statement, or of the last count
	Event    string    `json:"event,omitempty"`
	Session  string    `json:"session,omitempty"`
	Channel  string    `json:"channel,omitempty"`
	Messages int       `json:"messages,omitempty"` // number of messages that were counted
	// Hours holds the number of messages by weekday (starting with Sunday) and hour.
	Hours *[7][24]int `json:"hours,omitempty"`
	Zone  string      `json:"zone,omitempty"`
}

// User returns the facts about the owner: first the statements, newest first, then the counted
// languages and channels, most frequent first, and then the active hours.
func (l *Learner) User(ctx context.Context) ([]Entry, error) {
	q := l.o.Store.Reader(ctx)
	wishes, err := preferencesOf(q, "")
	if err != nil {
		return nil, err
	}
	out := []Entry{}
	for _, w := range wishes {
		out = append(out, w.asEntry())
	}
	counted, err := selectCounts(q)
	if err != nil {
		return nil, err
	}
	hours, err := activeHours(q)
	return append(append(out, counted...), hours...), err
}

func (p Preference) asEntry() Entry {
	return Entry{ID: p.ID, What: p.Key, Text: p.Text, SaidBy: p.SaidBy, At: p.At, Event: p.Event, Session: p.Session, Channel: p.Channel}
}

func selectCounts(q store.Querier) ([]Entry, error) {
	rows, err := q.Query(`SELECT what, name, n, last_at FROM user_counts ORDER BY what DESC, n DESC, name`)
	if err != nil {
		return nil, fmt.Errorf("learn: read counts: %w", err)
	}
	defer rows.Close()
	var out []Entry
	for rows.Next() {
		var e Entry
		var name string
		var at int64
		if err := rows.Scan(&e.What, &name, &e.Messages, &at); err != nil {
			return nil, fmt.Errorf("learn: read counts: %w", err)
		}
		e.ID, e.Text, e.SaidBy, e.At = e.What+":"+name, name, "hob", store.Time(at)
		out = append(out, e)
	}
	return out, rows.Err()
}

func activeHours(q store.Querier) ([]Entry, error) {
	rows, err := q.Query(`SELECT zone, weekday, hour, n FROM user_hours ORDER BY zone, weekday, hour`)
	if err != nil {
		return nil, fmt.Errorf("learn: read usual hours: %w", err)
	}
	defer rows.Close()
	var out []Entry
	for rows.Next() {
		var zone string
		var day, hour, n int
		if err := rows.Scan(&zone, &day, &hour, &n); err != nil {
			return nil, fmt.Errorf("learn: read usual hours: %w", err)
		}
		if len(out) == 0 || out[len(out)-1].Zone != zone {
			out = append(out, Entry{ID: "hours:" + zone, What: "hours", SaidBy: "hob", Zone: zone, Hours: &[7][24]int{}})
		}
		e := &out[len(out)-1]
		e.Hours[day][hour] = n
		e.Messages += n
	}
	for i := range out {
		out[i].Text = busiestHours(*out[i].Hours) + " (" + out[i].Zone + ")"
	}
	return out, rows.Err()
}

// busiestHours describes the hours and days with the most messages.
func busiestHours(h [7][24]int) string {
	var byHour [24]int
	var byDay [7]int
	for d := range h {
		for t, n := range h[d] {
			byHour[t] += n
			byDay[d] += n
		}
	}
	var hours, days []string
	for _, t := range topIndexes(byHour[:], 3) {
		hours = append(hours, fmt.Sprintf("%d:00", t))
	}
	for _, d := range topIndexes(byDay[:], 3) {
		days = append(days, time.Weekday(d).String())
	}
	return "most at " + strings.Join(hours, ", ") + " on " + strings.Join(days, ", ")
}

// topIndexes returns the indexes of the largest counts, in ascending order.
func topIndexes(n []int, limit int) []int {
	var at []int
	for i := range n {
		if n[i] > 0 {
			at = append(at, i)
		}
	}
	sorting.StableByFunc(at, func(x, y int) int { return n[y] - n[x] })
	at = at[:min(len(at), limit)]
	slices.Sort(at)
	return at
}

// Statements returns the statements of the owner, newest first.
func (l *Learner) Statements(q store.Querier) ([]Preference, error) { return preferencesOf(q, "") }

// StatementChange records a change of the owner's statements, so that it can be undone.
type StatementChange struct {
	Removed []Preference `json:"removed,omitempty"`
	// Added is the id of the statement that was stored, or "", and At its time in milliseconds since 1970.
	Added string `json:"added,omitempty"`
	At    int64  `json:"at,omitempty"`
}

// Empty reports whether nothing was changed that could be undone.
func (c StatementChange) Empty() bool { return c.Added == "" && len(c.Removed) == 0 }

// ChangeUserTx deletes an entry or edits a preference, and returns the new entry. Counts can only be
// deleted. They then restart at zero, and the change is empty.
func (l *Learner) ChangeUserTx(tx *store.Tx, id string, c Change) (Entry, StatementChange, error) {
	list, err := preferencesOf(tx, id)
	if err != nil {
		return Entry{}, StatementChange{}, err
	}
	if len(list) == 1 && !c.Delete {
		p := list[0]
		p.Text = c.Text
		return l.editWishTx(tx, p)
	}
	what, name, _ := strings.Cut(id, ":")
	for _, statement := range []struct {
		sql  string
		args []any
	}{
		{`DELETE FROM user_preferences WHERE id = ?`, []any{id}},
		{`DELETE FROM user_counts WHERE what = ? AND name = ?`, []any{what, name}},
		{`DELETE FROM user_hours WHERE ? = 'hours' AND zone = ?`, []any{what, name}},
	} {
		if !c.Delete {
			break
		}
		res, err := tx.Exec(statement.sql, statement.args...)
		if err != nil {
			return Entry{}, StatementChange{}, fmt.Errorf("learn: delete an entry: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			l.changedTx(tx)
			return Entry{ID: id}, StatementChange{Removed: list}, err
		}
	}
	return Entry{}, StatementChange{}, fmt.Errorf("%s: %w", textnorm.Ellipsize(id, 60), ErrNotFound)
}

// StateTx stores a text that the owner wrote about themselves elsewhere than in a message. The change is
// empty if the text is no statement of the kinds that Study recognizes, or is already known.
func (l *Learner) StateTx(tx *store.Tx, text string) (StatementChange, error) {
	said := ownSentences(text)
	if len(said) != 1 {
		return StatementChange{}, nil
	}
	key := l.preferences.matchSentence(said[0])
	if key == "" {
		return StatementChange{}, nil
	}
	known, err := preferencesOf(tx, "")
	if err != nil || slices.ContainsFunc(known, func(p Preference) bool { return textnorm.EqualFolded(p.Text, text) }) {
		return StatementChange{}, err
	}
	_, change, err := l.editWishTx(tx, Preference{ID: shortid.New("p"), Key: key, Text: text})
	return change, err
}

// editWishTx stores a preference that the owner wrote by hand.
func (l *Learner) editWishTx(tx *store.Tx, p Preference) (Entry, StatementChange, error) {
	p.Text, p.SaidBy, p.At = textnorm.Ellipsize(strings.ToValidUTF8(p.Text, "\uFFFD"), maxLesson), "edit", store.Time(store.Millis(time.Now()))
	p.cue = strings.Join(subjectCues(p.Text), " ")
	replaced, err := l.wishTx(tx, p)
	return p.asEntry(), StatementChange{Removed: replaced, Added: p.ID, At: store.Millis(p.At)}, err
}

// RevertStatementTx undoes a change of the owner's statements, which is a StatementChange in JSON. It
// reports false, and changes nothing, if one of the statements was changed or deleted since.
func (l *Learner) RevertStatementTx(tx *store.Tx, change json.RawMessage) (bool, error) {
	var c StatementChange
	if err := json.Unmarshal(change, &c); err != nil {
		return false, fmt.Errorf("learn: undo: %w", err)
	}
	known, err := preferencesOf(tx, "")
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(known, func(p Preference) bool { return p.ID == c.Added && store.Millis(p.At) == c.At })
	if c.Added != "" && at < 0 {
		return false, nil
	}
	if at >= 0 {
		if _, err := tx.Exec(`DELETE FROM user_preferences WHERE id = ?`, c.Added); err != nil {
			return false, fmt.Errorf("learn: undo: %w", err)
		}
		known = slices.Delete(known, at, at+1)
		l.changedTx(tx)
	}
	reverted := c.Added != ""
	for _, p := range c.Removed {
		if slices.ContainsFunc(known, func(o Preference) bool { return o.ID == p.ID || p.isSingle() && o.Key == p.Key || o.Text == p.Text }) {
			continue // you said it again since
		}
		p.cue = strings.Join(subjectCues(p.Text), " ")
		if err := l.insertWishTx(tx, p); err != nil {
			return false, err
		}
		reverted = true
	}
	return reverted, nil
}
