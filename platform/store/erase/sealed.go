package erase

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"hob/platform/store"
)

// Sealed is an Erasure in which keyed digests replace all text. It can be stored permanently
// outside the database, because it contains ids but no deleted text. An Opener finds the original
// text in a restored database.
type Sealed struct {
	Facts  []string `json:"facts,omitempty"`
	Events []string `json:"events,omitempty"`
	Calls  []string `json:"calls,omitempty"`
	Realm  string   `json:"realm,omitempty"`
	// Docs, Sources and Sessions contain digests of complete values, because the values may contain
	// names.
	Docs     []Doc          `json:"docs,omitempty"` // Ref is a digest
	Sources  []string       `json:"sources,omitempty"`
	Sessions []string       `json:"sessions,omitempty"`
	Phrases  []SealedPhrase `json:"phrases,omitempty"`
}

// SealedPhrase identifies a phrase within a longer text.
type SealedPhrase struct {
	Len    int    `json:"len"`    // bytes of the folded phrase
	Roll   uint64 `json:"roll"`   // rolling hash with a secret base, to find candidates
	Digest string `json:"digest"` // HMAC-SHA-256 of the folded phrase, to confirm a candidate
}

// Seal returns the Erasure with its text replaced by digests that are computed with the key.
func (e *Erasure) Seal(key []byte) Sealed {
	s := Sealed{Facts: e.Facts, Events: e.Events, Calls: e.Calls, Realm: e.Realm}
	for _, d := range e.Docs {
		s.Docs = append(s.Docs, Doc{Kind: d.Kind, Ref: sealDigest(key, []byte(d.Ref))})
	}
	for _, v := range e.Sources {
		s.Sources = append(s.Sources, sealDigest(key, []byte(v)))
	}
	for _, v := range e.Sessions {
		s.Sessions = append(s.Sessions, sealDigest(key, []byte(v)))
	}
	base := rollingBase(key)
	for _, p := range e.Phrases {
		if f := foldPhrase(p); f != "" {
			s.Phrases = append(s.Phrases, SealedPhrase{Len: len(f), Roll: rollingHash(base, []byte(f)), Digest: sealDigest(key, []byte(f))})
		}
	}
	return s
}

func foldPhrase(p string) string { return strings.TrimSpace(string(foldBytes([]byte(p), nil).text)) }

func sealDigest(key, text []byte) string {
	m := hmac.New(sha256.New, key)
	m.Write(text)
	return hex.EncodeToString(m.Sum(nil))
}

// The rolling hash is a polynomial modulo the Mersenne prime 2^61-1 (Rabin and Karp, 1987).
const rollingPrime = 1<<61 - 1

func rollingBase(key []byte) uint64 {
	m := hmac.New(sha256.New, key)
	m.Write([]byte("rolling base"))
	return binary.BigEndian.Uint64(m.Sum(nil))%(rollingPrime-256) + 256
}

func mulMod(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	r := lo&rollingPrime + (lo>>61 | hi<<3)
	if r >= rollingPrime {
		r -= rollingPrime
	}
	return r
}

func addMod(a, b uint64) uint64 {
	if a += b; a >= rollingPrime {
		a -= rollingPrime
	}
	return a
}

func rollingHash(base uint64, b []byte) (h uint64) {
	for _, c := range b {
		h = addMod(mulMod(h, base), uint64(c))
	}
	return h
}

// Opener recovers the text of sealed erasures from the data of a database. Pass all data to Read,
// then call Open. An Opener is not safe for concurrent use.
type Opener struct {
	key     []byte
	base    uint64
	tops    map[int]uint64              // weight of the first byte of a window, by the window's length
	phrases map[int]map[uint64]struct{} // rolling hashes by the length of their phrases
	wanted  map[string]bool             // digests of the phrases to find
	values  map[string]bool             // digests of complete values
	found   map[string]string           // found text by its digest
}

// maxSealedValue is the maximum length in bytes of a value that Opener compares completely.
const maxSealedValue = 4096

