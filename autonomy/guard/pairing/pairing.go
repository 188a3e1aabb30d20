// Package pairing stores which accounts belong to the owner on channels where other people can
// write too. The owner pairs an account once, by sending a code on the channel. Hob displays the
// code only in an authenticated place (command line, page, paired chat). The sender fields of a
// message prove nothing.
//
// The channels' inbound filter checks each message with this package, which implements
// channels.Owners. The composition root uses it to create codes and to end pairings. The package
// does not communicate with platforms.
package pairing

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/guard"
	"hob/channels"
	"hob/platform/store"
	"hob/platform/store/tombstone"
)

const (
	codeTime  = 10 * time.Minute
	codeChars = 10 // length of a code in characters of 5 bits each
	maxTries  = 5  // attempts per code, after which the code is invalid
	// alphabet contains 32 characters that people do not confuse.
	alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
)

// ErrNotFound means that the pairing does not exist.
var ErrNotFound = errors.New("pairing not found")

// Pairing is one paired account of the owner.
type Pairing struct {
	ID        string    `json:"id"`
	Channel   string    `json:"channel"`
	Sender    string    `json:"sender"`
	Name      string    `json:"name,omitempty"` // name reported by the platform; proves nothing
	Chat      string    `json:"chat,omitempty"`
	By        string    `json:"by"` // where the owner requested the code
	CreatedAt time.Time `json:"created_at"`
}

// Code is the code that the owner sends on the channel.
type Code struct {
	Channel   string    `json:"channel"`
	Code      string    `json:"code"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Options holds the options of New. Both are optional.
type Options struct {
	// Notify sends text to the user on the previously paired channels, in the transaction of its
	// cause. Only the first text with a given key is sent.
	Notify func(tx *store.Tx, key, text string) error
	// Ended is called in the transaction that ends a pairing, so that the account gets no more
	// notices.
	Ended func(tx *store.Tx, p Pairing) error
}

// notifyPaired notifies the user about a pairing, so that a pairing by another person is noticed.
func (p *Pairings) notifyPaired(tx *store.Tx, x Pairing) error {
	if p.opt.Notify == nil {
		return nil
	}
	return p.opt.Notify(tx, "paired:"+x.ID, fmt.Sprintf("The account %q on %s is now paired, and I treat its messages as yours. If this was not you: hob channel unpair %s", x.Sender, x.Channel, x.ID))
}

// notifySpoiled notifies the user that the code for a channel is invalid, because it was sent in a
// group.
func (p *Pairings) notifySpoiled(tx *store.Tx, channel string) error {
	if p.opt.Notify == nil {
		return nil
	}
	return p.opt.Notify(tx, "spoiled:"+rand.Text(), fmt.Sprintf("The code for %s was written in a group, where other people can read it, and is no longer valid. Get a new one and send it only to me: hob channel pair %s", channel, channel))
}

// Pairings implements channels.Owners. Its methods may be called concurrently.
type Pairings struct {
	db    *store.Store
	guard *guard.Guard
	opt   Options
}

// New returns Pairings over a store opened with Migrations.
func New(db *store.Store, g *guard.Guard, opt Options) *Pairings { return &Pairings{db, g, opt} }

// Migrations returns the package's tables.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "pairing", Steps: []string{`
CREATE TABLE pairings (
	id TEXT PRIMARY KEY, channel TEXT NOT NULL, sender TEXT NOT NULL, name TEXT NOT NULL, chat TEXT NOT NULL,
	made_by TEXT NOT NULL, created_at INTEGER NOT NULL, UNIQUE (channel, sender)) WITHOUT ROWID;
CREATE TABLE pairing_codes (
	channel TEXT PRIMARY KEY, hash BLOB NOT NULL, made_by TEXT NOT NULL, expires_at INTEGER NOT NULL, tries INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
`}}
}

// NewCode creates the code for a channel and replaces an open code. The code works once, within 10
// minutes. by is where the owner requested it.
func (p *Pairings) NewCode(ctx context.Context, channel, by string) (Code, error) {
	code := newCode()
	c := Code{Channel: channel, Code: code[:codeChars/2] + "-" + code[codeChars/2:], ExpiresAt: time.Now().Add(codeTime)}
	sum := codeDigest(channel, code)
	err := p.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT OR REPLACE INTO pairing_codes (channel, hash, made_by, expires_at, tries) VALUES (?,?,?,?,0)`, channel, sum[:], by, store.Millis(c.ExpiresAt))
		if err != nil {
			return err
		}
		return p.guard.AuditTx(tx, guard.Record{Actor: "owner", Action: "pairing code", Origin: by, Verdict: "allow", Rule: "channel " + channel})
	})
	if err != nil {
		return Code{}, fmt.Errorf("pairing: create a code: %w", err)
	}
	return c, nil
}

