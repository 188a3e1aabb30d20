package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hob/platform/store"
	"hob/platform/store/erase"
)

// Eraser returns the eraser for the inbox, the outbox, the ledger and the live feed. It erases the
// text of an event together with its answer, its calls and its replies. The rows stay, so that no
// event is processed and no reply sent a second time.
func (b *Bus) Eraser() erase.Eraser {
	return erase.Owned{
		Before: eraseKeysTx,
		List: []erase.Table{
			{
				Name: "inbox", Key: []string{"seq"}, Text: []string{"text", "payload", "sender", "error", "answer"}, Event: "id", Session: "session",
				Whole: map[string]any{"text": erase.Mark, "payload": nil, "error": "", "answer": erase.Mark},
			},
			{
				Name: "outbox", Key: []string{"seq"}, Text: []string{"text", "error", "receipt", "files"}, Event: "event", Session: "session",
				Whole: map[string]any{"text": erase.Mark, "error": "", "files": ""},
			},
			{
				Name: "ledger", Key: []string{"seq"}, Text: []string{"args", "result", "data", "undo_label", "undo", "links"}, Event: "event", Session: "session", Call: "call",
				Whole: map[string]any{"args": []byte(`{}`), "result": erase.Mark, "data": nil, "undo_label": "", "undo": nil, "links": ""},
			},
			{
				Name: "scheduled_sends", Key: []string{"call"}, Text: []string{"args", "frozen", "exact", "what", "error"}, Event: "event", Session: "session", Call: "call",
				Whole: map[string]any{"args": []byte(`{}`), "frozen": nil, "exact": "", "what": erase.Mark, "error": ""},
			},
		},
		Custom:  []string{"inbox_joined", "shared_files"},
		Besides: []string{"restore_hold", "shared_files_seen"},
		// The live feed buffers some events for readers that reconnect.
		Files: func(_ context.Context, e *erase.Erasure, s *erase.Scrubber) (n erase.Erased, err error) {
			b.Feed.eraseEvents(e, s)
			return n, nil
		},
	}
}

// eraseKeysTx replaces the key of each event whose key contains an erased phrase. An event that
// repeats the old key is then treated as new. An action whose undo data contains the erased text
// can no longer be undone, because the undo would restore the text. Its label may contain a part of
// the text.
func eraseKeysTx(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) (n erase.Erased, err error) {
	if err := eraseFilesTx(tx); err != nil {
		return n, err
	}
	for query, change := range map[string]string{
		`SELECT id, key FROM inbox WHERE key IS NOT NULL`:         `UPDATE inbox SET key = 'forgotten:' || id WHERE id = ?`,
		`SELECT source || char(31) || key, key FROM inbox_joined`: `UPDATE inbox_joined SET key = 'forgotten:' || lower(hex(randomblob(8))) WHERE source || char(31) || key = ?`,
		`SELECT call, undo FROM ledger WHERE undo IS NOT NULL`:    `UPDATE ledger SET undo = NULL, undo_label = '' WHERE call = ?`,
	} {
		if err := scrubRows(tx, query, s, change); err != nil {
			return n, err
		}
	}
	return n, cancelErasedTx(tx, e, s)
}

// cancelErasedTx cancels the delayed calls whose text would be partly erased, because the user did
// not approve the remaining text.
func cancelErasedTx(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) error {
	const cancel = `UPDATE scheduled_sends SET state = 'cancelled', args = '{}', frozen = NULL, error = 'its text was forgotten' WHERE state IN ('waiting', 'sending', 'held') AND call = ?`
	for _, column := range []string{"args", "frozen", "exact", "what"} {
		if err := scrubRows(tx, `SELECT call, `+column+` FROM scheduled_sends WHERE state IN ('waiting', 'sending', 'held') AND `+column+` IS NOT NULL`, s, cancel); err != nil {
			return err
		}
	}
	for column, ids := range map[string][]string{"event": e.Events, "session": e.Sessions, "call": e.Calls} {
		for _, id := range ids {
			if _, err := tx.Exec(strings.Replace(cancel, "AND call", "AND "+column, 1), id); err != nil {
				return fmt.Errorf("bus: erase text of events: %w", err)
			}
		}
	}
	return nil
}

// scrubRows changes the rows in which a column contains an erased phrase.
func scrubRows(tx *store.Tx, query string, s *erase.Scrubber, change string) error {
	ids, err := matchingIDs(tx, query, s)
	for _, id := range ids {
		if err == nil {
			_, err = tx.Exec(change, id)
		}
	}
	if err != nil {
		return fmt.Errorf("bus: erase text of events: %w", err)
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
		return nil, fmt.Errorf("bus: read events: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("bus: read events: %w", err)
		}
		out = append(out, id)
	}
	return out, rows.Err()
}
