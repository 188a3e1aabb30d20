package bus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
)

// OwnerMessages looks up where and when the owner wrote.
type OwnerMessages struct{ db *store.Store }

// own matches messages from the owner in a private chat.
const own = `kind = ?1 AND provenance = ?2 AND coalesce(CAST(CAST(payload AS TEXT) ->> '$.shared' AS INTEGER), 0) = 0`

// LastPrivateChat returns where and when the owner last wrote in a private chat with Hob.
func (m *OwnerMessages) LastPrivateChat(ctx context.Context) (session, channel, chat string, at time.Time, err error) {
	var ms int64
	err = m.db.Read().QueryRowContext(ctx, `SELECT session, channel, chat, received_at FROM inbox WHERE `+own+` ORDER BY seq DESC LIMIT 1`,
		Message, provenance.Owner).Scan(&session, &channel, &chat, &ms)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", "", at, nil
	}
	if err != nil {
		return "", "", "", at, fmt.Errorf("bus: read the owner's last private chat: %w", err)
	}
	return session, channel, chat, store.Time(ms), nil
}

// OwnerChat returns the private chat on a channel in which the owner last wrote, or "".
func OwnerChat(q store.Querier, channel string) (chat string, err error) {
	err = q.QueryRow(`SELECT chat FROM inbox WHERE `+own+` AND channel = ?3 ORDER BY seq DESC LIMIT 1`, Message, provenance.Owner, channel).Scan(&chat)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("bus: read the owner's chat: %w", err)
	}
	return chat, nil
}

// HasWritten reports whether the owner has written in the session.
func (m *OwnerMessages) HasWritten(ctx context.Context, session string) (yes bool, err error) {
	err = m.db.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM inbox WHERE session = ? AND kind = ? AND provenance = ?)`,
		session, Message, provenance.Owner).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("bus: read the owner's messages: %w", err)
	}
	return yes, nil
}

// RevokeTx marks the messages of a former owner account as messages from an unknown sender, so that
// their chats get no more notices.
func (m *OwnerMessages) RevokeTx(tx *store.Tx, channel, sender string) error {
	_, err := tx.Exec(`UPDATE inbox SET provenance = ? WHERE kind = ? AND channel = ? AND sender = ? AND provenance = ?`,
		provenance.Outside, Message, channel, sender, provenance.Owner)
	if err != nil {
		return fmt.Errorf("bus: revoke the owner's messages: %w", err)
	}
	return nil
}

// MessageBeforeTx returns the text of the owner's last message before an event in the session, or
// "".
func (m *OwnerMessages) MessageBeforeTx(tx *store.Tx, session, event string) (text string, err error) {
	err = tx.QueryRow(`SELECT text FROM inbox WHERE session = ?1 AND kind = ?2 AND provenance = ?3 AND lane = session
		AND seq < (SELECT seq FROM inbox WHERE id = ?4) ORDER BY seq DESC LIMIT 1`, session, Message, provenance.Owner, event).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, err
}

// LastSession returns the session in which the owner last wrote.
func (m *OwnerMessages) LastSession(ctx context.Context) (session, channel, chat string, err error) {
	err = m.db.Read().QueryRowContext(ctx, `SELECT session, channel, chat FROM inbox WHERE kind = ? AND provenance = ? ORDER BY seq DESC LIMIT 1`,
		Message, provenance.Owner).Scan(&session, &channel, &chat)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", "", nil
	}
	return session, channel, chat, err
}

// LastChannel returns when and on which channel the owner last wrote. The channel is "" if the
// owner never wrote.
func (m *OwnerMessages) LastChannel(ctx context.Context) (channel string, at time.Time, err error) {
	var ms int64
	err = m.db.Read().QueryRowContext(ctx, `SELECT channel, received_at FROM inbox WHERE kind = ? AND provenance = ? ORDER BY seq DESC LIMIT 1`,
		Message, provenance.Owner).Scan(&channel, &ms)
	if errors.Is(err, sql.ErrNoRows) {
		return "", time.Time{}, nil
	}
	return channel, store.Time(ms), err
}

// PrivateChatSender returns the platform id of the sender in a private chat between the owner and
// Hob. It returns false for a group, a chat with another sender, or an empty chat. The caller must
// check whether the sender is still the owner.
func (m *OwnerMessages) PrivateChatSender(ctx context.Context, channel, chat string) (sender string, ok bool, err error) {
	var senders int
	err = m.db.Read().QueryRowContext(ctx, `SELECT count(DISTINCT sender), coalesce(max(sender), '') FROM inbox WHERE session = ?1 AND kind = ?2
		AND channel = ?4 AND chat = ?5
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE session = ?1 AND kind = ?2 AND (provenance <> ?3 OR coalesce(CAST(CAST(payload AS TEXT) ->> '$.shared' AS INTEGER), 0) <> 0))`,
		channel+":"+chat, Message, provenance.Owner, channel, chat).Scan(&senders, &sender)
	if err != nil {
		return "", false, fmt.Errorf("bus: read the sender of a private chat: %w", err)
	}
	return sender, senders == 1, nil
}

// IsPrivate reports whether the owner, and no one else, has written messages in the session.
func IsPrivate(q store.Querier, session string) (yes bool, err error) {
	err = q.QueryRow(`SELECT EXISTS (SELECT 1 FROM inbox WHERE session = ?3 AND `+own+`)
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE session = ?3 AND kind = ?1 AND (provenance <> ?2 OR coalesce(CAST(CAST(payload AS TEXT) ->> '$.shared' AS INTEGER), 0) <> 0))`,
		Message, provenance.Owner, session).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("bus: read who wrote in a session: %w", err)
	}
	return yes, nil
}