func newCode() string {
	b := make([]byte, codeChars)
	_, _ = rand.Read(b) // crypto/rand never fails
	for i := range b {
		b[i] = alphabet[b[i]%byte(len(alphabet))] // 256 is a multiple of 32, so the distribution is uniform
	}
	return string(b)
}

// codeDigest returns a digest that binds a code to its channel.
func codeDigest(channel, code string) [sha256.Size]byte {
	return sha256.Sum256([]byte("hob pairing 1\x00" + channel + "\x00" + code))
}

// ParseCode parses a code as typed by a person: in any case, with a hyphen or spaces. It returns
// false if text is not a code.
func ParseCode(text string) (string, bool) {
	if len(text) > 4*codeChars {
		return "", false
	}
	code := strings.ToUpper(strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' || r == '\n' {
			return -1
		}
		return r
	}, strings.TrimSpace(text)))
	odd := func(r rune) bool { return !strings.ContainsRune(alphabet, r) }
	return code, len(code) == codeChars && !strings.ContainsFunc(code, odd)
}

// IsOwner implements channels.Owners.
func (p *Pairings) IsOwner(ctx context.Context, channel, sender string) (yes bool, err error) {
	if sender == "" {
		return false, nil
	}
	err = p.db.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pairings WHERE channel = ? AND sender = ?)`, channel, sender).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("pairing: check the sender: %w", err)
	}
	return yes, nil
}

// Pairs implements channels.Pairer.
func (p *Pairings) Pairs(ctx context.Context, in channels.Inbound) (open bool, err error) {
	if _, ok := ParseCode(in.Text); !ok || in.Sender == "" {
		return false, nil
	}
	err = p.db.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pairing_codes WHERE channel = ? AND expires_at > ? AND tries < ?)`,
		in.Channel, time.Now().UnixMilli(), maxTries).Scan(&open)
	if err != nil {
		return false, fmt.Errorf("pairing: read the codes: %w", err)
	}
	return open, nil
}

