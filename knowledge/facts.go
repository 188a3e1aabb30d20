package knowledge

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/knowledge/store"
	"hob/platform/origins"
	"hob/platform/phrase"
	"hob/platform/provenance"
	"hob/platform/shortid"
	say "hob/platform/statement"
)

// Remembered says what RememberTx did.
type Remembered struct {
	Fact Fact
	// Known: the same text was there already; nothing was added.
	Known bool
	// Retired are older facts that the new one corrects.
	Retired []Fact
}

// RememberTx keeps a fact; ID and CreatedAt are filled in when empty, and when
// it holds, where it says so; its words are read in the zone of CreatedAt. A
// fact which says that an older one does not hold, or no longer, retires it,
// unless the new one is tainted and the older one is not. What the older one
// says besides stays. A text that is known already is not kept twice.
func (b *Base) RememberTx(tx *store.Tx, f Fact) (Remembered, error) { return b.keepTx(tx, f, false) }

// LearnTx is RememberTx for what nobody asked to keep: a text that only sets
// right what is not known is left out, and so is one whose event has led to a
// fact that says it.
func (b *Base) LearnTx(tx *store.Tx, f Fact) (Remembered, error) {
	there, err := query(tx, `SELECT `+factColumns+` FROM facts WHERE event = ? AND event <> ''`, f.Event)
	if err != nil {
		return Remembered{}, fmt.Errorf("knowledge: learn: %w", err)
	}
	words := phrase.Split(f.Text)
	for _, o := range there {
		has := phrase.Split(o.Text)
		if !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(has, w) }) {
			return Remembered{Fact: o, Known: true}, nil
		}
	}
	return b.keepTx(tx, f, true)
}

func (b *Base) keepTx(tx *store.Tx, f Fact, learning bool) (Remembered, error) {
	f.Text = strings.TrimSpace(strings.ToValidUTF8(f.Text, "\uFFFD"))
	switch {
	case f.Text == "":
		return Remembered{}, ErrEmpty
	case len(f.Text) > MaxFact:
		return Remembered{}, ErrTooLong
	}
	if f.ID == "" {
		f.ID = shortid.New("f")
	}
	if f.CreatedAt.IsZero() {
		f.CreatedAt = time.Now().UTC()
	}
	now := f.CreatedAt
	f.CreatedAt = store.Time(store.Millis(f.CreatedAt))
	if f.Provenance == provenance.Unknown {
		f.Provenance = provenance.Outside
	}
	if err := b.readTx(tx); err != nil {
		return Remembered{}, err
	}
	w, err := b.weighTx(tx, f, now)
	if err != nil {
		return Remembered{}, err
	}
	if w.known != nil {
		return Remembered{Fact: *w.known, Known: true}, nil
	}
	if learning && slices.ContainsFunc(w.list, func(s say.Statement) bool {
		return s.Attr == "" || (s.Attr == "switched" || s.Attr == "replaced" || s.Attr == say.Any) && len(w.order) == 0
	}) {
		return Remembered{Known: true}, nil
	}
	f = w.f
	if from, until := limits(w.list); f.ValidFrom.IsZero() && f.ValidUntil.IsZero() && (until.IsZero() || until.After(now)) {
		f.ValidFrom, f.ValidUntil = store.Time(store.Millis(from)), store.Time(store.Millis(until))
	}
	if f.Kind == "" && preference(w.list) {
		f.Kind = KindPreference
	}
	w.f = f
	if err := b.insertTx(tx, f, w.list); err != nil {
		return Remembered{}, err
	}
	out := Remembered{Fact: f}
	if !f.ValidUntil.IsZero() || !f.ValidFrom.IsZero() {
		tx.AfterCommit(b.bounded)
	}
	out.Retired, err = w.retireAllTx()
	return out, err
}

// preference reports whether a text says only what somebody likes.
func preference(list []say.Statement) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(s say.Statement) bool {
		return s.Attr != "likes" && s.Attr != "prefers" && !strings.HasPrefix(s.Attr, "favourite ")
	})
}

// insertTx keeps a fact with what it says.
func (b *Base) insertTx(tx *store.Tx, f Fact, list []say.Statement) error {
	if _, err := tx.Exec(`INSERT INTO facts (id, text, same, head, provenance, event, realm, created_at, kind, source, valid_from, valid_until)
		VALUES (?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?)`, f.ID, f.Text, strings.Join(phrase.Split(f.Text), " "), string(f.Provenance), f.Event, f.Realm,
		store.Millis(f.CreatedAt), f.Kind, f.Source, store.Millis(f.ValidFrom), store.Millis(f.ValidUntil)); err != nil {
		return fmt.Errorf("knowledge: remember: %w", err)
	}
	if err := claimTx(tx, f, list); err != nil {
		return err
	}
	d := doc(f)
	d.Title = saidSo(f.Text, list)
	return b.IndexTx(tx, d)
}

// saidSo are words by which a fact is asked for and that it does not have: "I
// moved to Kaunas" is where I live.
func saidSo(text string, list []say.Statement) string {
	has, more := phrase.Split(text), []string(nil)
	for _, s := range list {
		words := askedFor()[s.Attr]
		if strings.HasPrefix(s.Attr, "favourite ") {
			words = s.Attr
		}
		for _, w := range strings.Fields(words) {
			if !slices.Contains(has, w) && !slices.Contains(more, w) && !s.Past {
				more = append(more, w)
			}
		}
	}
	return strings.Join(more, " ")
}

