// Package listfeed distinguishes entries that Hob wrote from entries of the user in shared lists
// and folders, so that Hob never receives its own output as input.
//
// Two checks identify Hob's entries. The text of an entry that a channel wrote ends with a mark
// (Key.Mark), which works even if Hob stops right after writing and which cannot be forged for
// future text. Entries that tools wrote have no mark; Hob stores a digest of each one (Own). All
// other entries are received once (Poller). The list and note channels use the package, and the
// composition root uses it for entries of tools.
package listfeed

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"hob/platform/text/lazyregexp"
)

// StateStore stores values between restarts. The channel provides it.
type StateStore interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Set(ctx context.Context, key string, value []byte) error
}

// Key creates the marks of Hob's entries.
type Key struct{ secret []byte }

const keySize = 32

// OpenKey returns the stored key, or creates it.
func OpenKey(ctx context.Context, k StateStore) (Key, error) {
	secret, err := k.Get(ctx, "mark")
	if err != nil {
		return Key{}, err
	}
	if len(secret) == keySize {
		return Key{secret}, nil
	}
	secret = make([]byte, keySize)
	_, _ = rand.Read(secret) // never fails (crypto/rand)
	return Key{secret}, k.Set(ctx, "mark", secret)
}

// mark matches "(hob 1a2b...)": 8 digits identify the entry and 24 authenticate
// it.
var mark = lazyregexp.New(`\(hob [0-9a-f]{32}\)`)

// Mark returns the mark of the entry with the given id, which is the last line of its text.
func (k Key) Mark(id string) string { return "(hob " + k.Name(id) + ")" }

// Name returns the text inside a mark, which can be searched for.
func (k Key) Name(id string) string {
	name := sha256.Sum256([]byte(id))
	short := hex.EncodeToString(name[:4])
	m := hmac.New(sha256.New, k.secret)
	m.Write([]byte("hob entry 1\x00" + short))
	return short + hex.EncodeToString(m.Sum(nil)[:12])
}

// Marked reports whether one of texts contains a mark, including a mark of another installation,
// because two assistants on one list would otherwise answer each other endlessly.
func Marked(texts ...string) bool { return slices.ContainsFunc(texts, mark.MatchString) }

// With returns text followed by its mark.
func (k Key) With(text, id string) string {
	return strings.TrimRight(text, "\n ") + "\n\n" + k.Mark(id)
}

// Size is the length of a digest, in bytes.
const Size = 8

// Digest returns the digest under which a Set stores an entry or text.
func Digest(parts ...string) (d [Size]byte) {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	copy(d[:], h.Sum(nil))
	return d
}

// Words returns the digest of the words of an entry. It ignores case and whitespace, because
// programs change whitespace.
func Words(parts ...string) [Size]byte {
	return Digest(strings.Fields(strings.ToLower(strings.Join(parts, " ")))...)
}

// Set is a persistent set of digests. Its methods may be called concurrently, even by several sets
// with the same name: each adds its entries to the stored set.
type Set struct {
	keep StateStore
	name string
	most int
	mu   *sync.Mutex
}

// lock is shared by all sets, because they rarely change
var lock sync.Mutex //nolint:gochecknoglobals // sets with the same name share one stored value

// NewSet returns a set stored under name. It drops the oldest entries if there are more than most.
// most must be at most 8,000, so that the set fits into a StateStore value.
func NewSet(k StateStore, name string, most int) *Set { return &Set{k, name, min(most, 8000), &lock} }

// All returns the members; nil if the set was never written.
func (s *Set) All(ctx context.Context) (map[[Size]byte]bool, error) {
	b, err := s.keep.Get(ctx, s.name)
	if err != nil || b == nil {
		return nil, err
	}
	out := map[[Size]byte]bool{}
	for c := range slices.Chunk(b, Size) {
		if len(c) == Size {
			out[[Size]byte(c)] = true
		}
	}
	return out, nil
}

// Add adds digests to the set.
func (s *Set) Add(ctx context.Context, add ...[Size]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.keep.Get(ctx, s.name)
	if err != nil {
		return err
	}
	have := map[[Size]byte]bool{}
	for c := range slices.Chunk(b, Size) {
		if len(c) == Size {
			have[[Size]byte(c)] = true
		}
	}
	out := append([]byte{}, b...)
	for _, d := range add {
		if !have[d] {
			have[d] = true
			out = append(out, d[:]...)
		}
	}
	if over := len(out)/Size - s.most; over > 0 {
		out = out[over*Size:]
	}
	return s.keep.Set(ctx, s.name, out)
}

// Own is the name of the set of entries written by tools.
const Own = "own"

// MostOwn is the maximum number of stored digests.
const MostOwn = 4000