// Pair implements channels.Owners. A code that was tried too often, or sent in a group, is invalid,
// even for the owner.
func (p *Pairings) Pair(ctx context.Context, in channels.Inbound) (paired bool, err error) {
	if open, err := p.Pairs(ctx, in); err != nil || !open {
		return false, err // unknown senders must not cause writes
	}
	code, _ := ParseCode(in.Text)
	err = p.db.Write(ctx, func(tx *store.Tx) error {
		paired, err = p.tryTx(tx, in, code)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("pairing: pair the account: %w", err)
	}
	return paired, nil
}

func (p *Pairings) tryTx(tx *store.Tx, in channels.Inbound, code string) (bool, error) {
	var want []byte
	var by string
	now := time.Now()
	err := tx.QueryRow(`UPDATE pairing_codes SET tries = tries + 1 WHERE channel = ? AND expires_at > ? AND tries < ? RETURNING hash, made_by`,
		in.Channel, now.UnixMilli(), maxTries).Scan(&want, &by)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	rec := guard.Record{Actor: "owner", Action: "pair", Session: in.Conversation(false), Origin: in.Channel, Verdict: "deny", Rule: "code of " + by, Outcome: "wrong code"}
	if got := codeDigest(in.Channel, code); subtle.ConstantTimeCompare(got[:], want) != 1 {
		rec.Actor = "stranger"
		return false, p.guard.AuditTx(tx, rec)
	}
	if in.Group {
		return false, p.spoilTx(tx, rec)
	}
	x := Pairing{ID: newID(), Channel: in.Channel, Sender: in.Sender, Name: in.SenderName, Chat: in.Chat, By: by, CreatedAt: now}
	if _, err := tx.Exec(`DELETE FROM pairing_codes WHERE channel = ?`, in.Channel); err != nil {
		return false, err
	}
	_, err = tx.Exec(`INSERT INTO pairings (id, channel, sender, name, chat, made_by, created_at) VALUES (?,?,?,?,?,?,?)`,
		x.ID, x.Channel, x.Sender, x.Name, x.Chat, x.By, store.Millis(now))
	if err != nil {
		return false, err
	}
	if err := p.notifyPaired(tx, x); err != nil {
		return false, err
	}
	rec.Verdict, rec.Outcome = "allow", "done"
	return true, p.guard.AuditTx(tx, rec)
}

// spoilTx invalidates a code that other people have read.
func (p *Pairings) spoilTx(tx *store.Tx, rec guard.Record) error {
	if _, err := tx.Exec(`DELETE FROM pairing_codes WHERE channel = ?`, rec.Origin); err != nil {
		return err
	}
	if err := p.notifySpoiled(tx, rec.Origin); err != nil {
		return err
	}
	rec.Outcome = "written in a group"
	return p.guard.AuditTx(tx, rec)
}

func newID() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b) // crypto/rand never fails
	return hex.EncodeToString(b)
}

// Remove ends a pairing. The account then counts as an unknown sender again.
func (p *Pairings) Remove(ctx context.Context, id, by string) (x Pairing, err error) {
	err = p.db.Write(ctx, func(tx *store.Tx) error {
		x, err = scanPairing(tx.QueryRow(`DELETE FROM pairings WHERE id = ? RETURNING `+columns, id))
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		if p.opt.Ended != nil {
			if err := p.opt.Ended(tx, x); err != nil {
				return err
			}
		}
		if err := p.guard.Tombstones().AddTx(tx, tombstone.Pairing, id, nil); err != nil {
			return err
		}
		return p.guard.AuditTx(tx, guard.Record{Actor: "owner", Action: "unpair", Origin: by, Verdict: "deny", Rule: "channel " + x.Channel})
	})
	if err != nil {
		return x, fmt.Errorf("pairing %q: %w", id, err)
	}
	return x, nil
}

// RemoveRestoredTx ends a restored pairing that was ended after the backup. It returns false if
// the database does not contain the pairing.
func RemoveRestoredTx(tx *store.Tx, id string) (x Pairing, found bool, err error) {
	x, err = scanPairing(tx.QueryRow(`DELETE FROM pairings WHERE id = ? RETURNING `+columns, id))
	if errors.Is(err, sql.ErrNoRows) {
		return x, false, nil
	}
	if err != nil {
		return x, false, fmt.Errorf("pairing %q: %w", id, err)
	}
	return x, true, nil
}

const columns = `id, channel, sender, name, chat, made_by, created_at`

func scanPairing(r interface{ Scan(...any) error }) (x Pairing, err error) {
	var at int64
	err = r.Scan(&x.ID, &x.Channel, &x.Sender, &x.Name, &x.Chat, &x.By, &at)
	x.CreatedAt = store.Time(at)
	return x, err
}

// List returns all pairings, newest first.
func (p *Pairings) List(ctx context.Context) ([]Pairing, error) {
	rows, err := p.db.Read().QueryContext(ctx, `SELECT `+columns+` FROM pairings ORDER BY created_at DESC, id`)
	if err != nil {
		return nil, fmt.Errorf("pairing: list the accounts: %w", err)
	}
	defer rows.Close()
	out := []Pairing{}
	for rows.Next() {
		x, err := scanPairing(rows)
		if err != nil {
			return nil, fmt.Errorf("pairing: list the accounts: %w", err)
		}
		out = append(out, x)
	}
	return out, rows.Err()
}
