package session

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"hob/autonomy/llm"
	"hob/knowledge/store"
	"hob/platform/provenance"
)

// batch is how many messages are taken into the index in one transaction;
// resultText how much of a tool's result can be found.
const (
	batch      = 500
	resultText = 4_000
)

// Index takes the messages into the full text index that are not in it yet. It
// is called when nobody waits, and before each search; the messages themselves
// say what is missing, so nothing gets lost between the two.
func (s *Sessions) Index(ctx context.Context) error {
	for {
		var n int
		if err := s.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM messages WHERE id > (SELECT last FROM indexed) LIMIT 1)`).Scan(&n); err != nil {
			return fmt.Errorf("session: index: %w", err)
		}
		if n == 0 {
			return nil
		}
		if err := s.db.Write(ctx, indexTx); err != nil {
			return fmt.Errorf("session: index: %w", err)
		}
	}
}

// IndexSome is Index when enough has gathered to be worth a transaction.
func (s *Sessions) IndexSome(ctx context.Context) error {
	s.mu.Lock()
	due := s.appended >= batch/2
	if due {
		s.appended = 0
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	return s.Index(ctx)
}

func indexTx(tx *store.Tx) error {
	type row struct {
		id  int64
		raw []byte
	}
	rows, err := tx.Query(`SELECT id, message FROM messages WHERE id > (SELECT last FROM indexed) ORDER BY id LIMIT ` + strconv.Itoa(batch))
	if err != nil {
		return err
	}
	defer rows.Close()
	var fresh []row
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.id, &r.raw); err != nil {
			return err
		}
		fresh = append(fresh, r)
	}
	if err := rows.Err(); err != nil || len(fresh) == 0 {
		return err
	}
	for _, r := range fresh {
		var m llm.Message
		if err := json.Unmarshal(r.raw, &m); err != nil {
			return err
		}
		text, _ := searchable(m)
		if text == "" {
			continue
		}
		if _, err := tx.Exec(`INSERT INTO found (rowid, text, who) VALUES (?, ?, ?)`, r.id, text, Who(m)); err != nil {
			return err
		}
	}
	_, err = tx.Exec(`UPDATE indexed SET last = ?`, fresh[len(fresh)-1].id)
	return err
}

// UnindexTx takes messages out of the index for good, with their words.
func (s *Sessions) UnindexTx(tx *store.Tx, ids ...int64) error {
	for _, id := range ids {
		if _, err := tx.Exec(`DELETE FROM found WHERE rowid = ?`, id); err != nil {
			return fmt.Errorf("session: unindex: %w", err)
		}
	}
	return nil
}

// searchable is what of a message can be found, and the worst provenance of it.
func searchable(m llm.Message) (string, provenance.Source) { return textOf(m, resultText) }

// Text is all that was said in a message, without what Hob added to it, and the
// worst provenance of it.
func Text(m llm.Message) (string, provenance.Source) { return textOf(m, math.MaxInt) }

func textOf(m llm.Message, most int) (string, provenance.Source) {
	var b strings.Builder
	var sources []provenance.Source
	for _, p := range m.Parts {
		text := p.Text
		if p.Result != nil {
			text = p.Result.Text
			if len(text) > most {
				text = strings.ToValidUTF8(text[:most], "")
			}
		}
		if text == "" || p.Context {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text)
		sources = append(sources, p.Source)
	}
	return b.String(), provenance.Worst(sources...)
}

// The people of a transcript.
const (
	WhoOwner   = "owner"
	WhoHob     = "hob"
	WhoTool    = "tool"
	WhoOutside = "outside" // guests, and what came along
)

// Who tells whose a message is.
func Who(m llm.Message) string {
	switch m.Role {
	case llm.Assistant:
		return WhoHob
	case llm.ToolRole:
		return WhoTool
	}
	for _, p := range m.Parts {
		if p.Source == provenance.Owner && !p.Context {
			return WhoOwner
		}
	}
	for _, p := range m.Parts {
		if p.Source == provenance.Hob && !p.Context { // what a schedule orders
			return WhoHob
		}
	}
	return WhoOutside
}