// askedFor are the words with which people ask for what facts say.
func askedFor() map[string]string {
	return map[string]string{
		"lives_in": "live lives", "lives_at": "live lives", "works_at": "work works", "works_as": "work works", "drives": "drive drives", "bank": "bank", "married_to": "married",
		say.Called: "called name", "birthday": "birthday", "address": "address", "phone": "phone", "password": "password", "weight": "weigh", "height": "tall", "age": "old",
	}
}

func (b *Base) retireTx(tx *store.Tx, f *Fact, by string, at time.Time) error {
	f.RetiredAt, f.RetiredBy = at, by
	if _, err := tx.Exec(`UPDATE facts SET retired_at = ?, retired_by = ? WHERE id = ?`, store.Millis(at), by, f.ID); err != nil {
		return fmt.Errorf("knowledge: retire: %w", err)
	}
	return b.moveTx(tx, KindFact, KindRetired, f.ID)
}

// TakeBackTx undoes RememberTx: it removes the fact for good and brings back
// what it had retired. It fails with ErrNotFound when the fact is gone or was
// itself corrected since.
func (b *Base) TakeBackTx(tx *store.Tx, id string) error {
	f, err := fact(tx, id)
	if err != nil {
		return err
	}
	if !f.RetiredAt.IsZero() {
		return fmt.Errorf("%w: it has been corrected since", ErrNotFound)
	}
	old, err := query(tx, `SELECT `+factColumns+` FROM facts WHERE retired_by = ?`, id)
	if err != nil {
		return fmt.Errorf("knowledge: take back: %w", err)
	}
	rest, err := query(tx, `SELECT `+factColumns+` FROM facts WHERE id IN (SELECT fact FROM claimed WHERE split = ?)`, id)
	if err != nil {
		return fmt.Errorf("knowledge: take back: %w", err)
	}
	if slices.ContainsFunc(rest, func(r Fact) bool { return !r.RetiredAt.IsZero() }) { // the old fact would say it again
		return fmt.Errorf("%w: the part of another fact that it left has been corrected since", ErrNotFound)
	}
	for _, r := range rest { // it stands in the old fact again
		if err := b.removeTx(tx, r.ID); err != nil {
			return err
		}
	}
	for _, o := range old {
		if _, err := tx.Exec(`UPDATE facts SET retired_at = 0, retired_by = '' WHERE id = ?`, o.ID); err != nil {
			return fmt.Errorf("knowledge: take back: %w", err)
		}
		if err := b.moveTx(tx, KindRetired, KindFact, o.ID); err != nil {
			return err
		}
	}
	return b.removeTx(tx, id)
}

func (b *Base) removeTx(tx *store.Tx, id string) error {
	if _, err := tx.Exec(`DELETE FROM facts WHERE id = ?`, id); err != nil {
		return fmt.Errorf("knowledge: forget: %w", err)
	}
	if err := b.UnindexTx(tx, KindFact, id); err != nil {
		return err
	}
	return b.UnindexTx(tx, KindRetired, id)
}

// Fact returns one fact by its id, ErrNotFound when there is none.
func (b *Base) Fact(q store.Querier, id string) (Fact, error) { return fact(q, id) }

// Facts lists the facts of every realm, newest first; retired ones only when
// all is true.
func (b *Base) Facts(ctx context.Context, limit int, all bool) ([]Fact, error) {
	out, err := query(b.st.Reader(ctx), `SELECT `+factColumns+` FROM facts WHERE retired_at = 0 OR ? ORDER BY n DESC LIMIT ?`, all, clamp(limit))
	if err != nil {
		return nil, fmt.Errorf("knowledge: list facts: %w", err)
	}
	return out, nil
}

// Recall returns the facts of a realm that are nearest to a question in plain
// words, best first; an empty query lists the newest.
func (b *Base) Recall(q store.Querier, realm, text string, limit int) ([]Fact, error) {
	hits, err := b.Search(q, text, SearchOptions{Limit: limit, Realm: realm, Kinds: []string{KindFact}})
	if err != nil {
		return nil, err
	}
	out := make([]Fact, 0, len(hits))
	for _, h := range hits {
		f, err := fact(q, h.Ref)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

const factColumns = `id, text, provenance, event, realm, created_at, retired_at, retired_by, kind, source, valid_from, valid_until`

func fact(q store.Querier, id string) (Fact, error) {
	f, err := scan(q.QueryRow(`SELECT `+factColumns+` FROM facts WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return f, fmt.Errorf("%w: %s", ErrNotFound, phrase.Cut(id, 40))
	}
	if err != nil {
		return f, fmt.Errorf("knowledge: read fact: %w", err)
	}
	if f.Provenance.Tainted() {
		f.Origins, err = origins.Of(q, origins.Row, f.ID)
	}
	return f, err
}

func query(q store.Querier, stmt string, args ...any) (out []Fact, err error) {
	rows, err := q.Query(stmt, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		f, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, rows.Err()
}

func scan(row interface{ Scan(...any) error }) (Fact, error) {
	var f Fact
	var created, retired, from, until int64
	err := row.Scan(&f.ID, &f.Text, &f.Provenance, &f.Event, &f.Realm, &created, &retired, &f.RetiredBy, &f.Kind, &f.Source, &from, &until)
	f.CreatedAt, f.RetiredAt, f.ValidFrom, f.ValidUntil = store.Time(created), store.Time(retired), store.Time(from), store.Time(until)
	return f, err
}

func doc(f Fact) Doc {
	return Doc{Kind: KindFact, Ref: f.ID, Text: f.Text, At: f.CreatedAt, Provenance: f.Provenance, Origins: f.Origins, Realm: f.Realm, Source: f.Source}
}

func clamp(limit int) int {
	if limit <= 0 {
		return 10
	}
	return min(limit, 1000)
}