// NewOpener returns an Opener for erasures that were sealed with the key.
func NewOpener(key []byte, sealed []Sealed) *Opener {
	o := &Opener{key: key, base: rollingBase(key), tops: map[int]uint64{}, phrases: map[int]map[uint64]struct{}{}, wanted: map[string]bool{}, values: map[string]bool{}, found: map[string]string{}}
	for _, s := range sealed {
		for _, d := range s.Docs {
			o.values[d.Ref] = true
		}
		for _, v := range slices.Concat(s.Sources, s.Sessions) {
			o.values[v] = true
		}
		for _, p := range s.Phrases {
			if p.Len <= 0 {
				continue
			}
			if o.phrases[p.Len] == nil {
				o.phrases[p.Len] = map[uint64]struct{}{}
				top := uint64(1)
				for range p.Len - 1 {
					top = mulMod(top, o.base)
				}
				o.tops[p.Len] = top
			}
			o.phrases[p.Len][p.Roll] = struct{}{}
			o.wanted[p.Digest] = true
		}
	}
	return o
}

// Read searches one value, also in its unescaped forms, but not inside base64 or hexadecimal data.
func (o *Opener) Read(b []byte) {
	if len(o.values) > 0 && len(b) <= maxSealedValue {
		if d := sealDigest(o.key, b); o.values[d] {
			o.found[d] = string(b)
		}
	}
	if len(o.phrases) == 0 || len(b) == 0 {
		return
	}
	views, _ := decodedViews(b)
	for _, v := range views {
		text := foldBytes(v.text, v.at).text
		for n, hashes := range o.phrases {
			o.readWindows(text, n, hashes)
		}
	}
}

// readWindows searches every window of n bytes.
func (o *Opener) readWindows(text []byte, n int, hashes map[uint64]struct{}) {
	if len(text) < n {
		return
	}
	h, top := rollingHash(o.base, text[:n]), o.tops[n]
	for i := 0; ; i++ {
		if _, ok := hashes[h]; ok {
			w := text[i : i+n]
			if d := sealDigest(o.key, w); o.wanted[d] {
				o.found[d] = string(w)
			}
		}
		if i+n >= len(text) {
			return
		}
		h = addMod(h, rollingPrime-mulMod(uint64(text[i]), top))
		h = addMod(mulMod(h, o.base), uint64(text[i+n]))
	}
}

// Open returns the Erasure with the part of the original text that Read has found. The rest does not
// occur in the data.
func (o *Opener) Open(id string, s Sealed) Erasure {
	e := Erasure{ID: id, Facts: s.Facts, Events: s.Events, Calls: s.Calls, Realm: s.Realm}
	add := func(to *[]string, digest string) {
		if v, ok := o.found[digest]; ok {
			*to = append(*to, v)
		}
	}
	for _, d := range s.Docs {
		if v, ok := o.found[d.Ref]; ok {
			e.Docs = append(e.Docs, Doc{Kind: d.Kind, Ref: v})
		}
	}
	for _, v := range s.Sources {
		add(&e.Sources, v)
	}
	for _, v := range s.Sessions {
		add(&e.Sessions, v)
	}
	for _, p := range s.Phrases {
		add(&e.Phrases, p.Digest)
	}
	return e
}

// ReadTables passes every text and blob of the database to the function read.
func ReadTables(q store.Querier, read func([]byte)) error {
	var names []string
	rows, err := q.Query(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	if err != nil {
		return fmt.Errorf("erase: list tables: %w", err)
	}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return fmt.Errorf("erase: list tables: %w", err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("erase: list tables: %w", err)
	}
	for _, name := range names {
		if err := readTable(q, name, read); err != nil {
			return fmt.Errorf("erase: read table %s: %w", name, err)
		}
	}
	return nil
}

func readTable(q store.Querier, name string, read func([]byte)) error {
	rows, err := q.Query(`SELECT * FROM "` + strings.ReplaceAll(name, `"`, `""`) + `"`)
	if err != nil {
		return err
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return err
	}
	vals, to := make([]any, len(cols)), make([]any, len(cols))
	for i := range vals {
		to[i] = &vals[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		for _, v := range vals {
			switch v := v.(type) {
			case string:
				read([]byte(v))
			case []byte:
				read(v)
			}
		}
	}
	return rows.Err()
}
