// Package typedstream extracts the text of an attributed string that NSArchiver wrote: the column
// attributedBody of the Messages database, and earlier versions of an edited message. It reads only
// the text.
//
// The format is NeXTSTEP's typed stream, version 4 ("streamtyped"). An integer is one byte, or a
// tag followed by the bytes of a longer integer. A type string precedes a value and is written in
// full at its first use. The text is the first value of the first string object. It consists of the
// class name NSString, then 84 01 2B (a new type string of one character, "+"), the length and the
// bytes of the text, and 86, the end of the object. The authors of python-typedstream and
// imessage-exporter documented this.
package typedstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrUndecodable reports that no text was found.
var ErrUndecodable = errors.New("unknown message text encoding")

// Text is an extracted text.
type Text struct {
	Text string
	// Approximate is true if the archive is truncated or malformed and Text is its readable part.
	Approximate bool
}

const (
	tagInt16 = 0x81
	tagInt32 = 0x82
	tagFirst = 0x80 // first tag
	tagLast  = 0x91 // bytes up to this value are tags instead of numbers
	tagEnd   = 0x86
)

// The byte sequences that identify the parts of an archive.
const (
	className = "NSString"  // also matches the superclass name after NSMutableString
	value     = "\x84\x01+" // a new type string "+": bytes with their length follow
	cut       = "\x86\x84"  // the end of an object, and the next item
	bomLE     = "\xff\xfe"  // byte order mark of little-endian UTF-16
)

// Decode returns the text of an archived attributed string. An empty string is a valid text. If no
// text is found, the error is ErrUndecodable.
func Decode(b []byte) (Text, error) {
	if bytes.HasPrefix(b, []byte(bomLE)) {
		return decodeUTF16(b[len(bomLE):])
	}
	at := bytes.Index(b, []byte(className))
	if at < 0 {
		return Text{}, ErrUndecodable
	}
	rest := b[at+len(className):]
	at = bytes.Index(rest, []byte(value))
	if at < 0 {
		return Text{}, ErrUndecodable
	}
	rest = rest[at+len(value):]
	if n, body, ok := readLength(rest); ok && n < len(body) && body[n] == tagEnd {
		if t, ok := parseExact(body[:n]); ok {
			return t, nil
		}
	}
	return recoverText(rest)
}

// parseExact returns the text if it is complete.
func parseExact(b []byte) (Text, bool) {
	if bytes.HasPrefix(b, []byte(bomLE)) && len(b)%2 == 0 {
		t, err := decodeUTF16(b[len(bomLE):])
		return t, err == nil && !t.Approximate
	}
	return Text{Text: string(b)}, utf8.Valid(b)
}

// readLength reads an unsigned integer and returns it with the bytes after it.
func readLength(b []byte) (n int, rest []byte, ok bool) {
	switch {
	case len(b) == 0:
		return 0, nil, false
	case b[0] == tagInt16 && len(b) >= 3:
		return int(binary.LittleEndian.Uint16(b[1:])), b[3:], true
	case b[0] == tagInt32 && len(b) >= 5:
		v := binary.LittleEndian.Uint32(b[1:])
		return int(v & 0x7fffffff), b[5:], v <= 0x7fffffff
	case b[0] >= tagFirst && b[0] <= tagLast:
		return 0, nil, false
	}
	return int(b[0]), b[1:], true
}

// recoverText recovers the text up to the next marker if the stated length is wrong.
func recoverText(b []byte) (Text, error) {
	if _, body, _ := readLength(b); body != nil {
		b = body
	}
	if at := bytes.Index(b, []byte(cut)); at >= 0 {
		b = b[:at]
	}
	for len(b) > 0 && !utf8.Valid(b) { // drop a truncated character or invalid bytes at the end
		r, size := utf8.DecodeLastRune(b)
		if r != utf8.RuneError || size > 1 || len(b) <= utf8.UTFMax && !utf8.RuneStart(b[0]) {
			return Text{}, ErrUndecodable
		}
		b = b[:len(b)-size]
	}
	if len(b) == 0 {
		return Text{}, ErrUndecodable
	}
	return Text{Text: string(b), Approximate: true}, nil
}

// decodeUTF16 reads UTF-16.
func decodeUTF16(b []byte) (Text, error) {
	t := Text{Approximate: len(b)%2 != 0}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	runes := utf16.Decode(units)
	for _, r := range runes {
		if r == utf8.RuneError {
			t.Approximate = true
		}
	}
	t.Text = string(runes)
	return t, nil
}
