package knowledge

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
	say "hob/platform/text/triples"
)

// Remembered is the result of RememberTx.
type Remembered struct {
	Fact Fact
	// Known is true if the same fact already existed. In that case nothing was added.
	Known bool
	// Retired lists the older facts that the new fact corrects.
	Retired []Fact
}

// RememberTx stores a fact. It fills in ID and CreatedAt if they are empty, and the validity period
// that the text states, in the time zone of CreatedAt. If the fact contradicts or ends an older
// one, the older fact is retired, unless only the new fact is tainted. Uncorrected parts of the
// older fact are kept. Text that is already known is not stored again.
func (b *Base) RememberTx(tx *store.Tx, f Fact) (Remembered, error) {
	return b.storeFactTx(tx, f, false)
}

// RememberInferredTx stores a fact that the user did not ask Hob to store. Unlike RememberTx, it
// skips questions, parts of sentences, text that only corrects unknown facts, and text whose event
// already led to a fact with the same content.
func (b *Base) RememberInferredTx(tx *store.Tx, f Fact) (Remembered, error) {
	if IsQuestion(f.Text) || isFragment(f.Text) {
		return Remembered{Known: true}, nil
	}
	there, err := queryFacts(tx, `SELECT `+factColumns+` FROM facts WHERE event = ? AND event <> ''`, f.Event)
	if err != nil {
		return Remembered{}, fmt.Errorf("knowledge: read facts: %w", err)
	}
	words := textnorm.FoldedWords(f.Text)
	for _, o := range there {
		has := textnorm.FoldedWords(o.Text)
		if !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(has, w) }) {
			return Remembered{Fact: o, Known: true}, nil
		}
	}
	return b.storeFactTx(tx, f, true)
}

func (b *Base) storeFactTx(tx *store.Tx, f Fact, learning bool) (Remembered, error) {
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
	if err := f.checkKind(); err != nil {
		return Remembered{}, err
	}
	if err := b.parseFactsTx(tx); err != nil {
		return Remembered{}, err
	}
	w, err := b.checkConflictsTx(tx, f, now)
	if err != nil {
		return Remembered{}, err
	}
	if w.known != nil {
		return Remembered{Fact: *w.known, Known: true}, nil
	}
	if learning && slices.ContainsFunc(w.list, func(s say.Triple) bool {
		return s.Attr == "" || (s.Attr == "switched" || s.Attr == "replaced" || s.Attr == say.Any) && len(w.order) == 0
	}) {
		return Remembered{Known: true}, nil
	}
	f = w.f
	if from, until := commonValidity(w.list); f.ValidFrom.IsZero() && f.ValidUntil.IsZero() && (until.IsZero() || until.After(now)) {
		f.ValidFrom, f.ValidUntil = store.Time(store.Millis(from)), store.Time(store.Millis(until))
	}
	f.setKind(w.list, now)
	w.f = f
	if err := b.insertTx(tx, f, w.list); err != nil {
		return Remembered{}, err
	}
	out := Remembered{Fact: f}
	if !f.ValidUntil.IsZero() || !f.ValidFrom.IsZero() {
		tx.AfterCommit(b.wakeExpiry)
	}
	out.Retired, err = w.retireAllTx()
	return out, err
}

// isPreferenceOnly reports whether a text states only preferences.
func isPreferenceOnly(list []say.Triple) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(s say.Triple) bool {
		return s.Attr != "likes" && s.Attr != "prefers" && !strings.HasPrefix(s.Attr, "favourite ")
	})
}

// insertTx stores a fact and its claims.
func (b *Base) insertTx(tx *store.Tx, f Fact, list []say.Triple) error {
	if _, err := tx.Exec(`INSERT INTO facts (id, text, same, head, provenance, event, realm, created_at, kind, source, valid_from, valid_until, pinned)
		VALUES (?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?, ?)`, f.ID, f.Text, strings.Join(textnorm.FoldedWords(f.Text), " "), string(f.Provenance), f.Event, f.Realm,
		store.Millis(f.CreatedAt), f.Kind, f.Source, store.Millis(f.ValidFrom), store.Millis(f.ValidUntil), f.Pinned); err != nil {
		return fmt.Errorf("knowledge: store fact: %w", err)
	}
	if err := claimTx(tx, f, list); err != nil {
		return err
	}
	d := factDoc(f)
	d.Title = impliedSearchWords(f.Text, list)
	return b.IndexTx(tx, d)
}

