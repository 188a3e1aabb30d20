// Package clients stores the tokens of external programs: MCP clients, A2A agents, and the external
// agents of running turns. A token identifies a program to one protocol endpoint. It never
// authenticates the user, and it opens no other route of the API.
//
// The database contains only a SHA-256 digest of each token. Tokens of turns exist only in memory,
// so that they end with the process. The servers for MCP and A2A authenticate their requests with
// this package; package recovery applies revocations again after a restore.
package clients

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/guard"
	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/store/tombstone"
	"hob/platform/text/lazyregexp"
)

// The kinds of clients. A token of one kind is not valid for another.
const (
	MCP     = "mcp"     // an MCP client of /mcp
	A2A     = "a2a"     // an agent that uses /a2a
	Session = "session" // the external agent of a running turn; see Attach
)

// Limits.
const (
	maxClients = 100 // per kind
	maxTools   = 200 // per client
	prefix     = "hobc_"
)

// Errors about clients.
var (
	ErrNotFound = errors.New("client not found")
	ErrExists   = errors.New("a client with this name exists")
	ErrInvalid  = errors.New("invalid client")
	// ErrUnknownToken means that a token is wrong, of another kind, revoked or expired.
	ErrUnknownToken = errors.New("unknown token")
)

// Client is an external program with a token.
type Client struct {
	ID    string   `json:"id"`
	Kind  string   `json:"kind"`
	Name  string   `json:"name"`
	Tools []string `json:"tools,omitempty"` // the only tools that the client may call; empty means no further limit
	// Expires is when the token becomes invalid; zero means never.
	Expires   time.Time `json:"expires_at,omitzero"`
	CreatedAt time.Time `json:"created_at"`
}

// Person returns the client as a person for policies and the audit log, such as "mcp:laptop".
func (c Client) Person() string { return c.Kind + ":" + c.Name }

// MayCall reports whether the token's list of tools allows a tool.
func (c Client) MayCall(tool string) bool { return len(c.Tools) == 0 || slices.Contains(c.Tools, tool) }

// Store stores clients. Its methods may be called concurrently.
type Store struct {
	db    *store.Store
	guard *guard.Guard

	mu       sync.Mutex
	sessions map[string]*agentSession // by session
	turns    int64                    // turns of external agents since the start
}

// New returns a Store over a database opened with Migrations.
func New(db *store.Store, g *guard.Guard) *Store {
	return &Store{db: db, guard: g, sessions: map[string]*agentSession{}}
}

// Migrations returns the package's table.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "clients", Steps: []string{`
CREATE TABLE client_tokens (
	id TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, hash BLOB NOT NULL, tools TEXT NOT NULL,
	expires_at INTEGER NOT NULL, created_at INTEGER NOT NULL, UNIQUE (kind, name)) WITHOUT ROWID;
CREATE TABLE client_calls (
	client TEXT NOT NULL, hash TEXT NOT NULL, event TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (client, hash)) WITHOUT ROWID;
`}}
}

// Eraser returns the eraser for phrases. The tables contain no text except the names that the user
// chose for programs.
func Eraser() erase.Eraser { return erase.Owned{Besides: []string{"client_tokens", "client_calls"}} }

var validName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)

// reservedNames are names that policies and the audit log use for other callers: "mcp:local" is a
// program with the API token.
var reservedNames = []string{"local", "owner", "hob"}

// Create stores a client and returns its token, which cannot be read again. expires is when the
// token becomes invalid; zero means never. An expired client with the same name is replaced.
func (s *Store) Create(ctx context.Context, kind, name string, tools []string, expires time.Time) (token string, err error) {
	now := time.Now()
	switch {
	case kind != MCP && kind != A2A:
		return "", fmt.Errorf("%w: kind %q cannot be stored; use %s or %s", ErrInvalid, kind, MCP, A2A)
	case !validName.MatchString(name):
		return "", fmt.Errorf("%w: name %q; use 1 to 40 letters, digits, dots, underscores and hyphens", ErrInvalid, name)
	case slices.Contains(reservedNames, strings.ToLower(name)):
		return "", fmt.Errorf("%w: name %q is reserved; choose another name", ErrInvalid, name)
	case len(tools) > maxTools:
		return "", fmt.Errorf("%w: %d tools; name at most %d", ErrInvalid, len(tools), maxTools)
	case !expires.IsZero() && !expires.After(now):
		return "", fmt.Errorf("%w: the token would expire at once; choose a later time", ErrInvalid)
	}
	list, err := json.Marshal(slices.Compact(slices.Sorted(slices.Values(tools))))
	if err != nil {
		return "", err
	}
	token, hash := newToken()
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM client_tokens WHERE kind = ? AND expires_at > 0 AND expires_at <= ?`, kind, now.UnixMilli()); err != nil {
			return err
		}
		var n, same int
		if err := tx.QueryRow(`SELECT count(*), count(*) FILTER (WHERE name COLLATE NOCASE = ? COLLATE NOCASE) FROM client_tokens WHERE kind = ?`, name, kind).Scan(&n, &same); err != nil {
			return err
		}
		switch {
		case same > 0:
			return fmt.Errorf("%w: %s; revoke it first, or choose another name", ErrExists, name)
		case n >= maxClients:
			return fmt.Errorf("%w: there are already %d clients; revoke one first", ErrInvalid, n)
		}
		if _, err := tx.Exec(`INSERT INTO client_tokens (id, kind, name, hash, tools, expires_at, created_at) VALUES (?,?,?,?,?,?,?)`,
			newID(), kind, name, hash[:], string(list), store.Millis(expires), store.Millis(now)); err != nil {
			return err
		}
		return s.guard.AuditTx(tx, guard.Record{Actor: "owner", Action: "client token", Origin: "api", Verdict: "allow", Rule: kind + ":" + name, Outcome: "created", Args: list})
	})
	if err != nil {
		return "", fmt.Errorf("client %s: %w", name, err)
	}
	return token, nil
}

