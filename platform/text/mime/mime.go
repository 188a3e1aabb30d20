// Package mime parses email (RFC 5322, RFC 2045 to 2049). It is the program's only email parser:
// channels, document ingestion and mailboxes use it.
//
// Email is treated as hostile. The time for parsing is linear in the input: parts, depth and header
// size are limited, and decoding never returns more bytes than it read. Malformed email is common;
// the parser returns the parts that it can interpret. Content beyond a limit is omitted, and
// Message.Cut names the limit, so that callers can detect an incomplete message.
//
// The package writes no email, opens no file and uses no network.
package mime

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"strings"

	"hob/platform/text/lazyregexp"
)

// ErrLimit means that a message exceeds a limit; Message.Cut wraps it.
var ErrLimit = errors.New("the message exceeds a parser limit")

// Limits limit the structure of a message. Zero fields have default values.
type Limits struct {
	Parts int // maximum number of leaf parts (100)
	Depth int // maximum nesting of parts (20)
}

// The limits of a header.
const (
	// MaxHeader is the maximum number of bytes that are read from the header of a message or part.
	MaxHeader = 256 << 10
	// MaxFields is the maximum number of header fields that are read.
	MaxFields = 2000
)

// Limits of the bytes that are processed for a message. A message of n bytes may cost at most
// workFactor*n + workFloor. A message within the other limits costs much less.
const (
	workFactor = 64
	workFloor  = 64 << 10
)

// Message is a parsed email message.
type Message struct {
	Header Fields
	// Sound is true if another parser sees the same header fields; see ReadFields.
	Sound bool
	// Parts are the leaf parts, in order.
	Parts []Part
	// Cut wraps ErrLimit and names the limit that the message exceeds. It is nil if the complete
	// message was read.
	Cut error

	limits Limits
	work   int // number of bytes that may still be processed
	spent  int
}

// Part is one part of a message that contains no other parts.
type Part struct {
	Kind        string            // media type in lower case, such as "text/plain"
	Params      map[string]string // parameters of the media type
	Encoding    string            // "base64", "quoted-printable", or "" for all others
	Disposition string            // "inline", "attachment" or "", in lower case
	Name        string            // name of the file, or "" if it has none
	// Forms identifies the multipart/alternative that contains the part; 0 if there is none.
	Forms int
	body  []byte // encoded
}

// Parse parses a message, which may be truncated at its end. raw must not change while its parts
// are in use.
func Parse(raw []byte, limits Limits) *Message {
	if limits.Parts <= 0 {
		limits.Parts = 100
	}
	if limits.Depth <= 0 {
		limits.Depth = 20
	}
	m := &Message{limits: limits, work: workFactor*len(raw) + workFloor}
	m.Header, m.Sound = ReadFields(raw)
	m.parsePart(raw, Part{}, 0)
	return m
}

// spendBytes charges n processed bytes to the budget. It returns false if the budget is exhausted.
func (m *Message) spendBytes(n int) bool {
	m.spent += n
	if m.spent > m.work {
		m.setLimitError("more than %d bytes to process", m.work)
		return false
	}
	return true
}

func (m *Message) setLimitError(format string, args ...any) {
	if m.Cut == nil {
		m.Cut = fmt.Errorf("%w: "+format, append([]any{ErrLimit}, args...)...)
	}
}

func (m *Message) parsePart(raw []byte, in Part, depth int) {
	if len(m.Parts) >= m.limits.Parts {
		m.setLimitError("more than %d parts", m.limits.Parts)
		return
	}
	p, boundary, ok := m.readPart(raw, in.Kind == "multipart/digest")
	if !ok {
		return
	}
	if p.Forms = in.Forms; p.Kind == "multipart/alternative" {
		p.Forms = len(m.Parts) + 1
	}
	switch {
	case boundary == "":
		if strings.HasPrefix(p.Kind, "multipart/") { // a multipart type without a usable boundary
			p.Kind = "text/plain"
		}
		m.Parts = append(m.Parts, p)
		return
	case depth >= m.limits.Depth: // do not parse the content, because it is nested too deeply
		m.setLimitError("parts are nested deeper than %d levels", m.limits.Depth)
		return
	}
	pieces := m.divideParts(p.body, boundary)
	if len(pieces) == 0 && m.Cut == nil { // a multipart type that contains no parts
		p.Kind = "text/plain"
		m.Parts = append(m.Parts, p)
		return
	}
	for _, piece := range pieces {
		m.parsePart(piece, p, depth+1)
	}
}

