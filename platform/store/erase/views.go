package erase

import (
	"bytes"
	"html"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decodedView is text in which one kind of escape is decoded, with the original position of each
// byte. at has an additional entry for the end of the text.
type decodedView struct {
	text []byte
	at   []int // nil if the view is the text itself
}

// maxLayers is the maximum number of layers of backslash escapes that are decoded. For example, the
// arguments of a call are JSON within JSON within JSON.
const maxLayers = 5

// decodedViews returns the text and its decoded forms. The first views, whose number is layers,
// differ only in the number of decoded backslash escapes.
func decodedViews(b []byte) (out []decodedView, layers int) {
	out = []decodedView{{text: b}}
	for range maxLayers {
		v, ok := out[len(out)-1].decodeEscapes('\\', decodeBackslash)
		if !ok {
			break
		}
		out = append(out, v)
	}
	layers = len(out)
	for _, v := range out {
		for _, e := range []struct {
			sign byte
			undo func([]byte) ([]byte, int)
		}{{'%', decodePercent}, {'=', decodeQuotedPrintable}, {'&', decodeEntity}} {
			w, ok := v.decodeEscapes(e.sign, e.undo)
			if !ok {
				continue
			}
			out = append(out, w)
			if w, ok = w.decodeEscapes(e.sign, e.undo); ok { // "%2520", "&amp;amp;"
				out = append(out, w)
			}
		}
	}
	return out, layers
}

// decodeEscapes returns a view in which the escapes that start with sign are decoded. escape
// returns the meaning and the length of the escape at the start of its argument, or the length 0 if
// there is no escape.
func (v decodedView) decodeEscapes(sign byte, escape func([]byte) ([]byte, int)) (decodedView, bool) {
	signs := string(rune(sign))
	if sign == '%' { // "+" means a space in form data
		signs = "%+"
	}
	if !bytes.ContainsAny(v.text, signs) {
		return v, false
	}
	w := decodedView{text: make([]byte, 0, len(v.text)), at: make([]int, 0, len(v.text)+1)}
	any := false
	for i := 0; i < len(v.text); {
		if strings.IndexByte(signs, v.text[i]) >= 0 {
			if means, n := escape(v.text[i:]); n > 0 {
				any = true
				for _, c := range means {
					w.text = append(w.text, c)
					w.at = append(w.at, originAt(v.at, i))
				}
				i += n
				continue
			}
		}
		w.text = append(w.text, v.text[i])
		w.at = append(w.at, originAt(v.at, i))
		i++
	}
	w.at = append(w.at, originAt(v.at, len(v.text)))
	return w, any
}

func decodeBackslash(b []byte) ([]byte, int) {
	if len(b) < 2 {
		return nil, 0
	}
	switch b[1] {
	case '"', '\\', '/', '\'':
		return b[1:2], 2
	case 'n', 'r', 't', 'b', 'f', 'v':
		return []byte{' '}, 2
	case 'x':
		if c, ok := parseHex(b, 2, 2); ok {
			return []byte{byte(c)}, 4
		}
	case 'u':
		c, ok := parseHex(b, 2, 4)
		if !ok {
			return nil, 0
		}
		if utf16.IsSurrogate(rune(c)) && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
			if d, ok := parseHex(b, 8, 4); ok {
				return utf8.AppendRune(nil, utf16.DecodeRune(rune(c), rune(d))), 12
			}
		}
		return utf8.AppendRune(nil, rune(c)), 6
	case 'U':
		if c, ok := parseHex(b, 2, 8); ok {
			return utf8.AppendRune(nil, rune(c)), 10
		}
	}
	return nil, 0
}

// parseHex reads n hexadecimal digits.
func parseHex(b []byte, from, n int) (uint64, bool) {
	if len(b) < from+n {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[from:from+n]), 16, 32)
	return v, err == nil
}

func decodePercent(b []byte) ([]byte, int) {
	if b[0] == '+' {
		return []byte{' '}, 1
	}
	if c, ok := parseHex(b, 1, 2); ok {
		return []byte{byte(c)}, 3
	}
	return nil, 0
}

// decodeQuotedPrintable decodes quoted-printable (RFC 2045, 6.7).
func decodeQuotedPrintable(b []byte) ([]byte, int) {
	switch {
	case bytes.HasPrefix(b, []byte("=\r\n")):
		return nil, 3
	case bytes.HasPrefix(b, []byte("=\n")):
		return nil, 2
	}
	return decodePercent(b)
}

// decodeEntity decodes an HTML character reference.
func decodeEntity(b []byte) ([]byte, int) {
	end := bytes.IndexByte(b[:min(len(b), 34)], ';')
	if end < 0 {
		return nil, 0
	}
	means := html.UnescapeString(string(b[:end+1]))
	if means == string(b[:end+1]) {
		return nil, 0
	}
	return []byte(means), end + 1
}
