package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hob/platform/store"
	"hob/platform/store/erase"
)

type eraser struct{ b *Bus }

// erasureTables describes how to erase text from an event, its answer, its calls and its replies.
// The rows stay, so that no event is answered or sent a second time.
func (eraser) erasureTables() []erase.Table {
	return []erase.Table{
		{
			Name: "inbox", Text: []string{"text", "payload", "sender", "error", "answer"}, Event: "id", Session: "session",
			Whole: map[string]any{"text": erase.Mark, "payload": nil, "error": "", "answer": erase.Mark},
		},
		{
			Name: "outbox", Text: []string{"text", "error", "receipt", "files"}, Event: "event", Session: "session",
			Whole: map[string]any{"text": erase.Mark, "error": "", "files": ""},
		},
		{
			Name: "ledger", Text: []string{"args", "result", "data", "undo_label", "undo", "links"}, Event: "event", Session: "session", Call: "call",
			Whole: map[string]any{"args": []byte(`{}`), "result": erase.Mark, "data": nil, "undo_label": "", "undo": nil, "links": ""},
		},
	}
}

// Tables implements erase.Eraser.
func (eraser) Tables() []string { return []string{"inbox", "inbox_joined", "outbox", "ledger"} }

// EraseTx implements erase.Eraser. If the undo data of an action contains the erased text, the
// action can no longer be undone, because the undo would restore the text.
func (r eraser) EraseTx(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) (n erase.Erased, err error) {
	if err := r.keysTx(tx, s); err != nil {
		return n, err
	}
	if err := r.undoTx(tx, s); err != nil {
		return n, err
	}
	for _, t := range r.erasureTables() {
		m, err := t.EraseTx(tx, e, s)
		if err != nil {
			return n, err
		}
		n = n.Add(m)
	}
	return n, nil
}

// keysTx renames events whose key contains an erased phrase. A repeat under the old key counts as
// new.
func (r eraser) keysTx(tx *store.Tx, s *erase.Scrubber) error {
	if err := r.scrubRows(tx, `SELECT id, key FROM inbox WHERE key IS NOT NULL`, s, `UPDATE inbox SET key = 'forgotten:' || id WHERE id = ?`); err != nil {
		return err
	}
	return r.scrubRows(tx, `SELECT source || char(31) || key, key FROM inbox_joined`, s,
		`UPDATE inbox_joined SET key = 'forgotten:' || lower(hex(randomblob(8))) WHERE source || char(31) || key = ?`)
}

func (r eraser) undoTx(tx *store.Tx, s *erase.Scrubber) error {
	return r.scrubRows(tx, `SELECT call, undo FROM ledger WHERE undo IS NOT NULL`, s, `UPDATE ledger SET undo = NULL WHERE call = ?`)
}

// scrubRows changes the rows in which a column contains an erased phrase.
func (eraser) scrubRows(tx *store.Tx, query string, s *erase.Scrubber, change string) error {
	ids, err := matchingIDs(tx, query, s)
	for _, id := range ids {
		if err == nil {
			_, err = tx.Exec(change, id)
		}
	}
	if err != nil {
		return fmt.Errorf("bus: erase: %w", err)
	}
	return nil
}

func matchingIDs(tx *store.Tx, query string, s *erase.Scrubber) (ids []string, err error) {
	rows, err := tx.Query(query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		var text []byte
		if err := rows.Scan(&id, &text); err != nil {
			return nil, err
		}
		if s.Has(string(text)) {
			ids = append(ids, id)
		}
	}
	return ids, rows.Err()
}

// Purge implements erase.Eraser. It removes the events that the live feed buffers for readers that
// reconnect.
func (r eraser) Purge(_ context.Context, e *erase.Erasure, s *erase.Scrubber) (erase.Erased, error) {
	r.b.Feed.eraseEvents(e, s)
	return erase.Erased{}, nil
}

func (f *Feed) eraseEvents(e *erase.Erasure, s *erase.Scrubber) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, ev := range f.ring {
		if e.Whole(ev.Event, ev.Session, "") {
			f.ring[i].Data = json.RawMessage("null")
			continue
		}
		if data, changed := s.Bytes(ev.Data); changed {
			f.ring[i].Data = data
		}
	}
}

func queryIDs(q store.Querier, query string, args ...any) (out []string, err error) {
	rows, err := q.Query(query, args...)
	if err != nil {
		return nil, fmt.Errorf("bus: events: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("bus: events: %w", err)
		}
		out = append(out, id)
	}
	return out, rows.Err()
}
