package learn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/store"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
)

// Preference is a statement by the owner about how Hob should work.
type Preference struct {
	ID      string    `json:"id"`
	Key     string    `json:"key"`     // name, language, like, dislike, or note
	Text    string    `json:"text"`    // in the owner's words
	SaidBy  string    `json:"said_by"` // "owner" for a message, "edit" for an entry edited by hand
	Event   string    `json:"event,omitempty"`
	Session string    `json:"session,omitempty"`
	Channel string    `json:"channel,omitempty"`
	At      time.Time `json:"at"`
	cue     string
}

// isSingle reports whether the key allows only one preference.
func (p Preference) isSingle() bool { return p.Key == "name" || p.Key == "language" }

// maxPreferences is the maximum number of stored preferences.
const maxPreferences = 200

// countTx updates the counts of the hours, channels and languages in which the owner writes.
func (l *Learner) countTx(tx *store.Tx, t analyzedTurn) error {
	if !t.Owner {
		return nil
	}
	zone := l.o.Zone()
	at := t.At.In(zone)
	if _, err := tx.Exec(`INSERT INTO user_hours (zone, weekday, hour, n) VALUES (?,?,?,1) ON CONFLICT (zone, weekday, hour) DO UPDATE SET n = user_hours.n + 1`,
		zone.String(), int(at.Weekday()), at.Hour()); err != nil {
		return fmt.Errorf("learn: store usual hours: %w", err)
	}
	counts := [][2]string{{"channel", t.Channel}}
	if t.language != "" {
		counts = append(counts, [2]string{"language", t.language})
	}
	for _, c := range counts {
		if _, err := tx.Exec(`INSERT INTO user_counts (what, name, n, last_at) VALUES (?,?,1,?)
			ON CONFLICT (what, name) DO UPDATE SET n = user_counts.n + 1, last_at = excluded.last_at`, c[0], c[1], store.Millis(t.At)); err != nil {
			return fmt.Errorf("learn: %s: %w", c[0], err)
		}
	}
	return nil
}

// preferTx stores the owner's preferences with the time and the conversation.
func (l *Learner) preferTx(tx *store.Tx, t analyzedTurn) error {
	for _, s := range t.preferences {
		p := Preference{
			ID: shortid.New("p"), Key: s.means, Text: textnorm.Ellipsize(s.text, maxLesson), SaidBy: "owner", Event: t.Event, Session: t.Session, Channel: t.Channel,
			At: t.At, cue: strings.Join(subjectCues(s.text), " "),
		}
		if _, err := l.wishTx(tx, p); err != nil {
			return err
		}
	}
	return nil
}

// wishTx stores a preference and replaces the preferences that it corrects, which it returns.
func (l *Learner) wishTx(tx *store.Tx, p Preference) (replaced []Preference, err error) {
	list, err := preferencesOf(tx, "")
	if err != nil {
		return nil, err
	}
	for _, old := range list {
		same := old.ID == p.ID || p.isSingle() && old.Key == p.Key ||
			!p.isSingle() && !old.isSingle() && wordSimilarity(strings.Fields(old.cue), strings.Fields(p.cue)) >= alike
		if !same {
			continue
		}
		if _, err := tx.Exec(`DELETE FROM user_preferences WHERE id = ?`, old.ID); err != nil {
			return nil, fmt.Errorf("learn: store preference: %w", err)
		}
		replaced = append(replaced, old)
	}
	if err := l.insertWishTx(tx, p); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(`DELETE FROM user_preferences WHERE id IN (SELECT id FROM user_preferences ORDER BY at DESC, id LIMIT -1 OFFSET ?)`, maxPreferences); err != nil {
		return nil, fmt.Errorf("learn: store preference: %w", err)
	}
	return replaced, nil
}

func (l *Learner) insertWishTx(tx *store.Tx, p Preference) error {
	if _, err := tx.Exec(`INSERT INTO user_preferences (id, key, text, cue, said_by, event, session, channel, at) VALUES (?,?,?,?,?,?,?,?,?)`,
		p.ID, p.Key, p.Text, p.cue, p.SaidBy, p.Event, p.Session, p.Channel, store.Millis(p.At)); err != nil {
		return fmt.Errorf("learn: store preference: %w", err)
	}
	l.changedTx(tx)
	return nil
}

func preferencesOf(q store.Querier, id string) ([]Preference, error) {
	rows, err := q.Query(`SELECT id, key, text, cue, said_by, event, session, channel, at FROM user_preferences WHERE ?1 = '' OR id = ?1 ORDER BY at DESC, id`, id)
	if err != nil {
		return nil, fmt.Errorf("learn: read preferences: %w", err)
	}
	defer rows.Close()
	var out []Preference
	for rows.Next() {
		var p Preference
		var at int64
		if err := rows.Scan(&p.ID, &p.Key, &p.Text, &p.cue, &p.SaidBy, &p.Event, &p.Session, &p.Channel, &at); err != nil {
			return nil, fmt.Errorf("learn: read preferences: %w", err)
		}
		p.At = store.Time(at)
		out = append(out, p)
	}
	return out, rows.Err()
}

// ProfileLine returns one line about the owner for each request. It contains the preferred name and
// language and, in unattended turns, the language of most messages.
func (l *Learner) ProfileLine(ctx context.Context, unattended bool) (string, error) {
	_, wishes, err := l.activeRows(ctx)
	if err != nil {
		return "", err
	}
	var out []string
	spoken := false
	for _, w := range wishes {
		if w.isSingle() {
			out = append(out, "your user said “"+strings.TrimRight(w.Text, ".! ")+"”")
			spoken = spoken || w.Key == "language"
		}
	}
	if unattended && !spoken {
		if lang, share := l.mostFrequent(ctx, "language"); share >= 0.7 {
			out = append(out, "your user mostly writes in the language "+lang)
		}
	}
	if len(out) == 0 {
		return "", nil
	}
	slices.Sort(out)
	return strings.ToUpper(out[0][:1]) + out[0][1:] + joinTail(out[1:]) + ".", nil
}

func joinTail(more []string) string {
	if len(more) == 0 {
		return ""
	}
	return "; " + strings.Join(more, "; ")
}

// minMessages is the number of messages needed to infer habits.
const minMessages = 5

// mostFrequent returns the most frequent value and its share. It returns "" if there is not enough
// data.
func (l *Learner) mostFrequent(ctx context.Context, what string) (name string, share float64) {
	var n, all int
	err := l.o.Store.Reader(ctx).QueryRow(`SELECT name, n, (SELECT sum(n) FROM user_counts WHERE what = ?1) FROM user_counts WHERE what = ?1
		ORDER BY n DESC, name LIMIT 1`, what).Scan(&name, &n, &all)
	if err != nil || all < minMessages {
		return "", 0
	}
	return name, float64(n) / float64(all)
}
