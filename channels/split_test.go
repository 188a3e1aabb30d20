package channels_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"hob/channels"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name  string
		text  string
		limit int
		want  []string
	}{
		{"no limit", "hello world", 0, []string{"hello world"}},
		{"fits", "hello", 5, []string{"hello"}},
		{"empty", "", 5, []string{""}},
		{"at a paragraph", "one two\nthree\n\nfour five six", 18, []string{"one two\nthree", "four five six"}},
		{"at a line", "one two three\nfour five six", 18, []string{"one two three", "four five six"}},
		{"at a word", "one two three four five", 10, []string{"one two", "three four", "five"}},
		{"at a rune", "äöüäöüäöü", 4, []string{"äöüä", "öüäö", "ü"}},
		{"keeps the indent of a line", "- aaaaaaaaaa\n  - bbbbbbbb", 16, []string{"- aaaaaaaaaa", "  - bbbbbbbb"}},
		{"before a code block", "intro\n```go\na\nb\nc\n```\nend", 18, []string{"intro", "```go\na\nb\nc\n```", "end"}},
		{
			"a code block longer than a part", "```go\nline one is here\nline two is here\nline three\n```", 38,
			[]string{"```go\nline one is here\n```", "```go\nline two is here\nline three\n```"},
		},
		{"tildes hold back-ticks", "~~~\n```\nabc\n~~~\nthe end", 18, []string{"~~~\n```\nabc\n~~~", "the end"}},
		{"white space only", "          ", 4, []string{"    "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, channels.Split(c.text, c.limit)); d != "" {
				t.Error(d)
			}
		})
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("one two\n\n```go\nfunc main() {\n}\n```\nand the rest of the story", 20)
	f.Add("````\n```\n\n\n```\n````\n~~~", 9)
	f.Add(strings.Repeat("日本語 ", 40), 7)
	f.Add("```"+strings.Repeat("x", 50)+"\n"+strings.Repeat("y", 300), 40)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 1 || limit > 200 || len(text) > 5000 || !utf8.ValidString(text) {
			t.Skip()
		}
		parts := channels.Split(text, limit)
		for _, p := range parts {
			if n := utf8.RuneCountInString(p); n > limit {
				t.Fatalf("a part of %d characters, limit %d: %q", n, limit, p)
			}
			if !utf8.ValidString(p) {
				t.Fatalf("a rune was cut: %q", p)
			}
		}
		if strings.ContainsAny(text, "`~") {
			return // fences are closed and opened again, so parts hold more
		}
		if got, want := solid(strings.Join(parts, "")), solid(text); got != want {
			t.Fatalf("lost text: %q became %q", want, got)
		}
	})
}

// solid drops white space.
func solid(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
