package bplist_test

import (
	"encoding/base64"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/pim/messages/bplist"
	"hob/platform/pim/messages/chatdbtest"
)

func TestRoundTrip(t *testing.T) {
	long := make([]any, 40)
	for i := range long {
		long[i] = int64(i)
	}
	want := map[string]any{
		"rp": []any{int64(0), int64(-1)}, "t": []byte("\x04\x0bstreamtyped and more than fifteen bytes"), "d": 700_000_000.5,
		"a name of more than fifteen characters": "Grüße 👋", "yes": true, "no": false, "none": nil, "long": long, "empty": []any{}, "dict": map[string]any{},
	}
	in := map[string]any{}
	for k, v := range want {
		in[k] = v
	}
	in["rp"] = []any{0, -1}
	ints := make([]any, len(long))
	for i := range ints {
		ints[i] = i
	}
	in["long"] = ints
	got, err := bplist.Parse(chatdbtest.Plist(in))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Error(diff)
	}
}

// made is {"a": 1, "b": ["x", 2.5], "d": <0102>, "t": true, "when": 2001-01-01 00:01:00}
// as Python's plistlib writes it: offsets and references of one byte, ASCII, a date.
const made = "YnBsaXN0MDDVAQIDBAUGBwoLDFFhUWJRZFF0VHdoZW4QAaIICVF4I0AEAAAAAAAAQgECCTNATgAAAAAAAAgTFRcZGyAiJScwMzQAAAAAAAABAQAAAAAAAAANAAAAAAAAAAAAAAAAAAAAPQ=="

func TestForeignList(t *testing.T) {
	b, err := base64.StdEncoding.DecodeString(made)
	if err != nil {
		t.Fatal(err)
	}
	got, err := bplist.Parse(b)
	want := map[string]any{"a": int64(1), "b": []any{"x", 2.5}, "d": []byte{1, 2}, "t": true, "when": 60.0}
	if diff := cmp.Diff(any(want), got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestBounded checks that lists that contain the same list many times are parsed in bounded time.
func TestBounded(t *testing.T) {
	self := []byte("bplist00\xa1\x00\x08")
	self = append(self, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10)
	bomb := []byte("bplist00")
	var table []byte
	for i := range byte(30) { // each list contains the next one ten times
		table = append(table, byte(len(bomb)))
		bomb = append(append(bomb, 0xa7), slices.Repeat([]byte{i + 1}, 7)...)
	}
	table = append(table, byte(len(bomb)))
	bomb = append(bomb, 9)
	at := byte(len(bomb))
	bomb = append(append(bomb, table...), 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 31, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, at)
	for name, b := range map[string][]byte{"itself": self, "bomb": bomb, "nothing": nil, "a head": []byte("bplist00"), "another format": []byte("<?xml version=\"1.0\"?><plist version=\"1.0\"><dict/></plist>")} {
		if v, err := bplist.Parse(b); !errors.Is(err, bplist.ErrFormat) {
			t.Errorf("%s: Parse = %v, %v", name, v, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	b, err := base64.StdEncoding.DecodeString(made)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(chatdbtest.Plist(map[string]any{"ec": map[string]any{"0": []any{map[string]any{"t": []byte("x"), "d": 1.5}}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := bplist.Parse(b); err != nil && !errors.Is(err, bplist.ErrFormat) {
			t.Error(err)
		}
	})
}
