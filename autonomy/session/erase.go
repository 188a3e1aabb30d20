package session

import (
	"container/list"
	"encoding/json"
	"errors"
	"fmt"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/store/erase"
)

// Eraser returns the eraser for messages, summaries and cached windows. base is the index of the
// messages. Nil means that they are not indexed.
func (s *Sessions) Eraser(base *knowledge.Base) erase.Eraser {
	return erase.Owned{
		Before: func(tx *store.Tx, e *erase.Erasure, sc *erase.Scrubber) (erase.Erased, error) {
			return s.eraseMessagesTx(tx, base, e, sc)
		},
		Custom:  []string{"messages", "summaries"},
		Besides: []string{"sessions", "windows", "resets", "indexed", "toolsets", "stamps"},
		Forgot:  s.dropWindows,
	}
}

// storedRow is a row in the table messages or summaries.
type storedRow struct {
	id            int64
	session, turn string
	raw           []byte
	first, last   int64 // range of a summary
}

// eraseMessagesTx erases messages and summaries. Messages keep their positions, calls and results,
// so that the conversation can continue.
func (s *Sessions) eraseMessagesTx(tx *store.Tx, base *knowledge.Base, e *erase.Erasure, sc *erase.Scrubber) (n erase.Erased, err error) {
	if e.ID != "" {
		s.countErasure()
	}
	tx.AfterCommit(s.dropWindows)
	msgs, err := readStored(tx, `SELECT id, session, turn, message, 0, 0 FROM messages`)
	if err != nil {
		return n, fmt.Errorf("session: erase messages: %w", err)
	}
	var whole []int64
	for _, m := range msgs {
		raw, gone, err := cleanMessage(m, e, sc)
		if err != nil {
			return n, fmt.Errorf("session: erase message %d: %w", m.id, err)
		}
		if gone {
			whole = append(whole, m.id)
		}
		if raw == nil {
			continue
		}
		if err := changeMessageTx(tx, base, m.id, raw, gone); err != nil {
			return n, err
		}
		n.Scrubbed++
	}
	k, err := eraseSummariesTx(tx, whole, e, sc)
	n.Scrubbed += k
	return n, err
}

func changeMessageTx(tx *store.Tx, base *knowledge.Base, id int64, raw []byte, gone bool) error {
	_, err := tx.Exec(`UPDATE messages SET message = ? WHERE id = ?`, raw, id)
	if err == nil && gone && base != nil {
		err = base.UnindexTx(tx, knowledge.KindTurn, MessageRef(id))
	}
	if err != nil {
		return fmt.Errorf("session: erase messages: %w", err)
	}
	return nil
}

// eraseSummariesTx empties each summary that covers a completely erased message or belongs to a
// completely erased conversation, and removes the erased text from the other summaries.
func eraseSummariesTx(tx *store.Tx, whole []int64, e *erase.Erasure, s *erase.Scrubber) (n int, err error) {
	sums, err := readStored(tx, `SELECT id, session, '', content, first, last FROM summaries`)
	if err != nil {
		return n, fmt.Errorf("session: erase messages: %w", err)
	}
	for _, sum := range sums {
		gone := e.Whole("", sum.session, "")
		for _, id := range whole {
			gone = gone || id >= sum.first && id <= sum.last
		}
		raw, err := cleanSummary(sum, gone, s)
		if err != nil {
			return n, fmt.Errorf("session: erase summary %d: %w", sum.id, err)
		}
		if raw == nil {
			continue
		}
		if _, err := tx.Exec(`UPDATE summaries SET content = ? WHERE id = ?`, raw, sum.id); err != nil {
			return n, fmt.Errorf("session: erase messages: %w", err)
		}
		n++
	}
	return n, nil
}

func readStored(tx *store.Tx, query string) (out []storedRow, err error) {
	rows, err := tx.Query(query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var m storedRow
		if err := rows.Scan(&m.id, &m.session, &m.turn, &m.raw, &m.first, &m.last); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, rows.Err()
}

// cleanMessage returns the message without the erased text, or nil if it is unchanged. gone reports
// whether the whole message was erased.
func cleanMessage(m storedRow, e *erase.Erasure, s *erase.Scrubber) (raw []byte, gone bool, err error) {
	gone = e.Whole(m.turn, m.session, "")
	if !gone && len(e.Calls) == 0 && !s.Has(string(m.raw)) {
		return nil, false, nil
	}
	var msg llm.Message
	if err := json.Unmarshal(m.raw, &msg); err != nil {
		return nil, false, err
	}
	parts := msg.Parts[:0]
	for _, p := range msg.Parts {
		of := p.Call
		all := gone || of != nil && e.Whole("", "", of.ID) || p.Result != nil && e.Whole("", "", p.Result.ID)
		if cleanPart(&p, all, s) {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, llm.Part{Text: erase.Mark})
	}
	msg.Parts = parts
	b, err := encodeMessage(msg)
	if err != nil || string(b) == string(m.raw) {
		return nil, gone, err
	}
	return b, gone, nil
}

// cleanPart removes the erased text from a part. It returns false if the part must be removed
// completely: a thought must be returned to the model unchanged, and a picture cannot be changed.
func cleanPart(p *llm.Part, all bool, s *erase.Scrubber) bool {
	was := *p
	text := func(t string) string {
		if all && t != "" {
			return erase.Mark
		}
		t, _ = s.Text(t)
		return t
	}
	p.Text = text(p.Text)
	switch {
	case p.Reasoning != nil:
		b, err := json.Marshal(p.Reasoning)
		return err == nil && !all && !s.Has(string(b))
	case p.Image != nil:
		_, has := s.Bytes(p.Image.Data)
		return !all && !has
	case p.Call != nil:
		c := *p.Call
		if all {
			c.Args = json.RawMessage(`{}`)
		}
		if args, changed := s.Bytes(c.Args); changed {
			if c.Args = args; !json.Valid(args) {
				c.Args = json.RawMessage(`{}`)
			}
		}
		p.Call = &c
	case p.Result != nil:
		r := *p.Result
		r.Text = text(r.Text)
		if r.Text != p.Result.Text {
			p.Fenced = 0
		}
		p.Result = &r
	}
	p.Origins = nil
	for _, o := range was.Origins {
		if o.Label, _ = s.Text(o.Label); all {
			o.Label = erase.Mark
		}
		p.Origins = append(p.Origins, o)
	}
	if p.Text != was.Text {
		p.Signature = ""
	}
	return true
}

func cleanSummary(sum storedRow, gone bool, s *erase.Scrubber) ([]byte, error) {
	if !gone {
		raw, changed := s.Bytes(sum.raw)
		if !changed {
			return nil, nil
		}
		return raw, nil
	}
	var old Summary
	if err := json.Unmarshal(sum.raw, &old); err != nil {
		return nil, err
	}
	raw, err := encodeSummary(&Summary{First: old.First, Last: old.Last, Turns: old.Turns, Clean: Digest{State: erase.Mark}, Pins: []Pin{}})
	if err != nil || string(raw) == string(sum.raw) {
		return nil, err
	}
	return raw, nil
}

// countErasure invalidates compactions in progress, because their summaries may contain the erased
// text.
func (s *Sessions) countErasure() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erased++
}

// erasedSince reports whether data was erased since the count was n.
func (s *Sessions) erasedSince(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.erased != n
}

// dropWindows clears the cached windows.
func (s *Sessions) dropWindows() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache, s.order = map[string]*list.Element{}, list.New()
	s.moved++
	s.erased++
}
