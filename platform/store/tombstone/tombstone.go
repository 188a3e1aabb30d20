// Package tombstone records revoked grants and client tokens, uses of grants with a limit, ended
// pairings and erasures, so that restoring an older copy of the database does not undo them. Each entry
// is stored twice: as a row of the table tombstones, written in the same transaction as the change, and
// as a line of a file next to the audit key, which no snapshot contains. If a database lacks an entry
// of the file when it is opened, because it was restored from a backup, Sync applies the entry again.
//
// An entry contains ids and keyed digests, but no deleted text. The packages that own the data
// decide what an entry means. The guard opens the log, and package recovery synchronizes it.
package tombstone

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"hob/platform/failpoint"
	"hob/platform/host/system"
	"hob/platform/store"
)

// Kind is the kind of an entry.
type Kind string

// The kinds of entries.
const (
	Grant   Kind = "grant"   // Ref is the id of a revoked grant
	Pairing Kind = "pairing" // Ref is the id of an ended pairing
	Client  Kind = "client"  // Ref is the id of a revoked client token
	Erasure Kind = "erasure" // Ref is the id of an erasure, Data an erase.Sealed
	Use     Kind = "use"     // Ref is the id of a grant with a limit of uses, Data the number of its uses
)

// Entry is one record.
type Entry struct {
	ID   string          `json:"id"`
	At   time.Time       `json:"at"`
	Kind Kind            `json:"kind"`
	Ref  string          `json:"ref"`
	Data json.RawMessage `json:"data,omitempty"`
}

// fileLine is one line of the file. MAC authenticates the entry together with the line before it.
type fileLine struct {
	Entry
	MAC string `json:"mac"`
}

// ErrAltered means that the file was changed, or written with another key.
var ErrAltered = errors.New("the file of revocations and erasures was changed or belongs to another audit key")

// Log is the log of one home. Its methods may be called concurrently. A nil *Log records nothing.
type Log struct {
	db   *store.Store
	path string
	key  []byte
	log  *slog.Logger

	mu   sync.Mutex // guards the file
	last string     // MAC of the file's last line
	read bool       // the file was read, so last is valid
}

// New returns a log over a database that has the table in Table. key is secret and used for nothing
// else. If path or key is empty, the log stores its entries only in the database.
func New(db *store.Store, path string, key []byte, log *slog.Logger) *Log {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Log{db: db, path: path, key: key, log: log}
}

// Table is the migration that creates the package's table. The table contains no text written by a
// person.
const Table = `CREATE TABLE tombstones (id TEXT PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, ref TEXT NOT NULL, data TEXT NOT NULL DEFAULT '') WITHOUT ROWID;`

// Key returns the key for digests in entries.
func (l *Log) Key() []byte {
	if l == nil {
		return nil
	}
	return l.key
}

// AddTx records an entry in the transaction of the change that causes it. The entry is in the file
// before Write returns. If the file cannot be written, the next Sync adds the entry to it.
func (l *Log) AddTx(tx *store.Tx, kind Kind, ref string, data json.RawMessage) error {
	if l == nil {
		return nil
	}
	e := Entry{ID: rand.Text(), At: store.Time(time.Now().UnixMilli()), Kind: kind, Ref: ref, Data: data}
	if err := insertEntry(tx, e); err != nil {
		return err
	}
	tx.AfterCommit(func() {
		failpoint.Hit("tombstone.committed")
		if err := l.appendEntries(e); err != nil {
			l.log.Error("cannot write a revocation or erasure to the file; the next start will try again", "err", err)
		}
	})
	return nil
}

func insertEntry(tx *store.Tx, e Entry) error {
	_, err := tx.Exec(`INSERT OR IGNORE INTO tombstones (id, at, kind, ref, data) VALUES (?,?,?,?,?)`, e.ID, store.Millis(e.At), e.Kind, e.Ref, string(e.Data))
	if err != nil {
		return fmt.Errorf("tombstone: store an entry: %w", err)
	}
	return nil
}

