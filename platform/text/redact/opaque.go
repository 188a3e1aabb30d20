package redact

import (
	"encoding/base64"
	"math"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits for the parts of an address, in characters. A longer part may carry hidden data.
const (
	longPiece = 28  // length of a word that does not look as if a person wrote it
	longHex   = 41  // length of a hexadecimal number; greater than that of a commit hash
	longQuery = 300 // length of query and fragment together
	longLabel = 25  // length of one label of a host name
)

// Opaque returns the part of an address that could carry hidden data: a long random-looking string,
// a very long query, or a host name with a long label. It returns "" if there is no such part or if
// address is not an address. Such a part does not prove an attack, so the caller should ask the
// user.
func Opaque(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	if len(u.RawQuery)+len(u.Fragment) > longQuery {
		return cutPiece(u.RawQuery + u.Fragment)
	}
	for _, label := range strings.Split(u.Hostname(), ".") {
		if len(label) > longLabel && looksRandom(label) {
			return cutPiece(label)
		}
	}
	all := []string{u.Opaque, u.User.String(), u.Fragment}
	all = append(all, strings.Split(u.EscapedPath(), "/")...)
	all = append(all, strings.FieldsFunc(u.RawQuery, func(r rune) bool { return r == '&' || r == '=' || r == ';' })...)
	for _, piece := range all {
		if p, err := url.QueryUnescape(piece); err == nil {
			piece = p
		}
		for _, w := range strings.FieldsFunc(piece, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",:;|/()@", r) }) {
			if looksRandom(w) {
				return cutPiece(w)
			}
		}
	}
	return ""
}

func cutPiece(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}

// looksRandom reports whether w is long and does not look like natural words.
func looksRandom(w string) bool {
	if len(w) < longPiece {
		return false
	}
	if isHexadecimal(w) {
		return len(w) >= longHex && !isMostlyWords(w)
	}
	if isReadableBase64(w) {
		return true
	}
	return !isMostlyWords(w) && entropyPerChar(w) > 3.2
}

func isHexadecimal(w string) bool {
	for i := range len(w) {
		if c := w[i]; !isDigit(c) && c != '-' && !('a' <= c && c <= 'f') && !('A' <= c && c <= 'F') {
			return false
		}
	}
	return true
}

// isReadableBase64 reports whether w is the base64 encoding of readable text.
func isReadableBase64(w string) bool {
	w = strings.TrimRight(w, "=")
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		b, err := enc.DecodeString(w)
		if err != nil || !utf8.Valid(b) {
			continue
		}
		seen := 0
		for _, r := range string(b) {
			if unicode.IsPrint(r) || unicode.IsSpace(r) {
				seen++
			}
		}
		if seen == utf8.RuneCount(b) {
			return true
		}
	}
	return false
}

// isMostlyWords reports whether most of w consists of words: runs of letters with vowels, as in the
// title of an article.
func isMostlyWords(w string) bool {
	read := 0
	for _, part := range strings.FieldsFunc(w, func(r rune) bool { return !unicode.IsLetter(r) }) {
		vowels, turns := 0, 0
		low := strings.ToLower(part)
		for i, r := range part {
			if strings.ContainsRune("aeiouyäöüáéíóúàèìòùâêîôû", unicode.ToLower(r)) || r > 0x24f {
				vowels++
			}
			if i > 0 && unicode.IsUpper(r) {
				turns++
			}
		}
		if n := utf8.RuneCountInString(low); n >= 3 && n <= 24 && vowels*6 >= n && turns*4 <= n {
			read += len(part)
		}
	}
	return read*10 >= len(w)*6
}

// entropyPerChar returns the Shannon entropy of w in bits per character.
func entropyPerChar(w string) float64 {
	var count [256]int
	for i := range len(w) {
		count[w[i]]++
	}
	sum := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(w))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
