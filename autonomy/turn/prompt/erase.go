package prompt

import (
	"fmt"

	"hob/platform/store"
	"hob/platform/store/erase"
)

// Eraser returns the eraser for the blocks of conversations. It deletes whole blocks: a block is
// identified by its content, so a redacted one would be a different block.
func Eraser() erase.Eraser {
	return erase.Owned{
		List: []erase.Table{
			{Name: "prompt_blocks", Key: []string{"id"}, Names: []string{"identity", "guidance", "text"}},
			{Name: "prompt_sessions", Key: []string{"session"}, Names: []string{"told"}, Session: "session"},
		},
		After: clearDigests,
	}
}

// clearDigests deletes the digest of the message with which each window began, so that the next
// turn of each conversation gets the current block.
func clearDigests(tx *store.Tx, _ *erase.Erasure, _ *erase.Scrubber) (n erase.Erased, err error) {
	if _, err := tx.Exec(`UPDATE prompt_sessions SET first = '' WHERE first <> ''`); err != nil {
		return n, fmt.Errorf("prompt: erase: %w", err)
	}
	return n, nil
}
