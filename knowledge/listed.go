package knowledge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/store"
	"hob/platform/text/textnorm"
	say "hob/platform/text/triples"
)

// ListedFact is a valid fact with what a list of facts needs to know about it.
type ListedFact struct {
	Fact

	AboutUser bool // a preference, or a fact whose statements are all about the user
}

// NewestFacts returns the newest valid facts of a realm, newest first.
func (b *Base) NewestFacts(q store.Querier, realm string, limit int) (out []ListedFact, err error) {
	rows, err := q.Query(`SELECT `+factColumns+`, kind = ? OR (EXISTS (SELECT 1 FROM claims c WHERE c.fact = id) AND NOT EXISTS (SELECT 1 FROM claims c WHERE c.fact = id AND c.subject <> ?))
		FROM facts WHERE retired_at = 0 AND realm = ? ORDER BY n DESC LIMIT ?`, KindPreference, say.Owner, realm, limit)
	if err != nil {
		return nil, fmt.Errorf("knowledge: list facts: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var f ListedFact
		if f.Fact, err = scanFact(extendedRow{rows, []any{&f.AboutUser}}); err != nil {
			return nil, fmt.Errorf("knowledge: list facts: %w", err)
		}
		out = append(out, f)
	}
	return out, rows.Err()
}

// FactWithText returns the valid fact of a realm that has the same words and signs, or nil. It
// ignores case and white space.
func (b *Base) FactWithText(q store.Querier, realm, text string) (*Fact, error) {
	same := strings.Join(textnorm.FoldedWords(text), " ")
	if same == "" {
		return nil, nil
	}
	list, err := queryFacts(q, `SELECT `+factColumns+` FROM facts WHERE retired_at = 0 AND realm = ? AND same = ? ORDER BY n`, realm, same)
	if err != nil {
		return nil, fmt.Errorf("knowledge: find fact: %w", err)
	}
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, f := range list {
		if textnorm.EqualFolded(squeeze(f.Text), squeeze(text)) {
			return &f, nil
		}
	}
	return nil, nil
}

// WithdrawTx retires a fact that the user removed, or replaced by the fact named by ("" for none).
// It reports false if the fact was retired or forgotten.
func (b *Base) WithdrawTx(tx *store.Tx, id, by string, now time.Time) (bool, error) {
	f, err := changeableFact(tx, id, false)
	if f == nil || err != nil {
		return false, err
	}
	return true, b.retireTx(tx, f, by, now)
}

// FileEditTool is the name under which the user's edits of USER.md and MEMORY.md are in the journal, and
// StatementEditTool that of the commands that change a statement about the user. No model can call them.
const (
	FileEditTool      = "edit_memory_files"
	StatementEditTool = "edit_statement"
)

// FileEdit lists the changes of an edit of USER.md or MEMORY.md. It has only ids of facts, so that the
// undo journal keeps no text of a forgotten fact.
type FileEdit struct {
	Added   []string        `json:"added,omitempty"`
	Removed []WithdrawnFact `json:"removed,omitempty"`
	// Statements are the changes of the user's statements (learn.StatementChange), oldest first. They
	// contain text. Forgetting it makes the edit permanent.
	Statements []json.RawMessage `json:"statements,omitempty"`
}

// WithdrawnFact is a fact that the user removed, and the time of that in milliseconds since 1970.
type WithdrawnFact struct {
	Fact string `json:"fact"`
	At   int64  `json:"at"`
}

// UndoFileEditTx reverts an edit: it removes the added facts, with which the facts that they replaced
// become valid again, and restores the removed ones. It skips facts that were changed or forgotten
// since, and returns the numbers of reverted and of skipped facts.
func (b *Base) UndoFileEditTx(tx *store.Tx, e FileEdit) (reverted, left int, err error) {
	for _, id := range slices.Backward(e.Added) {
		switch err := b.UndoRememberTx(tx, id); {
		case errors.Is(err, ErrNotFound):
			left++
		case err != nil:
			return reverted, left, fmt.Errorf("knowledge: undo edit: %w", err)
		default:
			reverted++
		}
	}
	for _, w := range e.Removed {
		f, err := factByID(tx, w.Fact)
		if errors.Is(err, ErrNotFound) || err == nil && (f.RetiredBy != "" || store.Millis(f.RetiredAt) != w.At) {
			left++
			continue
		}
		if err == nil {
			err = b.restoreFactTx(tx, f.ID)
		}
		if err != nil {
			return reverted, left, fmt.Errorf("knowledge: undo edit: %w", err)
		}
		reverted++
	}
	return reverted, left, nil
}
