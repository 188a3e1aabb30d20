package erase

import (
	"bytes"
	"encoding/json"
	"sort"
	"strings"
)

// The kinds of JSON tokens that may contain text to erase.
const (
	ofString = iota // the text between the quotes
	ofNumber
	ofWord // true, false, null
)

type token struct{ kind, from, to int }

// alignToJSON adjusts spans so that the text is still valid JSON after they are replaced. A span
// within a string stays between the quotes, a number is replaced completely, and all other tokens
// remain unchanged.
func alignToJSON(b []byte, found []span) []span {
	head := bytes.TrimLeft(b, " \t\r\n")
	if len(found) == 0 || len(head) == 0 || head[0] != '{' && head[0] != '[' || !json.Valid(b) {
		return found
	}
	list := jsonTokens(b)
	var out []span
	for _, f := range found {
		first := sort.Search(len(list), func(i int) bool { return list[i].to > f.from })
		for _, t := range list[first:] {
			if t.from >= f.to {
				break
			}
			switch t.kind {
			case ofNumber:
				out = append(out, span{t.from, t.to, "0"})
			case ofString:
				out = append(out, inString(b, t, f))
			}
		}
	}
	return out
}

// inString limits a span to a string token and extends it so that it does not split an escape
// sequence.
func inString(b []byte, t token, f span) span {
	from, _ := escapeBounds(b, t, max(t.from, f.from))
	_, to := escapeBounds(b, t, min(t.to, f.to))
	if strings.ContainsFunc(f.with, func(r rune) bool { return r < ' ' }) {
		f.with = Mark
	}
	return span{from, to, f.with}
}

// escapeBounds returns the bounds of the escape sequence around a position, or the
// position itself.
func escapeBounds(b []byte, t token, at int) (from, to int) {
	for i := at - 1; i >= max(t.from, at-5); i-- {
		if b[i] != '\\' {
			continue
		}
		n := 1 // after an even number of backslashes, the next character is not escaped
		for i-n >= t.from && b[i-n] == '\\' {
			n++
		}
		if n%2 == 0 {
			continue
		}
		length := 2
		if b[i+1] == 'u' {
			length = 6
		}
		if i+length > at {
			return i, i + length
		}
	}
	return at, at
}

// jsonTokens returns the tokens of valid JSON.
func jsonTokens(b []byte) (out []token) {
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			end := i + 1
			for b[end] != '"' {
				if b[end] == '\\' {
					end++
				}
				end++
			}
			out = append(out, token{ofString, i + 1, end})
			i = end + 1
		case c == '-' || c >= '0' && c <= '9':
			i = addToken(b, i, "+-.eE0123456789", ofNumber, &out)
		case c >= 'a' && c <= 'z':
			i = addToken(b, i, "aeflnrstu", ofWord, &out)
		default:
			i++
		}
	}
	return out
}

// addToken adds the token that starts at from and consists of the characters in signs. It returns
// the end of the token.
func addToken(b []byte, from int, signs string, kind int, out *[]token) int {
	to := from
	for to < len(b) && strings.IndexByte(signs, b[to]) >= 0 {
		to++
	}
	*out = append(*out, token{kind, from, to})
	return to
}
