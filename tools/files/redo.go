package files

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"hob/tools"
)

// redoMove repeats a move that undoMove reverted.
func (f *Files) redoMove(ctx context.Context, data json.RawMessage) (string, json.RawMessage, error) {
	var u moveUndo
	if err := json.Unmarshal(data, &u); err != nil {
		return "", nil, tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	from, err := f.openSpot(u.From)
	if err != nil {
		return "", nil, err
	}
	defer from.Close()
	if err := f.checkRemovable(from, "moved"); err != nil {
		return "", nil, err
	}
	to, err := f.openSpot(u.To)
	if err != nil {
		return "", nil, err
	}
	defer to.Close()
	if to.info != nil {
		return "", nil, tools.Errorf(tools.Conflict, "%s now holds another file; redo would overwrite it", to.errorLabel())
	}
	marked, err := f.movePath(ctx, from, to, &u)
	if err != nil {
		return "", nil, err
	}
	data, err = json.Marshal(u)
	return fmt.Sprintf("Moved %s to %s again.", from.displayName(), to.displayName()) + marked.untrustedMoveNote(to), data, err
}

// redoTrash moves an item that undoTrash restored to the trash again.
func (f *Files) redoTrash(ctx context.Context, data json.RawMessage) (string, json.RawMessage, error) {
	var item trashUndo
	if err := json.Unmarshal(data, &item); err != nil {
		return "", nil, tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	item, s, err := f.throwAway(ctx, item.Original, time.Now())
	if err != nil {
		return "", nil, err
	}
	defer s.Close()
	data, err = json.Marshal(item)
	return fmt.Sprintf("Moved %s to the trash again.", s.displayName()), data, err
}
