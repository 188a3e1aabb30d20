package prompt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"hob/autonomy/llm"
	"hob/platform/store"
)

// Migrations returns the package's tables. They store the block of each conversation under an id
// derived from its content, and the message with which the conversation's window began when the
// block was stored.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "prompt", Steps: []string{`
CREATE TABLE prompt_blocks (id TEXT PRIMARY KEY, guidance TEXT NOT NULL, identity TEXT NOT NULL, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE prompt_sessions (
	session TEXT PRIMARY KEY, block TEXT NOT NULL, first TEXT NOT NULL, told TEXT NOT NULL, base INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX prompt_sessions_block ON prompt_sessions(block);
`}}
}

// pinnedBlock is the block of a conversation.
type pinnedBlock struct {
	block
	fresh bool   // whether the block is new or changed and must be stored
	first string // key of the message with which the window began (messageKey)
	told  string // the identity that the conversation last received
	base  int    // number of real turns before the conversation was last restarted
}

// loadPinned returns the block of the conversation. It returns the present block if the window now
// starts with a different message, or if the guidance changed. Changed guidance means that the
// tools have changed too, so the old request prefix is invalid.
func (b *Builder) loadPinned(ctx context.Context, s TurnContext, now block) (pinnedBlock, error) {
	p := pinnedBlock{block: now, fresh: true, told: now.identity, base: s.Turns}
	if b.o.Store == nil {
		return p, nil
	}
	if len(s.Before)+len(s.Recorded) == 0 {
		return p, nil
	}
	var old pinnedBlock
	err := b.o.Store.Read().QueryRowContext(ctx, `SELECT b.text, b.guidance, b.identity, s.first, s.told, s.base
		FROM prompt_sessions s JOIN prompt_blocks b ON b.id = s.block WHERE s.session = ?`, s.Session).
		Scan(&old.text, &old.guidance, &old.identity, &old.first, &old.told, &old.base)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return p, nil
	case err != nil:
		return p, fmt.Errorf("prompt: read the pinned prompt block: %w", err)
	}
	if len(s.Before) == 0 { // the turn being continued is the first one in the window
		old.base = min(old.base, s.Turns)
	}
	first := s.Recorded
	if len(s.Before) > 0 {
		first = s.Before
	}
	if old.guidance != now.guidance || old.first != messageKey(first[0]) {
		p.base = old.base
		return p, nil
	}
	return old, nil
}

// messageKey identifies a message by the content shown to a model.
func messageKey(m llm.Message) string {
	var b strings.Builder
	b.WriteString(string(m.Role))
	for _, p := range m.Parts {
		b.WriteString("\x00" + p.Text)
		if p.Result != nil {
			b.WriteString(p.Result.Text)
		}
	}
	return contentDigest(strings.ToValidUTF8(b.String(), "\uFFFD"))
}

// recordPin returns a function that stores a changed block of a conversation and the use of the
// lessons, or nil if there is nothing to store.
func (b *Builder) recordPin(s TurnContext, p pinnedBlock, lessons []string) func(*store.Tx, llm.Message) error {
	if b.o.Store == nil || (!p.fresh && len(lessons) == 0) {
		return nil
	}
	return func(tx *store.Tx, first llm.Message) error {
		if p.fresh {
			if p.first == "" {
				p.first = messageKey(first)
			}
			if err := p.storeTx(tx, s.Session); err != nil {
				return err
			}
		}
		if len(lessons) == 0 {
			return nil
		}
		return b.o.Lessons.UsedTx(tx, s.Session, lessons)
	}
}

func (p pinnedBlock) storeTx(tx *store.Tx, session string) error {
	_, err := tx.Exec(`INSERT INTO prompt_blocks (id, guidance, identity, text) VALUES (?,?,?,?) ON CONFLICT (id) DO NOTHING`, p.contentID(), p.guidance, p.identity, p.text)
	if err != nil {
		return fmt.Errorf("prompt: store a prompt block: %w", err)
	}
	_, err = tx.Exec(`INSERT INTO prompt_sessions (session, block, first, told, base) VALUES (?,?,?,?,?)
		ON CONFLICT (session) DO UPDATE SET block = excluded.block, first = excluded.first, told = excluded.told, base = excluded.base`,
		session, p.contentID(), p.first, p.told, p.base)
	if err != nil {
		return fmt.Errorf("prompt: store the prompt block of a conversation: %w", err)
	}
	// Delete unused blocks, because they may contain text that the owner has removed.
	_, err = tx.Exec(`DELETE FROM prompt_blocks WHERE id NOT IN (SELECT block FROM prompt_sessions)`)
	if err != nil {
		return fmt.Errorf("prompt: delete unused prompt blocks: %w", err)
	}
	return nil
}
