package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"hob/platform/text/sorting"
)

// minPattern is the minimum length of the encoded form of a secret that is searched for, in bytes.
const minPattern = 6

// matcher finds many patterns in one pass. It skips a position quickly if no pattern begins with
// the two bytes there.
type matcher struct {
	patterns []string // sorted
	longest  int
	begins   [1 << 16 / 64]uint64 // bit set of the byte pairs with which patterns begin
	by       map[[4]byte][]string // patterns by their first four bytes, the longest first
	folded   map[[4]byte][]string // lower-case patterns by their first four bytes, for Holds
}

func newMatcher(values []string) *matcher {
	m := &matcher{}
	if len(values) == 0 {
		return m
	}
	m.by, m.folded = map[[4]byte][]string{}, map[[4]byte][]string{}
	for _, v := range values {
		m.patterns = append(m.patterns, writtenForms(v)...)
	}
	slices.Sort(m.patterns)
	m.patterns = slices.Compact(m.patterns)
	for _, p := range m.patterns {
		m.longest = max(m.longest, len(p))
		pair := int(p[0])<<8 | int(p[1])
		m.begins[pair/64] |= 1 << (pair % 64)
		m.by[[4]byte([]byte(p[:4]))] = append(m.by[[4]byte([]byte(p[:4]))], p)
		m.addFolded(strings.ToLower(p))
		if b := alphanumericLower(p); len(b) >= minBare {
			m.addFolded(b)
		}
	}
	for _, list := range m.by {
		sorting.ByFunc(list, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	}
	return m
}

func (m *matcher) addFolded(p string) {
	if len(p) >= 4 {
		key := [4]byte([]byte(p[:4]))
		m.folded[key] = append(m.folded[key], p)
	}
}

// minBare is the minimum length of a secret that is also searched for without its punctuation, in
// bytes.
const minBare = 10

// alphanumericLower returns the letters and digits of s, in lower case.
func alphanumericLower(s string) string {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case 'A' <= c && c <= 'Z':
			b = append(b, c+'a'-'A')
		case isDigit(c), 'a' <= c && c <= 'z':
			b = append(b, c)
		}
	}
	return string(b)
}

// writtenForms returns the encodings of a secret that are searched for.
func writtenForms(v string) []string {
	out := []string{v, hex.EncodeToString([]byte(v)), strings.ToUpper(hex.EncodeToString([]byte(v))), url.QueryEscape(v), url.PathEscape(v)}
	if q := strconv.Quote(v); len(q) > 2 {
		out = append(out, q[1:len(q)-1])
	}
	out = append(out, escapeHTML(v), formatBytes(v, "%%%02X"), formatBytes(v, "%%%02x"))
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for shift := range 3 { // number of bytes that precede the secret in its group of three
			out = append(out, stableBase64(enc, v, shift))
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return len(s) < minPattern })
}

// stableBase64 returns the part of the base64 encoding that depends only on v, if shift bytes
// precede v in its group of three.
func stableBase64(enc *base64.Encoding, v string, shift int) string {
	all := enc.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, shift), v...))
	from := []int{0, 2, 3}[shift]
	to := (shift + len(v)) * 8 / 6
	return all[min(from, len(all)):max(min(from, len(all)), min(to, len(all)))]
}

func formatBytes(v, format string) string {
	var b strings.Builder
	for i := range len(v) {
		fmt.Fprintf(&b, format, v[i])
	}
	return b.String()
}

func escapeHTML(v string) string {
	return strings.NewReplacer("&", `\u0026`, "<", `\u003c`, ">", `\u003e`).Replace(v)
}

// patternAt returns the longest pattern that begins at s[i].
func (m *matcher) patternAt(s string, i int) string {
	if i+4 > len(s) {
		return ""
	}
	pair := int(s[i])<<8 | int(s[i+1])
	if m.begins[pair/64]&(1<<(pair%64)) == 0 {
		return ""
	}
	for _, p := range m.by[[4]byte{s[i], s[i+1], s[i+2], s[i+3]}] {
		if strings.HasPrefix(s[i:], p) {
			return p
		}
	}
	return ""
}

// replaceAll replaces all patterns in s by Mark.
func (m *matcher) replaceAll(s string) string {
	if len(m.patterns) == 0 || len(s) < minPattern {
		return s
	}
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); i++ {
		p := m.patternAt(s, i)
		if p == "" {
			continue
		}
		b.WriteString(s[done:i])
		b.WriteString(Mark)
		done = i + len(p)
		i = done - 1
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

// containsPattern reports whether s contains a pattern, ignoring case.
func (m *matcher) containsPattern(s string) bool {
	s = strings.ToLower(s)
	for i := 0; i+4 <= len(s); i++ {
		for _, p := range m.folded[[4]byte{s[i], s[i+1], s[i+2], s[i+3]}] {
			if strings.HasPrefix(s[i:], p) {
				return true
			}
		}
	}
	return false
}

// openSuffixLen returns the length of the suffix of s that may be the start of a pattern.
func (m *matcher) openSuffixLen(s string) int {
	for n := min(len(s), m.longest-1); n > 0; n-- {
		tail := s[len(s)-n:]
		i, _ := slices.BinarySearch(m.patterns, tail)
		if i < len(m.patterns) && strings.HasPrefix(m.patterns[i], tail) {
			return n
		}
	}
	return 0
}