// Rows returns the entries of a database. A database that is older than this package has none.
func Rows(q store.Querier) (out []Entry, err error) {
	var known bool
	if err := q.QueryRow(`SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'tombstones')`).Scan(&known); err != nil || !known {
		return nil, err
	}
	rows, err := q.Query(`SELECT id, at, kind, ref, data FROM tombstones ORDER BY at, id`)
	if err != nil {
		return nil, fmt.Errorf("tombstone: read the entries: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e Entry
		var at int64
		var data string
		if err := rows.Scan(&e.ID, &at, &e.Kind, &e.Ref, &data); err != nil {
			return nil, fmt.Errorf("tombstone: read the entries: %w", err)
		}
		if e.At = store.Time(at); data != "" {
			e.Data = json.RawMessage(data)
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// Sync reconciles the database and the file. It passes the entries that the database lacks to apply, in
// one transaction, and appends the entries that the file lacks. If the file was altered, Sync applies
// the lines before the change, moves the file aside, writes a new one and returns ErrAltered.
func (l *Log) Sync(ctx context.Context, apply func(tx *store.Tx, missing []Entry) error) (applied int, err error) {
	if l == nil || l.path == "" || len(l.key) == 0 {
		return 0, nil
	}
	inFile, rerr := l.readFile()
	if rerr != nil && !errors.Is(rerr, ErrAltered) {
		return 0, rerr
	}
	have, err := Rows(l.db.Reader(ctx))
	if err != nil {
		return 0, err
	}
	missing := missingFrom(inFile, have)
	if len(missing) > 0 {
		err := l.db.Write(ctx, func(tx *store.Tx) error {
			for _, e := range missing {
				if err := insertEntry(tx, e); err != nil {
					return err
				}
			}
			return apply(tx, missing)
		})
		if err != nil {
			return 0, err
		}
	}
	if rerr != nil {
		return len(missing), errors.Join(rerr, l.rewriteFile(append(inFile, missingFrom(have, inFile)...)))
	}
	return len(missing), l.appendEntries(missingFrom(have, inFile)...)
}

// AddFrom appends the entries of another database to the file, so that they survive its replacement.
// It repairs an altered file like Sync and then returns ErrAltered.
func (l *Log) AddFrom(q store.Querier) error {
	have, err := Rows(q)
	if err != nil {
		return err
	}
	inFile, err := l.readFile()
	if errors.Is(err, ErrAltered) {
		if werr := l.rewriteFile(append(inFile, missingFrom(have, inFile)...)); werr != nil {
			return werr
		}
	}
	if err != nil {
		return err
	}
	return l.appendEntries(missingFrom(have, inFile)...)
}

// missingFrom returns the entries of a that are not in b.
func missingFrom(a, b []Entry) (out []Entry) {
	known := map[string]bool{}
	for _, e := range b {
		known[e.ID] = true
	}
	for _, e := range a {
		if !known[e.ID] {
			out = append(out, e)
		}
	}
	return out
}

// readFile reads and verifies the file. With ErrAltered it returns the entries before the change. It
// ignores an incomplete last line, which a crash leaves.
func (l *Log) readFile() ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loadLocked()
}

func (l *Log) loadLocked() (out []Entry, err error) {
	l.last, l.read = "", true
	b, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		l.read = false
		return nil, fmt.Errorf("read revocations and erasures: %w; make the file readable", err)
	}
	complete := b[:bytes.LastIndexByte(b, '\n')+1]
	lines := bufio.NewScanner(bytes.NewReader(complete))
	lines.Buffer(nil, len(complete)+1)
	for n := 1; lines.Scan(); n++ {
		var x fileLine
		if json.Unmarshal(lines.Bytes(), &x) != nil || !hmac.Equal([]byte(x.MAC), []byte(l.lineMAC(x.Entry, l.last))) {
			return out, fmt.Errorf("%s, line %d: %w", l.path, n, ErrAltered)
		}
		out, l.last = append(out, x.Entry), x.MAC
	}
	if err := lines.Err(); err != nil {
		return out, fmt.Errorf("read revocations and erasures: %w", err)
	}
	if len(complete) < len(b) { // end an incomplete last line, so that the next line does not continue it
		if err := os.Truncate(l.path, int64(len(complete))); err != nil {
			return out, fmt.Errorf("read revocations and erasures: %w", err)
		}
	}
	return out, nil
}

func (l *Log) lineMAC(e Entry, prev string) string {
	b, err := json.Marshal(e)
	if err != nil { // plain values can always be encoded
		panic(err)
	}
	m := hmac.New(sha256.New, l.key)
	m.Write([]byte(prev + "\n"))
	m.Write(b)
	return hex.EncodeToString(m.Sum(nil))
}

// appendEntries appends lines and syncs the file.
func (l *Log) appendEntries(list ...Entry) error {
	if l.path == "" || len(l.key) == 0 || len(list) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		if _, err := l.loadLocked(); err != nil {
			return err
		}
	}
	var text []byte
	last := l.last
	text, last, err := l.encodeLines(list, last)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("record revocations and erasures: %w", err)
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		l.read = false // a part of the line may have been written
		return fmt.Errorf("record revocations and erasures: %w", err)
	}
	l.last = last
	return nil
}

func (l *Log) encodeLines(list []Entry, prev string) (text []byte, last string, err error) {
	for _, e := range list {
		x := fileLine{Entry: e, MAC: l.lineMAC(e, prev)}
		b, err := json.Marshal(x)
		if err != nil {
			return nil, prev, fmt.Errorf("record revocations and erasures: %w", err)
		}
		text, prev = append(append(text, b...), '\n'), x.MAC
	}
	return text, prev, nil
}

// rewriteFile keeps an altered file under another name and replaces it by a new one.
func (l *Log) rewriteFile(list []Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, last, err := l.encodeLines(list, "")
	if err != nil {
		return err
	}
	aside := l.path + ".altered-" + time.Now().UTC().Format("20060102T150405")
	if os.Link(l.path, aside) != nil { // the file system has no hard links
		if err := system.Rename(l.path, aside); err != nil {
			return fmt.Errorf("record revocations and erasures: %w", err)
		}
	}
	if err := system.WriteFile(l.path, text); err != nil {
		return err
	}
	l.last, l.read = last, true
	return nil
}
