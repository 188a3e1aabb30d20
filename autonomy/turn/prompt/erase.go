package prompt

import (
	"fmt"

	"hob/platform/store"
	"hob/platform/store/erase"
)

// Eraser returns the eraser for the blocks of conversations. It deletes complete blocks. A block is
// identified by its content, so a redacted block would be a different block.
func Eraser() erase.Eraser {
	return erase.Owned{
		List: []erase.Table{
			{Name: "prompt_blocks", Key: []string{"id"}, Names: []string{"identity", "guidance", "text"}},
			{Name: "prompt_sessions", Key: []string{"session"}, Names: []string{"told"}, Session: "session"},
		},
		After: clearDigests,
	}
}

// clearDigests deletes the digest of the message at which each window began, so that the next turn
// in each conversation gets the current block.
func clearDigests(tx *store.Tx, _ *erase.Erasure, _ *erase.Scrubber) (n erase.Erased, err error) {
	if _, err := tx.Exec(`UPDATE prompt_sessions SET first = '' WHERE first <> ''`); err != nil {
		return n, fmt.Errorf("prompt: erase stored prompts: %w", err)
	}
	return n, nil
}