// impliedSearchWords returns search words that a fact does not contain but that questions about it
// use. For example, "I moved to Kaunas" must match "where do I live".
func impliedSearchWords(text string, list []say.Triple) string {
	has, more := textnorm.FoldedWords(text), []string(nil)
	for _, s := range list {
		words := attributeSearchWords()[s.Attr]
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

// attributeSearchWords maps attributes of facts to words that people use to ask for them.
func attributeSearchWords() map[string]string {
	return map[string]string{
		"lives_in": "live lives", "lives_at": "live lives", "works_at": "work works", "works_as": "work works", "drives": "drive drives", "bank": "bank", "married_to": "married",
		say.Called: "called name", "birthday": "birthday", "address": "address", "phone": "phone", "password": "password", "weight": "weigh", "height": "tall", "age": "old",
	}
}

func (b *Base) retireTx(tx *store.Tx, f *Fact, by string, at time.Time) error {
	f.RetiredAt, f.RetiredBy = at, by
	if _, err := tx.Exec(`UPDATE facts SET retired_at = ?, retired_by = ? WHERE id = ?`, store.Millis(at), by, f.ID); err != nil {
		return fmt.Errorf("knowledge: retire fact: %w", err)
	}
	return b.moveTx(tx, KindFact, KindRetired, f.ID)
}

// UndoRememberTx reverts RememberTx: it deletes the fact and restores the facts that it retired. It
// returns ErrNotFound if the fact was deleted or corrected since.
func (b *Base) UndoRememberTx(tx *store.Tx, id string) error {
	f, err := factByID(tx, id)
	if err != nil {
		return err
	}
	if !f.RetiredAt.IsZero() {
		return fmt.Errorf("%w: the fact has been corrected since", ErrNotFound)
	}
	old, err := queryFacts(tx, `SELECT `+factColumns+` FROM facts WHERE retired_by = ?`, id)
	if err != nil {
		return fmt.Errorf("knowledge: undo remember: %w", err)
	}
	rest, err := queryFacts(tx, `SELECT `+factColumns+` FROM facts WHERE id IN (SELECT fact FROM claimed WHERE split = ?)`, id)
	if err != nil {
		return fmt.Errorf("knowledge: undo remember: %w", err)
	}
	if slices.ContainsFunc(rest, func(r Fact) bool { return !r.RetiredAt.IsZero() }) { // the restored fact would contradict the correction
		return fmt.Errorf("%w: the remaining part of the older fact has been corrected since", ErrNotFound)
	}
	for _, r := range rest { // the restored fact contains the text of these parts again
		if err := b.removeTx(tx, r.ID); err != nil {
			return err
		}
	}
	for _, o := range old {
		if err := b.restoreFactTx(tx, o.ID); err != nil {
			return err
		}
	}
	return b.removeTx(tx, id)
}

// restoreFactTx makes a retired fact valid again.
func (b *Base) restoreFactTx(tx *store.Tx, id string) error {
	if _, err := tx.Exec(`UPDATE facts SET retired_at = 0, retired_by = '', merged = 0 WHERE id = ?`, id); err != nil {
		return fmt.Errorf("knowledge: restore fact: %w", err)
	}
	return b.moveTx(tx, KindRetired, KindFact, id)
}

// PinTx sets whether consolidations may change a fact. It returns ErrNotFound if there is no such
// fact.
func (b *Base) PinTx(tx *store.Tx, id string, pinned bool) (Fact, error) {
	if _, err := tx.Exec(`UPDATE facts SET pinned = ? WHERE id = ?`, pinned, id); err != nil {
		return Fact{}, fmt.Errorf("knowledge: pin fact: %w", err)
	}
	return factByID(tx, id)
}

func (b *Base) removeTx(tx *store.Tx, id string) error {
	if _, err := tx.Exec(`DELETE FROM facts WHERE id = ?`, id); err != nil {
		return fmt.Errorf("knowledge: erase data: %w", err)
	}
	if err := b.UnindexTx(tx, KindFact, id); err != nil {
		return err
	}
	return b.UnindexTx(tx, KindRetired, id)
}

// Fact returns one fact, or ErrNotFound.
func (b *Base) Fact(q store.Querier, id string) (Fact, error) { return factByID(q, id) }

// ListFacts lists the facts of all realms, newest first. It includes retired facts if all is set.
func (b *Base) ListFacts(ctx context.Context, limit int, all bool) ([]Fact, error) {
	out, err := queryFacts(b.st.Reader(ctx), `SELECT `+factColumns+` FROM facts WHERE retired_at = 0 OR ? ORDER BY n DESC LIMIT ?`, all, clampLimit(limit))
	if err != nil {
		return nil, fmt.Errorf("knowledge: list facts: %w", err)
	}
	return out, nil
}

// FactsOfEvents returns the valid facts that events led to, oldest first.
func (b *Base) FactsOfEvents(q store.Querier, events []string) (out []Fact, err error) {
	for _, id := range events {
		list, err := queryFacts(q, `SELECT `+factColumns+` FROM facts WHERE event = ? AND event <> '' AND retired_at = 0 ORDER BY n`, id)
		if err != nil {
			return nil, fmt.Errorf("knowledge: read facts: %w", err)
		}
		out = append(out, list...)
	}
	return out, nil
}

// Recall returns the facts of a realm that best match a plain-language question, best first. An
// empty query lists the newest facts.
func (b *Base) Recall(q store.Querier, realm, text string, limit int) ([]Fact, error) {
	hits, err := b.Search(q, text, SearchOptions{Limit: limit, Realm: realm, Kinds: []string{KindFact}})
	if err != nil {
		return nil, err
	}
	out := make([]Fact, 0, len(hits))
	for _, h := range hits {
		f, err := factByID(q, h.Ref)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

const factColumns = `id, text, provenance, event, realm, created_at, retired_at, retired_by, kind, source, valid_from, valid_until, pinned`

func factByID(q store.Querier, id string) (Fact, error) {
	f, err := scanFact(q.QueryRow(`SELECT `+factColumns+` FROM facts WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return f, fmt.Errorf("%w: %s", ErrNotFound, textnorm.Ellipsize(id, 40))
	}
	if err != nil {
		return f, fmt.Errorf("knowledge: read fact: %w", err)
	}
	if f.Provenance.Tainted() {
		f.Origins, err = origins.Of(q, origins.Row, f.ID)
	}
	return f, err
}

func queryFacts(q store.Querier, stmt string, args ...any) (out []Fact, err error) {
	rows, err := q.Query(stmt, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		f, err := scanFact(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, rows.Err()
}

func scanFact(row interface{ Scan(...any) error }) (Fact, error) {
	var f Fact
	var created, retired, from, until int64
	err := row.Scan(&f.ID, &f.Text, &f.Provenance, &f.Event, &f.Realm, &created, &retired, &f.RetiredBy, &f.Kind, &f.Source, &from, &until, &f.Pinned)
	f.CreatedAt, f.RetiredAt, f.ValidFrom, f.ValidUntil = store.Time(created), store.Time(retired), store.Time(from), store.Time(until)
	f.Kind = cmp.Or(f.Kind, KindFact) // facts of versions without kinds
	return f, err
}

func factDoc(f Fact) Doc {
	return Doc{Kind: KindFact, Ref: f.ID, Text: f.Text, At: f.CreatedAt, Provenance: f.Provenance, Origins: f.Origins, Realm: f.Realm, Source: f.Source}
}

func clampLimit(limit int) int {
	if limit <= 0 {
		return 10
	}
	return min(limit, 1000)
}
