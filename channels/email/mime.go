package email

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/quotedprintable"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/emersion/go-message/charset"
	"golang.org/x/text/encoding/charmap"
)

// The bounds of a mail's structure.
const (
	maxParts = 100
	maxDepth = 20
)

// entity is one part of a mail that has no parts itself (RFC 2045). Mails are often
// written wrong; what can be understood of one is.
type entity struct {
	kind        string            // in lower case: "text/plain"
	params      map[string]string // of the kind
	encoding    string            // "base64", "quoted-printable" or "" for all others
	disposition string            // "inline", "attachment" or ""
	name        string            // of the file; "" when it has none
	forms       int               // of which parts in several forms it is one; 0 of none
	body        []byte            // encoded
}

// entities takes a mail apart, or as much of it as is there.
func entities(raw []byte) (out []entity) {
	apart(raw, entity{}, 0, &out)
	return out
}

func apart(raw []byte, in entity, depth int, out *[]entity) {
	if len(*out) >= maxParts {
		return
	}
	e, boundary := entityOf(raw, in.kind == "multipart/digest")
	if e.forms = in.forms; e.kind == "multipart/alternative" {
		e.forms = len(*out) + 1
	}
	if boundary == "" || depth == maxDepth {
		*out = append(*out, e)
		return
	}
	pieces := partsOf(e.body, boundary)
	if len(pieces) == 0 { // it claims to have parts, and has none
		e.kind = "text/plain"
		*out = append(*out, e)
		return
	}
	for _, piece := range pieces {
		apart(piece, e, depth+1, out)
	}
}

// entityOf reads the header of a part; boundary divides its parts, if it has some.
func entityOf(raw []byte, digest bool) (e entity, boundary string) {
	head, body := divide(raw)
	fields, _ := readFields(head)
	e.body = body
	e.kind, e.params = mediaType(first(fields, "content-type"))
	switch {
	case e.kind != "":
	case digest: // RFC 2046, 5.1.5
		e.kind = "message/rfc822"
	default:
		e.kind = "text/plain"
	}
	switch word := strings.ToLower(strings.Trim(strings.TrimSpace(first(fields, "content-transfer-encoding")), "\"';")); word {
	case "base64", "quoted-printable":
		e.encoding = word
	}
	var params map[string]string
	e.disposition, params = mediaType(first(fields, "content-disposition"))
	for _, p := range []map[string]string{params, e.params} {
		for _, key := range []string{"filename", "name"} {
			if e.name == "" {
				e.name = unword(p[key])
			}
		}
	}
	if strings.HasPrefix(e.kind, "multipart/") {
		boundary = strings.TrimRight(e.params["boundary"], " ")
	}
	return e, boundary
}

// divide finds the end of a header. A part whose first line is none of a header has no
// header.
func divide(raw []byte) (head, body []byte) {
	rest := raw
	for len(rest) > 0 {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		if len(bytes.TrimRight(line, "\r")) == 0 {
			return raw[:len(raw)-len(rest)], after
		}
		rest = after
	}
	return raw, nil
}

// partsOf divides a body (RFC 2046, 5.1.1). The end of the last part may be missing.
func partsOf(body []byte, boundary string) (out [][]byte) {
	mark := []byte("--" + boundary)
	from := -1
	at := 0
	for len(body[at:]) > 0 && len(out) < maxParts {
		end := len(body)
		next := end
		if i := bytes.IndexByte(body[at:], '\n'); i >= 0 {
			end, next = at+i, at+i+1
		}
		line := bytes.TrimRight(body[at:end], " \t\r")
		if rest, ok := bytes.CutPrefix(line, mark); ok && (len(rest) == 0 || string(rest) == "--") {
			if from >= 0 {
				out = append(out, bytes.TrimSuffix(bytes.TrimSuffix(body[from:max(from, at)], []byte("\n")), []byte("\r")))
			}
			if from = next; len(rest) > 0 {
				return out
			}
		}
		at = next
	}
	if from >= 0 && from < len(body) && len(out) < maxParts {
		out = append(out, body[from:])
	}
	return out
}

// loose finds the parameters of a value that breaks the rules: without quotes where
// they are needed, or with those of only one side.
var loose = regexp.MustCompile(`(?i)(?:^|[;\s])(boundary|charset|name|filename|method|format|delsp)\s*=\s*("[^"]*"|'[^']*'|[^;\s]+)`)

// mediaType reads a Content-Type or Content-Disposition.
func mediaType(value string) (kind string, params map[string]string) {
	if len(value) > 8<<10 {
		return "", nil
	}
	kind, params, err := mime.ParseMediaType(value)
	if err == nil {
		return strings.ToLower(kind), params
	}
	params = map[string]string{}
	for _, m := range loose.FindAllStringSubmatch(value, 50) {
		if key := strings.ToLower(m[1]); params[key] == "" {
			params[key] = strings.Trim(m[2], `"'`)
		}
	}
	kind, _, _ = strings.Cut(value, ";")
	kind, _, _ = strings.Cut(strings.TrimSpace(kind), " ")
	if kind = strings.ToLower(kind); strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz0123456789-+./") != "" {
		kind = ""
	}
	return kind, params
}

// unword reads encoded words, which do not belong into parameters and stand there.
func unword(s string) string {
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

// open decodes the body.
func (e entity) open() io.Reader {
	switch e.encoding {
	case "base64":
		return &forgiving{r: base64.NewDecoder(base64.StdEncoding, &letters{b: e.body})}
	case "quoted-printable":
		return &forgiving{r: quotedprintable.NewReader(bytes.NewReader(e.body))}
	}
	return bytes.NewReader(e.body)
}

// text is a body as text, of at most n bytes.
func (e entity) text(n int64) string {
	b, _ := io.ReadAll(io.LimitReader(e.open(), n)) // what could be read counts
	set := e.params["charset"]
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

// cutRune reports text that is whole but for its last character.
func cutRune(b []byte) bool {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if utf8.Valid(b[:len(b)-i]) {
			return true
		}
	}
	return false
}

// letters are the bytes of Base64, without what does not belong to it (RFC 2045, 6.8),
// up to the padding.
type letters struct{ b []byte }

func (l *letters) Read(p []byte) (n int, err error) {
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

// forgiving ends where an encoding is broken, in place of failing.
type forgiving struct{ r io.Reader }

func (f *forgiving) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}
