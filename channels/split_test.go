package channels_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
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
		{"not in a link", "one two three [a long name](https://e.x/a) and", 30, []string{"one two three", "[a long name](https://e.x/a)", "and"}},
		{"not in strong words", "some words **are very strong** here", 20, []string{"some words", "**are very strong**", "here"}},
		{"not in code", "run this: `rm -r a b` now", 18, []string{"run this:", "`rm -r a b` now"}},
		{"not in an address", "see https://example.org/a/long/path", 30, []string{"see https://example.org/a/long", "/path"}},
		{"an address that fits", "see https://example.org/a/long/path", 33, []string{"see", "https://example.org/a/long/path"}},
		{
			"the head of a table again", "Prices:\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n| 7 | 8 |\n| 9 | 0 |\nand | so on", 60,
			[]string{"Prices:\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |", "| a | b |\n|---|---|\n| 7 | 8 |\n| 9 | 0 |\nand | so on"},
		},
		{"white space only", "          ", 4, []string{"    "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, channels.SplitFor(c.text, channels.Limits{MaxText: c.limit})); d != "" {
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
		parts := channels.SplitFor(text, channels.Limits{MaxText: limit})
		for _, p := range parts {
			if n := utf8.RuneCountInString(p); n > limit {
				t.Fatalf("a part of %d characters, limit %d: %q", n, limit, p)
			}
			if !utf8.ValidString(p) {
				t.Fatalf("a rune was cut: %q", p)
			}
		}
		if strings.ContainsAny(text, "`~|") {
			return // the parts contain more than the text: reopened code blocks and repeated table headers
		}
		if got, want := dropSpace(strings.Join(parts, "")), dropSpace(text); got != want {
			t.Fatalf("lost text: %q became %q", want, got)
		}
	})
}

// dropSpace drops white space.
func dropSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

func TestSplit_KeepsListItems(t *testing.T) {
	for _, c := range []struct {
		name  string
		text  string
		limit int
		want  []string
	}{
		{"an item of two lines", "- one\n- two is long\n  and goes on\n- three", 22, []string{"- one\n- two is long", "  and goes on\n- three"}},
		{"an item that fits", "- one\n- two\n  goes on\n- three", 19, []string{"- one", "- two\n  goes on", "- three"}},
		{"with what is nested", "1. one\n2. two\n   - a\n   - b\n3. three", 22, []string{"1. one", "2. two\n   - a\n   - b", "3. three"}},
		{"text behind a list", "- one\n- two\n\nand then more text", 16, []string{"- one\n- two", "and then more", "text"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, channels.SplitFor(c.text, channels.Limits{MaxText: c.limit})); d != "" {
				t.Error(d)
			}
		})
	}
}

// For any text, no part is too long for the platform, and no grapheme cluster is split.
func TestSplit_KeepsCharacters(t *testing.T) {
	seen := []string{"a", "é", "e\u0301", "世", "👋", "👍🏽", "👩‍👩‍👧‍👦", "🇱🇹", "🏳️‍🌈", "नि", "각", "ก็", "𝒜"}
	for seed := range 300 {
		rnd := rand.New(rand.NewPCG(uint64(seed), 1))
		var b strings.Builder
		for range 5 + rnd.IntN(120) {
			c := seen[rnd.IntN(len(seen))]
			b.WriteString(c)
			switch rnd.IntN(12) {
			case 0:
				b.WriteString(" ")
			case 1:
				b.WriteString("\n")
			case 2:
				b.WriteString("\n- ")
			}
		}
		l := channels.Limits{MaxText: 16 + rnd.IntN(40), UTF16: rnd.IntN(2) == 0}
		var got []string
		for _, p := range channels.SplitFor(b.String(), l) {
			if n := channels.Length(p, l); n > l.MaxText {
				t.Fatalf("seed %d: a part of %d characters, limit %d", seed, n, l.MaxText)
			}
			for _, word := range strings.Fields(p) {
				for g := graphemes.FromString(word); g.Next(); {
					got = append(got, g.Value())
				}
			}
		}
		all := []string{}
		for _, word := range strings.Fields(b.String()) {
			for g := graphemes.FromString(word); g.Next(); {
				all = append(all, g.Value())
			}
		}
		if d := cmp.Diff(all, got); d != "" {
			t.Fatalf("seed %d, limit %+v: %s", seed, l, d)
		}
	}
}

func FuzzSplitFor(f *testing.F) {
	f.Add("👩‍👩‍👧‍👦 one\n- two\n  three\n\n```\ncode\n```", 12, true)
	f.Add(strings.Repeat("e\u0301", 60), 7, false)
	f.Add("1. a\n\n   b\n2. "+strings.Repeat("𝒜", 40), 20, true)
	f.Fuzz(func(t *testing.T, text string, limit int, utf16 bool) {
		if limit < 2 || limit > 200 || len(text) > 5000 || !utf8.ValidString(text) {
			t.Skip()
		}
		l := channels.Limits{MaxText: limit, UTF16: utf16}
		parts := channels.SplitFor(text, l)
		for _, p := range parts {
			if n := channels.Length(p, l); n > limit {
				t.Fatalf("a part of %d characters, limit %d: %q", n, limit, p)
			}
			if !utf8.ValidString(p) {
				t.Fatalf("a rune was cut: %q", p)
			}
		}
		if strings.ContainsAny(text, "`~|") {
			return
		}
		if got, want := dropSpace(strings.Join(parts, "")), dropSpace(text); got != want {
			t.Fatalf("lost text: %q became %q", want, got)
		}
	})
}