// readPart reads the header of a part. boundary separates the parts within the part; it is "" if
// there are none.
func (m *Message) readPart(raw []byte, digest bool) (p Part, boundary string, ok bool) {
	head, body := Divide(raw)
	if !m.spendBytes(2 * (len(raw) - len(body))) { // one pass to find the end of the header, and one to read it
		return p, "", false
	}
	fields, _ := ReadFields(head)
	if len(head) > MaxHeader || len(fields) >= MaxFields {
		m.setLimitError("a header of more than %d kB or %d fields", MaxHeader>>10, MaxFields)
	}
	p.body = body
	p.Kind, p.Params = MediaType(fields.First("content-type"))
	switch {
	case p.Kind != "":
	case digest: // the default type in a digest (RFC 2046, 5.1.5)
		p.Kind = "message/rfc822"
	default:
		p.Kind = "text/plain"
	}
	switch word := strings.ToLower(strings.Trim(strings.TrimSpace(fields.First("content-transfer-encoding")), "\"';")); word {
	case "base64", "quoted-printable":
		p.Encoding = word
	}
	var params map[string]string
	p.Disposition, params = MediaType(fields.First("content-disposition"))
	for _, list := range []map[string]string{params, p.Params} {
		for _, key := range []string{"filename", "name"} {
			if p.Name == "" {
				p.Name = DecodeWords(list[key])
			}
		}
	}
	if strings.HasPrefix(p.Kind, "multipart/") {
		boundary = strings.TrimRight(p.Params["boundary"], " ")
	}
	return p, boundary, true
}

// Attached reports whether a part is a file rather than inline text.
func (p Part) Attached() bool {
	return p.Disposition != "" && p.Disposition != "inline" || p.Name != ""
}

// Divide splits a message or part into its header and body. If the first line is blank, there is no
// header.
func Divide(raw []byte) (head, body []byte) {
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

// divideParts splits a body into its parts (RFC 2046, 5.1.1). The end boundary may be missing.
func (m *Message) divideParts(body []byte, boundary string) (out [][]byte) {
	mark := []byte("--" + boundary)
	from := -1
	for at := 0; at < len(body); {
		if len(m.Parts)+len(out) >= m.limits.Parts {
			m.setLimitError("more than %d parts", m.limits.Parts)
			return out
		}
		end, next := len(body), len(body)
		if i := bytes.IndexByte(body[at:], '\n'); i >= 0 {
			end, next = at+i, at+i+1
		}
		if !m.spendBytes(next - at) {
			return out
		}
		if rest, ok := bytes.CutPrefix(bytes.TrimRight(body[at:end], " \t\r"), mark); ok && (len(rest) == 0 || string(rest) == "--") {
			if from >= 0 {
				out = append(out, bytes.TrimSuffix(bytes.TrimSuffix(body[from:max(from, at)], []byte("\n")), []byte("\r")))
			}
			if from = next; len(rest) > 0 {
				return out
			}
		}
		at = next
	}
	if from >= 0 && from < len(body) {
		out = append(out, body[from:])
	}
	return out
}

// maxMediaType is the maximum length of a Content-Type value in bytes.
const maxMediaType = 8 << 10

// loose matches parameters in malformed values, with missing or unbalanced quotes.
var loose = lazyregexp.New(`(?i)(?:^|[;\s])(boundary|charset|name|filename|method|format|delsp|report-type)\s*=\s*("[^"]*"|'[^']*'|[^;\s]+)`)

// MediaType parses a Content-Type or Content-Disposition value. kind is in lower case; it is "" if
// the value contains none.
func MediaType(value string) (kind string, params map[string]string) {
	if len(value) > maxMediaType {
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
