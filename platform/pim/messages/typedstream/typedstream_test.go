package typedstream_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"hob/platform/pim/messages/chatdbtest"
	"hob/platform/pim/messages/typedstream"
)

// encodeUTF16 returns a text in UTF-16 with its byte order mark.
func encodeUTF16(s string) []byte {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

func TestDecode_TextsOfEveryLength(t *testing.T) {
	for _, mutable := range []bool{false, true} {
		for _, unit := range []string{"a", "é", "世", "👋", "\u2019", "\ufffc", "\n"} {
			for _, n := range []int{0, 1, 2, 10, 31, 32, 33, 60, 63, 64, 65, 90, 126, 127, 128, 129, 145, 146, 200, 255, 256, 1000, 10_000, 32_767, 32_768, 70_000} {
				want := strings.Repeat(unit, n)
				if got, err := typedstream.Decode(chatdbtest.Archive(want, mutable)); err != nil || got.Approximate || got.Text != want {
					t.Fatalf("%q %d times: %d bytes, approximate %v, %v", unit, n, len(got.Text), got.Approximate, err)
				}
			}
		}
	}
}

// TestDecode_TextsThatContainMarkers checks that texts that contain markers of the format are decoded
// completely.
func TestDecode_TextsThatContainMarkers(t *testing.T) {
	for _, want := range []string{"NSString", "\x01+\x03abc", "NSString\x01+", "streamtyped", "it's \u201cquoted\u201d", "a\x00b", "iI", "__kIMMessagePartAttributeName", "†ƒ", "\u0086\u0084"} {
		if got, err := typedstream.Decode(chatdbtest.Archive(want, true)); err != nil || got.Text != want {
			t.Errorf("%q, %v, want %q", got.Text, err, want)
		}
	}
}

func TestDecode_InvalidArchives(t *testing.T) {
	whole := chatdbtest.Archive("hello there, wörld", false)
	end := bytes.Index(whole, []byte("wörld")) + len("wörld")
	in := func(value []byte) []byte {
		b := append([]byte("\x04\x0bstreamtyped\x81\xe8\x03\x84\x01@\x84\x84\x84\x08NSString\x01\x94\x84\x01+"), byte(len(value)))
		return append(append(b, value...), 0x86)
	}
	long := append([]byte("\x04\x0bstreamtyped\x81\xe8\x03\x84\x01@\x84\x84\x84\x08NSString\x01\x94\x84\x01+\xc8"), strings.Repeat("x", 200)...)
	for name, c := range map[string]struct {
		blob        []byte
		want        string
		approximate bool
		err         error
	}{
		"cut off in the text":         {whole[:end-3], "hello there, wö", true, nil},
		"cut off within a character":  {whole[:end-4], "hello there, w", true, nil},
		"cut off after the text":      {whole[:end], "hello there, wörld", true, nil},
		"cut off after the end":       {whole[:end+1], "hello there, wörld", false, nil},
		"cut off before the text":     {whole[:40], "", false, typedstream.ErrUndecodable},
		"nothing":                     {nil, "", false, typedstream.ErrUndecodable},
		"something else":              {[]byte("bplist00 and so on"), "", false, typedstream.ErrUndecodable},
		"an unsigned byte of 146-255": {append(long, 0x86), strings.Repeat("x", 200), false, nil},
		"all of it UTF-16":            {encodeUTF16("Grüße 👋"), "Grüße 👋", false, nil},
		"UTF-16 cut off":              {encodeUTF16("hey")[:7], "he", true, nil},
		"the value UTF-16":            {in(encodeUTF16("Grüße 👋")), "Grüße 👋", false, nil},
		"a length that is too long":   {[]byte("NSString\x01\x94\x84\x01+\x82\xff\xff\xff\x7fhey\x86\x84"), "hey", true, nil},
		"a length below zero":         {[]byte("NSString\x01\x94\x84\x01+\x82\xff\xff\xff\xffhey\x86\x84"), "hey", true, nil},
		"no length":                   {[]byte("NSString\x01\x94\x84\x01+"), "", false, typedstream.ErrUndecodable},
		"bytes that are not text":     {in([]byte{'a', 0xff, 0xfe, 'b'}), "", false, typedstream.ErrUndecodable},
	} {
		got, err := typedstream.Decode(c.blob)
		if !errors.Is(err, c.err) || got.Text != c.want || got.Approximate != c.approximate {
			t.Errorf("%s: %q, approximate %v, %v", name, got.Text, got.Approximate, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	whole := chatdbtest.Archive("it's 👋", true)
	for n := range whole {
		f.Add(whole[:n])
	}
	f.Add(encodeUTF16("hey"))
	f.Add(chatdbtest.Archive(strings.Repeat("x", 300), false))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := typedstream.Decode(b)
		if err == nil && !utf8.ValidString(got.Text) {
			t.Errorf("%q is not valid text", got.Text)
		}
		if len(got.Text) > 2*len(b) {
			t.Errorf("%d bytes of text from %d bytes", len(got.Text), len(b))
		}
	})
}

// FuzzRoundTrip checks that each text is decoded exactly.
func FuzzRoundTrip(f *testing.F) {
	f.Add("hello", true)
	f.Fuzz(func(t *testing.T, s string, mutable bool) {
		if !utf8.ValidString(s) || strings.HasPrefix(s, "\xff\xfe") {
			return
		}
		if got, err := typedstream.Decode(chatdbtest.Archive(s, mutable)); err != nil || got.Text != s || got.Approximate {
			t.Errorf("%q, %v, want %q", got.Text, err, s)
		}
	})
}
