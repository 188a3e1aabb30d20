package mime

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/emersion/go-message/charset"
	"golang.org/x/text/encoding/charmap"
)

// DecodeWords decodes the encoded words of RFC 2047, even in places where the RFC does not allow
// them. It decodes bytes that are not UTF-8 as Latin-1, the most common encoding of such bytes.
func DecodeWords(s string) string {
	if !utf8.ValidString(s) {
		if latin, err := charmap.ISO8859_1.NewDecoder().String(s); err == nil {
			s = latin
		}
	}
	if !strings.Contains(s, "=?") {
		return s
	}
	d := mime.WordDecoder{CharsetReader: charset.Reader}
	if out, err := d.DecodeHeader(s); err == nil {
		return out
	}
	return s
}

// Open returns a reader for the decoded body of a part. It never returns more bytes than the
// encoded body has, and stops at an invalid encoding.
func (p Part) Open() io.Reader {
	switch p.Encoding {
	case "base64":
		return &lenientReader{r: base64.NewDecoder(base64.StdEncoding, &base64Filter{b: p.body})}
	case "quoted-printable":
		return &quotedPrintable{rest: p.body}
	}
	return bytes.NewReader(p.body)
}

// Bytes returns the first n bytes of the decoded body.
func (p Part) Bytes(n int64) []byte {
	b, _ := io.ReadAll(io.LimitReader(p.Open(), n)) // if an error occurs, keep the bytes read so far
	return b
}

// Text returns the first n bytes of the body as text. The text is UTF-8 if the character set is
// known.
func (p Part) Text(n int64) string {
	b := p.Bytes(n)
	set := p.Params["charset"]
	if set != "" && !strings.EqualFold(set, "utf-8") && !strings.EqualFold(set, "us-ascii") {
		if r, err := charset.Reader(set, bytes.NewReader(b)); err == nil {
			if out, err := io.ReadAll(io.LimitReader(r, 3*n)); err == nil {
				return string(out)
			}
		}
	}
	if !utf8.Valid(b) && !cutRune(b) {
		if latin, err := charmap.Windows1252.NewDecoder().Bytes(b); err == nil {
			return string(latin)
		}
	}
	return string(b)
}

// cutRune reports whether b is valid UTF-8 except for a truncated last character.
func cutRune(b []byte) bool {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if !utf8.FullRune(b[len(b)-i:]) && utf8.Valid(b[:len(b)-i]) {
			return true
		}
	}
	return false
}

// base64Filter passes on only the Base64 characters before the padding (RFC 2045, 6.8).
type base64Filter struct{ b []byte }

func (l *base64Filter) Read(p []byte) (n int, err error) {
	for n < len(p) && len(l.b) > 0 {
		c := l.b[0]
		l.b = l.b[1:]
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '+', c == '/', c == '=':
			p[n] = c
			n++
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// lenientReader reports a decoding error as the end of the input.
type lenientReader struct{ r io.Reader }

func (f *lenientReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// quotedPrintable decodes quoted-printable (RFC 2045, 6.7) line by line. Lines may have any length.
// Invalid escapes are kept as text.
type quotedPrintable struct{ rest, line []byte }

func (q *quotedPrintable) Read(p []byte) (n int, err error) {
	for len(q.line) == 0 {
		if len(q.rest) == 0 {
			return 0, io.EOF
		}
		q.decodeNextLine()
	}
	n = copy(p, q.line)
	q.line = q.line[n:]
	return n, nil
}

func (q *quotedPrintable) decodeNextLine() {
	line, end := q.rest, ""
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line, end = line[:i], "\n"
		if i > 0 && line[i-1] == '\r' {
			line, end = line[:i-1], "\r\n"
		}
		q.rest = q.rest[i+1:]
	} else {
		q.rest = nil
	}
	line = bytes.TrimRight(line, " \t")
	if cut, soft := bytes.CutSuffix(line, []byte("=")); soft {
		line, end = cut, ""
	}
	out := make([]byte, 0, len(line)+len(end))
	for i := 0; i < len(line); i++ {
		if line[i] == '=' && i+2 < len(line) {
			if hi, lo := hexValue(line[i+1]), hexValue(line[i+2]); hi >= 0 && lo >= 0 {
				out = append(out, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		out = append(out, line[i])
	}
	q.line = append(out, end...)
}

// hexValue returns the value of a hexadecimal digit, or -1 for other bytes.
func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}
