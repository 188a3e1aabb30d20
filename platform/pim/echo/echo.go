// Package echo tells entries that Hob has made itself from those of its owner, in
// lists and folders in which both write: what Hob says there must never come back to
// it as something that was said to it.
//
// An entry is known by two things. Its text ends with a mark (Key.Mark): it holds also
// when Hob was cut off right after the entry was made, and nobody can make the one of a
// text that is still to come. And what Hob's tools make carries no mark, so a digest of
// it is kept (Own). Everything else is heard, once (Ear). The channels in which entries
// are messages use it, and the composition root for what tools make.
package echo

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Keeper keeps values between starts. It is that of a channel.
type Keeper interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Set(ctx context.Context, key string, value []byte) error
}

// Key makes marks.
type Key struct{ secret []byte }

const keySize = 32

// OpenKey returns the key that is kept, or makes it.
func OpenKey(ctx context.Context, k Keeper) (Key, error) {
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

// mark is "(hob 1a2b...)": 8 digits that name what was said, and 24 that prove it.
var mark = regexp.MustCompile(`\(hob [0-9a-f]{32}\)`)

// Mark is the last line of an entry that says what id names.
func (k Key) Mark(id string) string { return "(hob " + k.Name(id) + ")" }

// Name is what a mark says: it is found by this word.
func (k Key) Name(id string) string {
	name := sha256.Sum256([]byte(id))
	short := hex.EncodeToString(name[:4])
	m := hmac.New(sha256.New, k.secret)
	m.Write([]byte("hob entry 1\x00" + short))
	return short + hex.EncodeToString(m.Sum(nil)[:12])
}

// Marked reports whether a text carries a mark, whoever has made it: two that listen to
// one list would answer each other for ever.
func Marked(texts ...string) bool { return slices.ContainsFunc(texts, mark.MatchString) }

// With is a text and its mark.
func (k Key) With(text, id string) string {
	return strings.TrimRight(text, "\n ") + "\n\n" + k.Mark(id)
}

// Size is the length of a digest.
const Size = 8

// Digest names an entry, or a text, in a Set.
func Digest(parts ...string) (d [Size]byte) {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	copy(d[:], h.Sum(nil))
	return d
}

// Words are the words of an entry, however a program has wrapped and spaced them since.
func Words(parts ...string) [Size]byte {
	return Digest(strings.Fields(strings.ToLower(strings.Join(parts, " ")))...)
}

// Set is a kept set of digests. Its methods may be called concurrently, and by several
// sets of one name: each adds what it has to what is kept.
type Set struct {
	keep Keeper
	name string
	most int
	mu   *sync.Mutex
}

// lock is one for all sets: they are changed a few times a day.
var lock sync.Mutex //nolint:gochecknoglobals // two sets of one name are one value

// NewSet makes one that is kept under name; the oldest of more than most are forgotten.
// most is at most 8,000, so that it fits into what a Keeper takes.
func NewSet(k Keeper, name string, most int) *Set { return &Set{k, name, min(most, 8000), &lock} }

// All returns what is in it; nil, when it was never written.
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

// Add puts digests in.
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

// Own is the name of the set of what tools have made.
const Own = "own"

// MostOwn is how much of that is remembered.
const MostOwn = 4000
