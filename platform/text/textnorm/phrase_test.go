package textnorm

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"possessive", "my sister's birthday", []string{"my", "sister", "birthday"}},
		{"curly possessive", "my sister’s birthday", []string{"my", "sister", "birthday"}},
		{"contraction", "don't", []string{"don", "t"}},
		{"accents", "Crème BRÛLÉE", []string{"creme", "brulee"}},
		{"numbers", "Kestrel-9981", []string{"kestrel", "9981"}},
		{"hangul", "회의", []string{"회의"}},
		{"kana", "がくせい", []string{"がくせい"}},
		{"cjk", "会議 明日", []string{"会議", "明日"}},
		{"nothing", " -- ", []string{}},
		{"broken", "a\xffb", []string{"a", "b"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, FoldedWords(tc.in)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEllipsize(t *testing.T) {
	if got := Ellipsize("añb\ncd", 4); got != "añb…" {
		t.Errorf("Cut = %q", got)
	}
	if got := Ellipsize(" short\ttext ", 20); got != "short text" {
		t.Errorf("Cut = %q", got)
	}
}

func TestFirstLine(t *testing.T) {
	long := strings.Repeat("ñ", 120)
	for text, want := range map[string]string{"": "", " \n one\ntwo": "one", long: long, long + "b": long + "…", long + "\nc": long} {
		if got := FirstLine(text); got != want {
			t.Errorf("FirstLine(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestSplitRemedy(t *testing.T) {
	for text, want := range map[string][2]string{
		"no key; run hob setup": {"no key", "run hob setup"}, "a; b; c": {"a; b", "c"}, "no key": {"no key", ""}, "; x": {"; x", ""}, "a; b\nc; d": {"a; b\nc; d", ""},
	} {
		if cause, remedy := SplitRemedy(text); cause != want[0] || remedy != want[1] {
			t.Errorf("SplitRemedy(%q) = %q, %q, want %q", text, cause, remedy, want)
		}
	}
}

func TestFormatLength(t *testing.T) {
	for n, want := range map[int]string{0: "0 characters", 1: "1 character", 999: "999 characters", 1000: "1,000 characters", 1234567: "1,234,567 characters"} {
		if got := FormatLength(strings.Repeat("é", n)); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestCountNoun(t *testing.T) {
	for n, want := range map[int]string{0: "0 copies", 1: "1 copy", 2: "2 copies"} {
		if got := CountNoun(n, "copy", "copies"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestEqualFolded(t *testing.T) {
	if !EqualFolded("Gym!", "gym") || EqualFolded("gym", "gyms") || EqualFolded("!!", "??") || !EqualFolded("🏃", "🏃 ") {
		t.Error("Same")
	}
}

func TestSimilar(t *testing.T) {
	if Similar("plummer", "plumber") < 0.5 || Similar("abc", "xyz") != 0 {
		t.Error("Similar")
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("it's café \xff 会議")
	f.Fuzz(func(t *testing.T, s string) {
		for _, w := range FoldedWords(s) {
			if w == "" || !utf8.ValidString(w) {
				t.Fatalf("Split(%q) has %q", s, w)
			}
		}
		if c := Ellipsize(s, 10); utf8.RuneCountInString(c) > 10 {
			t.Fatalf("Cut(%q) = %q", s, c)
		}
	})
}

func TestContainsAllWords(t *testing.T) {
	for _, tc := range []struct {
		words []string
		want  bool
	}{
		{nil, true}, {[]string{"cafe"}, true}, {[]string{"CAFÉ", "mon"}, true}, {[]string{"café", "tuesday"}, false},
	} {
		if got := ContainsAllWords("The Café on Monday", tc.words); got != tc.want {
			t.Errorf("%q: ContainsAllWords = %t", tc.words, got)
		}
	}
}