// newToken returns a token of 256 random bits and its digest.
func newToken() (string, [sha256.Size]byte) {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // crypto/rand never fails
	token := prefix + base64.RawURLEncoding.EncodeToString(b)
	return token, sha256.Sum256([]byte(token))
}

func newID() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// Authenticate returns the client of a kind to which a token belongs, or ErrUnknownToken. Its
// duration does not depend on how much of the token is right.
func (s *Store) Authenticate(ctx context.Context, kind, token string) (Client, error) {
	hash := sha256.Sum256([]byte(token))
	if kind == Session {
		return s.authenticateSession(hash)
	}
	all, hashes, err := s.listClients(ctx, kind)
	if err != nil {
		return Client{}, err
	}
	found := -1
	for i := range all {
		if subtle.ConstantTimeCompare(hash[:], hashes[i]) == 1 {
			found = i
		}
	}
	if found < 0 || !all[found].Expires.IsZero() && !time.Now().Before(all[found].Expires) {
		return Client{}, ErrUnknownToken
	}
	return all[found], nil
}

// IsValid reports whether a client exists and its token has not expired.
func (s *Store) IsValid(ctx context.Context, kind, id string) (valid bool, err error) {
	err = s.db.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM client_tokens WHERE kind = ? AND id = ? AND (expires_at <= 0 OR expires_at > ?))`, kind, id, time.Now().UnixMilli()).Scan(&valid)
	return valid, err
}

// List returns the stored clients of a kind, newest first, including expired ones.
func (s *Store) List(ctx context.Context, kind string) ([]Client, error) {
	all, _, err := s.listClients(ctx, kind)
	return all, err
}

func (s *Store) listClients(ctx context.Context, kind string) (out []Client, hashes [][]byte, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT id, kind, name, tools, expires_at, created_at, hash FROM client_tokens WHERE kind = ? ORDER BY created_at DESC, id`, kind)
	if err != nil {
		return nil, nil, fmt.Errorf("clients: list clients: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		c, hash, err := scanClient(rows)
		if err != nil {
			return nil, nil, fmt.Errorf("clients: list clients: %w", err)
		}
		out, hashes = append(out, c), append(hashes, hash)
	}
	return out, hashes, rows.Err()
}

func scanClient(r interface{ Scan(...any) error }) (c Client, hash []byte, err error) {
	var tools string
	var expires, created int64
	if err := r.Scan(&c.ID, &c.Kind, &c.Name, &tools, &expires, &created, &hash); err != nil {
		return c, nil, err
	}
	c.CreatedAt = store.Time(created)
	if expires > 0 {
		c.Expires = store.Time(expires)
	}
	return c, hash, json.Unmarshal([]byte(tools), &c.Tools)
}

// Revoke makes a client's token invalid immediately, and forever: a restored backup does not bring
// it back. which is the name or the id.
func (s *Store) Revoke(ctx context.Context, kind, which string) (c Client, err error) {
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		c, _, err = scanClient(tx.QueryRow(`DELETE FROM client_tokens WHERE kind = ?1 AND (id = ?2 OR name COLLATE NOCASE = ?2 COLLATE NOCASE) RETURNING id, kind, name, tools, expires_at, created_at, hash`, kind, which))
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := s.guard.Tombstones().AddTx(tx, tombstone.Client, c.ID, nil); err != nil {
			return err
		}
		return s.guard.AuditTx(tx, guard.Record{Actor: "owner", Action: "client token", Origin: "api", Verdict: "deny", Rule: c.Person(), Outcome: "revoked"})
	})
	if err != nil {
		return c, fmt.Errorf("client %q: %w", which, err)
	}
	return c, nil
}

// RevokeRestoredTx removes a restored token that was revoked after the backup. It reports whether
// the database contains the token.
func RevokeRestoredTx(tx *store.Tx, id string) (found bool, err error) {
	res, err := tx.Exec(`DELETE FROM client_tokens WHERE id = ?`, id)
	if err != nil {
		return false, fmt.Errorf("clients: revoke client: %w", err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}
