package tools

import (
	"errors"
	"strings"
	"testing"
)

func TestPick(t *testing.T) {
	type item struct{ id, title string }
	list := []item{
		{"t7k2m9qxa3", "call the plumber"},
		{"t7k2n4bbb1", "Call mum"},
		{"tq81000000", "buy café crème"},
		{"tz00000000", "renew passport"},
	}
	key := func(i item) (string, string) { return i.id, i.title }
	tests := []struct {
		name, query, want string
		code              Code
		says              string
	}{
		{name: "whole id", query: "t7k2m9qxa3", want: "t7k2m9qxa3"},
		{name: "id prefix", query: "tq81", want: "tq81000000"},
		{name: "prefix of two ids", query: "t7k2", code: InvalidArguments, says: "call the plumber (t7k2m9qxa3)"},
		{name: "short prefix is a word", query: "tz0", code: NotFound},
		{name: "exact title, other case", query: "CALL MUM", want: "t7k2n4bbb1"},
		{name: "one word", query: "plumber", want: "t7k2m9qxa3"},
		{name: "with the noun", query: "the plumber task", want: "t7k2m9qxa3"},
		{name: "accents", query: "cafe creme", want: "tq81000000"},
		{name: "stem", query: "renewing passports", want: "tz00000000"},
		{name: "start of a word", query: "pass", want: "tz00000000"},
		{name: "several", query: "call", code: InvalidArguments, says: "2 tasks match"},
		{name: "nearest", query: "call the plummer", code: NotFound, says: `"call the plumber"`},
		{name: "nothing near", query: "xyzzy", code: NotFound, says: "no task matches"},
		{name: "empty", query: "  ", code: InvalidArguments, says: "name the task"},
		{name: "only small words", query: "the task", code: NotFound},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Pick("task", tc.query, list, key)
			if tc.code == "" {
				if err != nil || got.id != tc.want {
					t.Fatalf("Pick(%q) = %v, %v; want %s", tc.query, got, err, tc.want)
				}
				return
			}
			if CodeOf(err) != tc.code || err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("Pick(%q) = %v, %v; want %s saying %q", tc.query, got, err, tc.code, tc.says)
			}
			if tc.code == InvalidArguments && tc.query != "  " && !errors.Is(err, ErrAmbiguous) {
				t.Fatalf("Pick(%q): %v does not wrap ErrAmbiguous", tc.query, err)
			}
		})
	}
	if _, err := Pick("task", "x", nil, key); CodeOf(err) != NotFound {
		t.Fatalf("Pick without items: %v", err)
	}
}
