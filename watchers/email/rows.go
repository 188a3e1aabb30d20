package email

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/store"
)

// cursor is the position of a watcher in its folder.
type cursor struct {
	since    time.Time // messages that arrived earlier are not new
	box      string    // account and folder of the other fields
	validity uint32    // 0 before the first check
	next     uint32    // first UID that has not been read
	looked   time.Time // time of the last check
}

// boxSeparator separates the account and the folder of cursor.box. It was a NUL, which PostgreSQL stores as U+FFFD,
// so that the cursor seemed to belong to another folder after a restart.
const boxSeparator = "\x1f"

func (w *watch) loadCursor(ctx context.Context) (c cursor, err error) {
	var since, looked int64
	err = w.deps.Store.Reader(ctx).QueryRow("SELECT since, box, validity, next, looked FROM email_watches WHERE watcher = ?", w.id).
		Scan(&since, &c.box, &c.validity, &c.next, &looked)
	if errors.Is(err, sql.ErrNoRows) {
		return cursor{since: time.Now().Truncate(time.Second)}, nil
	}
	if err != nil {
		return c, fmt.Errorf("email: read progress: %w", err)
	}
	c.since, c.looked = store.Time(since), store.Time(looked)
	if !strings.Contains(c.box, boxSeparator) { // written by an older version
		c.box = strings.NewReplacer("\x00", boxSeparator, "\uFFFD", boxSeparator).Replace(c.box)
	}
	return c, nil
}

func (c cursor) saveCursor(tx *store.Tx, watcher string) error {
	_, err := tx.Exec(`INSERT INTO email_watches VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (watcher) DO UPDATE SET box = excluded.box, validity = excluded.validity, next = excluded.next, looked = excluded.looked`,
		watcher, store.Millis(c.since), c.box, c.validity, c.next, store.Millis(c.looked))
	if err != nil {
		return fmt.Errorf("email: save progress: %w", err)
	}
	return nil
}

func (w *watch) wasReported(ctx context.Context, name []byte) (known bool, err error) {
	err = w.deps.Store.Reader(ctx).QueryRow("SELECT EXISTS (SELECT 1 FROM email_told WHERE watcher = ? AND mail = ?)", w.id, name).Scan(&known)
	if err != nil {
		return false, fmt.Errorf("email: read reported emails: %w", err)
	}
	return known, nil
}

func markReported(tx *store.Tx, watcher string, name []byte) error {
	if _, err := tx.Exec("INSERT OR IGNORE INTO email_told VALUES (?, ?)", watcher, name); err != nil {
		return fmt.Errorf("email: save reported emails: %w", err)
	}
	return nil
}

// nameOf returns a permanent id of a message: its Message-ID, or a digest of its content, or its
// position if both are unknown.
func (b *box) nameOf(m pim.Message) string {
	if m.Refused != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		return fmt.Sprintf("mail:unread:%d:%d", b.news.validity, m.UID)
	}
	if m.ID != "" {
		return "mail:" + m.ID
	}
	from := ""
	if len(m.From) > 0 {
		from = m.From[0].String()
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d", from, m.Subject, m.Date.Unix(), m.Size))
	return "mail:unnamed:" + hex.EncodeToString(sum[:16])
}

func mailDigest(name string) []byte {
	sum := sha256.Sum256([]byte(name))
	return sum[:16]
}
