package postgres

import (
	"errors"
	"strings"
)

// tokenKind is the kind of a token of SQL.
type tokenKind byte

const (
	wordToken   tokenKind = 'w' // identifier or keyword
	quotedToken tokenKind = 'q' // "identifier"
	stringToken tokenKind = 's'
	blobToken   tokenKind = 'b' // x'00'
	numberToken tokenKind = 'n'
	paramToken  tokenKind = 'p' // ? or ?1
	otherToken  tokenKind = 'o' // one character of an operator or of punctuation
)

// token is a token of SQL with the white space before it. Comments count as white space.
type token struct {
	kind tokenKind
	gap  string
	text string
}

// isWord reports whether the token is the keyword or identifier w, in any case.
func (t token) isWord(w string) bool { return t.kind == wordToken && strings.EqualFold(t.text, w) }

// tokens is a part of a statement. tokenAt returns an empty token outside of it.
type tokens []token

func (ts tokens) tokenAt(i int) token {
	if i < 0 || i >= len(ts) {
		return token{}
	}
	return ts[i]
}

// matchWords reports whether the words stand at index i.
func (ts tokens) matchWords(i int, words ...string) bool {
	for n, w := range words {
		if !ts.tokenAt(i + n).isWord(w) {
			return false
		}
	}
	return true
}

// String returns the text. It puts nothing between tokens that had no white space between them.
func (ts tokens) String() string {
	var b strings.Builder
	for i, t := range ts {
		if i > 0 {
			b.WriteString(t.gap)
		}
		b.WriteString(t.text)
	}
	return b.String()
}

// closingParen returns the index of the parenthesis that closes the one at index i, or -1.
func (ts tokens) closingParen(i int) int {
	depth := 0
	for ; i < len(ts); i++ {
		switch ts[i].text {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// openingParen returns the index of the parenthesis that the one at index i closes, or -1.
func (ts tokens) openingParen(i int) int {
	depth := 0
	for ; i >= 0; i-- {
		switch ts[i].text {
		case ")":
			depth++
		case "(":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

var errUnclosed = errors.New("translate SQL: unclosed quotation")

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// splitTokens splits SQL into tokens (https://www.sqlite.org/lang_expr.html).
func splitTokens(q string) (out tokens, err error) {
	gap := ""
	for i := 0; i < len(q); {
		start := i
		kind := otherToken
		switch c := q[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			gap, i = " ", i+1
			continue
		case strings.HasPrefix(q[i:], "--"):
			n := strings.IndexByte(q[i:], '\n')
			if n < 0 {
				return out, nil
			}
			gap, i = " ", i+n
			continue
		case strings.HasPrefix(q[i:], "/*"):
			n := strings.Index(q[i:], "*/")
			if n < 0 {
				return nil, errUnclosed
			}
			gap, i = " ", i+n+2
			continue
		case c == '\'' || c == '"':
			if kind = stringToken; c == '"' {
				kind = quotedToken
			}
			if i = endOfQuotation(q, i); i < 0 {
				return nil, errUnclosed
			}
		case (c == 'x' || c == 'X') && strings.HasPrefix(q[i+1:], "'"):
			kind = blobToken
			if i = endOfQuotation(q, i+1); i < 0 {
				return nil, errUnclosed
			}
		case c == '?':
			kind = paramToken
			for i++; i < len(q) && q[i] >= '0' && q[i] <= '9'; i++ {
			}
		case c >= '0' && c <= '9':
			kind = numberToken
			for i++; i < len(q) && (isWordByte(q[i]) || q[i] == '.'); i++ {
			}
		case isWordByte(c):
			kind = wordToken
			for i++; i < len(q) && isWordByte(q[i]); i++ {
			}
		default:
			i++
		}
		out = append(out, token{kind, gap, q[start:i]})
		gap = ""
	}
	return out, nil
}

// endOfQuotation returns the index after the quotation that begins at i, or -1. A doubled quotation
// mark stands for itself.
func endOfQuotation(q string, i int) int {
	mark := q[i]
	for i++; i < len(q); i++ {
		if q[i] != mark {
			continue
		}
		if i+1 < len(q) && q[i+1] == mark {
			i++
			continue
		}
		return i + 1
	}
	return -1
}
