package imessage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"hob/channels"
	"hob/platform/pim/messages/chatdb"
)

// States of sent messages and files.
type state string

const (
	begun     state = "begun"     // the script runs or is about to run
	uncertain state = "uncertain" // unknown whether Messages accepted the item
	pending   state = "pending"   // accepted, but the database does not show the message yet
	done      state = "done"      // found in the database
)

// entry is one message text or file sent by Hob. It does not contain the text itself.
type entry struct {
	Key    string    `json:"k"`           // delivery id and number of the part
	Chat   string    `json:"c"`           // hash of the chat key
	Text   string    `json:"x"`           // hash of the normalized text
	Long   bool      `json:"l,omitempty"` // whether the text is long enough to be unique
	Before int64     `json:"b"`           // id of the newest row when sending began
	At     time.Time `json:"t"`
	State  state     `json:"s"`
	GUID   string    `json:"g,omitempty"`
	Echo   string    `json:"e,omitempty"` // guid of the echo's row
}

// ledger stores recent sends, so that no item is sent twice and echoes are ignored.
type ledger struct {
	keep channels.StateStore
	now  func() time.Time

	mu     sync.Mutex
	loaded bool
	list   []entry
}

const (
	ledgerKey  = "sent"
	ledgerMost = 150 // entries of about 250 bytes each
	ledgerAge  = 48 * time.Hour
)

// hashText returns a short digest of s.
func hashText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}

// plain reverses the typographic replacements made by Messages.
var plain = strings.NewReplacer("\r\n", "\n", "\u2018", "'", "\u2019", "'", "\u201c", `"`, "\u201d", `"`, "\u2013", "--", "\u2014", "--", "\u2026", "...", "\u00a0", " ", "\ufe0e", "", "\ufe0f", "")

// comparableText normalizes s for comparison: Messages may trim text, normalize Unicode, and
// replace quotes and dashes.
func comparableText(s string) string {
	return norm.NFC.String(strings.TrimSpace(plain.Replace(s)))
}

// loadEntries loads the entries of an earlier process. The caller holds l.mu.
func (l *ledger) loadEntries(ctx context.Context) error {
	if l.loaded {
		return nil
	}
	if l.keep != nil {
		b, err := l.keep.Get(ctx, ledgerKey)
		if err != nil {
			return fmt.Errorf("imessage: load sent messages: %w", err)
		}
		if len(b) > 0 && json.Unmarshal(b, &l.list) != nil {
			l.list = nil // written by an unknown version
		}
	}
	l.loaded = true
	return nil
}

// saveEntries drops old entries and stores the rest. The caller holds l.mu.
func (l *ledger) saveEntries(ctx context.Context) error {
	oldest := l.now().Add(-ledgerAge)
	for len(l.list) > 0 && (len(l.list) > ledgerMost || l.list[0].At.Before(oldest)) {
		l.list = l.list[1:]
	}
	if l.keep == nil {
		return nil
	}
	b, err := json.Marshal(l.list)
	if err != nil {
		return err
	}
	if err := l.keep.Set(ctx, ledgerKey, b); err != nil {
		return fmt.Errorf("imessage: store sent messages: %w", err)
	}
	return nil
}

// lookupEntry returns the entry of a key.
func (l *ledger) lookupEntry(ctx context.Context, key string) (entry, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.loadEntries(ctx); err != nil {
		return entry{}, false, err
	}
	for i := len(l.list) - 1; i >= 0; i-- {
		if l.list[i].Key == key {
			return l.list[i], true, nil
		}
	}
	return entry{}, false, nil
}

// putEntry stores an entry and replaces one with the same key.
func (l *ledger) putEntry(ctx context.Context, e entry) error { return l.changeEntry(ctx, e, false) }

func (l *ledger) removeEntry(ctx context.Context, e entry) error { return l.changeEntry(ctx, e, true) }

func (l *ledger) changeEntry(ctx context.Context, e entry, remove bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.loadEntries(ctx); err != nil {
		return err
	}
	rest := make([]entry, 0, len(l.list)+1)
	for _, old := range l.list {
		if old.Key != e.Key {
			rest = append(rest, old)
		} else if !remove {
			e.Echo = old.Echo
		}
	}
	if !remove {
		rest = append(rest, e)
	}
	l.list = rest
	return l.saveEntries(ctx)
}

// wasSentByHob reports whether Hob sent the message of a row.
func (l *ledger) wasSentByHob(ctx context.Context, guid string) (bool, error) {
	delivery, err := l.deliveryOf(ctx, guid)
	return delivery != "", err
}

// deliveryOf returns the id of the delivery whose text or file Hob sent as a row of the database,
// or "" if Hob did not send the row.
func (l *ledger) deliveryOf(ctx context.Context, guid string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.loadEntries(ctx); err != nil {
		return "", err
	}
	for _, e := range l.list {
		if guid != "" && e.GUID == guid {
			delivery, _, _ := strings.Cut(e.Key, "/") // the number of the file in the delivery follows the slash
			return delivery, nil
		}
	}
	return "", nil
}

// The time after which an incoming message can no longer be an echo of a message from Hob. In the
// owner's chat with the same account every message is echoed; in other chats this is rare.
const (
	selfEcho  = 15 * time.Minute
	otherEcho = 2 * time.Minute
	skew      = 5 * time.Second // maximum difference between this Mac's clock and Apple's
	long      = 20              // minimum number of characters at which equal messages are not a coincidence
)

// isEcho reports whether an incoming message repeats a recent message from Hob in that chat. A
// short message has one echo, so the same text written later by a person is received. A long
// message may be echoed any number of times.
func (l *ledger) isEcho(ctx context.Context, chats []string, text string, m chatdb.Message, self bool) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.loadEntries(ctx); err != nil {
		return false, err
	}
	window := otherEcho
	if self {
		window = selfEcho
	}
	text = hashText(comparableText(text))
	there := map[string]bool{}
	for _, chat := range chats {
		there[hashText(chat)] = true
	}
	for i := range l.list {
		e := &l.list[i]
		since := m.At.Sub(e.At)
		// Rows before the sent message cannot be echoes. The row order is checked in addition to
		// the time, because this Mac's clock and Apple's may differ.
		early := since < -skew && (m.RowID <= e.Before || since < -window)
		if !there[e.Chat] || e.Text != text || early || since > window || e.Echo != "" && e.Echo != m.GUID && !e.Long {
			continue
		}
		e.Echo = m.GUID
		return true, l.saveEntries(ctx)
	}
	return false, nil
}

func isLong(text string) bool { return utf8.RuneCountInString(text) >= long }
