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
	"hob/platform/messages/chatdb"
)

// The states of what was sent.
type state string

const (
	begun     state = "begun"     // Messages was asked, or is about to be
	uncertain state = "uncertain" // nobody knows whether it took it
	pending   state = "pending"   // it took it, and the database does not show it yet
	done      state = "done"      // it stands in the database
)

// entry is one text or file that Hob sent. It holds none of its words.
type entry struct {
	Key    string    `json:"k"`           // of the delivery, and which part of it
	Chat   string    `json:"c"`           // a hash, as
	Text   string    `json:"x"`           // this one
	Long   bool      `json:"l,omitempty"` // nobody would write the same by chance
	Before int64     `json:"b"`           // the newest row when it was begun
	At     time.Time `json:"t"`
	State  state     `json:"s"`
	GUID   string    `json:"g,omitempty"`
	Echo   string    `json:"e,omitempty"` // the guid of the row in which it came back
}

// ledger is what Hob said of late, kept so that it is neither said twice nor heard.
type ledger struct {
	keep channels.Keeper
	now  func() time.Time

	mu     sync.Mutex
	loaded bool
	list   []entry
}

const (
	ledgerKey  = "sent"
	ledgerMost = 150 // of about 250 bytes each
	ledgerAge  = 48 * time.Hour
)

// hash stands for what it is of.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}

// plain writes what Messages may have made typographic as it is typed.
var plain = strings.NewReplacer("\r\n", "\n", "\u2018", "'", "\u2019", "'", "\u201c", `"`, "\u201d", `"`, "\u2013", "--", "\u2014", "--", "\u2026", "...", "\u00a0", " ", "\ufe0e", "", "\ufe0f", "")

// same is the form in which texts are compared: Messages may trim and compose them, and
// put other quotes and dashes into them.
func same(s string) string {
	return norm.NFC.String(strings.TrimSpace(plain.Replace(s)))
}

// load reads what an earlier process has left. l.mu is held.
func (l *ledger) load(ctx context.Context) error {
	if l.loaded {
		return nil
	}
	if l.keep != nil {
		b, err := l.keep.Get(ctx, ledgerKey)
		if err != nil {
			return fmt.Errorf("imessage: load sent texts: %w", err)
		}
		if len(b) > 0 && json.Unmarshal(b, &l.list) != nil {
			l.list = nil // written by a version that is not known
		}
	}
	l.loaded = true
	return nil
}

// save drops what is old and writes the rest. l.mu is held.
func (l *ledger) save(ctx context.Context) error {
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
		return fmt.Errorf("imessage: store sent texts: %w", err)
	}
	return nil
}

// get is the entry of a key.
func (l *ledger) get(ctx context.Context, key string) (entry, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(ctx); err != nil {
		return entry{}, false, err
	}
	for i := len(l.list) - 1; i >= 0; i-- {
		if l.list[i].Key == key {
			return l.list[i], true, nil
		}
	}
	return entry{}, false, nil
}

// put writes an entry, in the place of one with its key; forget takes it away.
func (l *ledger) put(ctx context.Context, e entry) error { return l.change(ctx, e, false) }

func (l *ledger) forget(ctx context.Context, e entry) error { return l.change(ctx, e, true) }

func (l *ledger) change(ctx context.Context, e entry, remove bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(ctx); err != nil {
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
	return l.save(ctx)
}

// said reports whether a row is one of those that Hob sent.
func (l *ledger) said(ctx context.Context, guid string) (bool, error) {
	delivery, err := l.deliveryOf(ctx, guid)
	return delivery != "", err
}

// deliveryOf returns the delivery, or the part of one, that Hob sent in a row: "" when the
// row is not one of Hob's.
func (l *ledger) deliveryOf(ctx context.Context, guid string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(ctx); err != nil {
		return "", err
	}
	for _, e := range l.list {
		if guid != "" && e.GUID == guid {
			delivery, _, _ := strings.Cut(e.Key, "/") // what follows counts its files
			return delivery, nil
		}
	}
	return "", nil
}

// The time in which what comes in can be an echo of what Hob said: in the chat with
// oneself, where each text comes back for certain, and elsewhere.
const (
	selfEcho  = 15 * time.Minute
	otherEcho = 2 * time.Minute
	skew      = 5 * time.Second // between the clocks of this Mac and Apple's
	long      = 20              // characters that nobody writes twice by chance
)

// echo reports whether an incoming message is what Hob itself said there a moment ago.
// Each text has one echo, so that somebody who then writes the same is heard; a long
// one may come back any number of times.
func (l *ledger) echo(ctx context.Context, chats []string, text string, m chatdb.Message, self bool) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(ctx); err != nil {
		return false, err
	}
	window := otherEcho
	if self {
		window = selfEcho
	}
	text = hash(same(text))
	there := map[string]bool{}
	for _, chat := range chats {
		there[hash(chat)] = true
	}
	for i := range l.list {
		e := &l.list[i]
		since := m.At.Sub(e.At)
		// What came before it was sent is none, by the order of the rows: this Mac's clock
		// and Apple's need not agree.
		early := since < -skew && (m.RowID <= e.Before || since < -window)
		if !there[e.Chat] || e.Text != text || early || since > window || e.Echo != "" && e.Echo != m.GUID && !e.Long {
			continue
		}
		e.Echo = m.GUID
		return true, l.save(ctx)
	}
	return false, nil
}

func isLong(text string) bool { return utf8.RuneCountInString(text) >= long }
