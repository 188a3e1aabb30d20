package prompt

import (
	"context"
	"fmt"

	"hob/platform/store"
	"hob/platform/store/erase"
)

// Eraser returns the eraser for the blocks of conversations. It also deletes the digest of the
// message with which each window began, so the next turn of each conversation gets the current
// block.
func Eraser() erase.Eraser { return eraser{} }

type eraser struct{}

// Tables implements erase.Eraser.
func (eraser) Tables() []string { return []string{"prompt_blocks", "prompt_sessions"} }

// EraseTx implements erase.Eraser. It deletes whole blocks: a block is identified by its content,
// so a redacted one would be a different block.
func (eraser) EraseTx(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) (n erase.Erased, err error) {
	for _, t := range []erase.Table{
		{Name: "prompt_blocks", Key: []string{"id"}, Names: []string{"identity", "guidance", "text"}},
		{Name: "prompt_sessions", Key: []string{"session"}, Names: []string{"told"}, Session: "session"},
	} {
		m, err := t.EraseTx(tx, e, s)
		if err != nil {
			return n, err
		}
		n = n.Add(m)
	}
	if _, err := tx.Exec(`UPDATE prompt_sessions SET first = '' WHERE first <> ''`); err != nil {
		return n, fmt.Errorf("prompt: erase: %w", err)
	}
	return n, nil
}

// Purge implements erase.Eraser.
func (eraser) Purge(context.Context, *erase.Erasure, *erase.Scrubber) (erase.Erased, error) {
	return erase.Erased{}, nil
}
