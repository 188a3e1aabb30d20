package results

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShorten(t *testing.T) {
	lines := func(n int, f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i) + "\n")
		}
		return b.String()
	}
	plain := func(i int) string { return fmt.Sprintf("line %05d of a long text", i) }
	tests := []struct {
		name, in  string
		keep      []string
		untouched bool
	}{
		{name: "short", in: "short", untouched: true},
		{name: "just fits", in: strings.Repeat("x", MaxBytes), untouched: true},
		{name: "one line too long", in: strings.Repeat("x", MaxBytes+1), keep: []string{"characters left out"}},
		{name: "runes of four bytes", in: "a" + strings.Repeat("🏠", 10_000), keep: []string{"a🏠", "🏠"}},
		{name: "runes of three bytes", in: strings.Repeat("語", 10_000), keep: []string{"語"}},
		{name: "lines", in: lines(5000, plain), keep: []string{"line 00000 of a long text\n", "line 04999 of a long text\n"}},
		{name: "errors in the middle", in: lines(5000, func(i int) string {
			if i == 2500 || i == 2600 {
				return fmt.Sprintf("main.go:%d: Error: undefined", i)
			}
			return plain(i)
		}), keep: []string{"main.go:2500: Error: undefined\n", "main.go:2600: Error: undefined\n", "lines about errors"}},
		{name: "only errors", in: lines(5000, func(i int) string { return fmt.Sprintf("test %d failed", i) }), keep: []string{"test 0 failed\n", "test 4999 failed\n"}},
		{name: "an error on one huge line", in: strings.Repeat("x", 12_000) + "\nerror: " + strings.Repeat("語", 20_000), keep: []string{"error: 語"}},
		{name: "no text at all", in: strings.Repeat("\x80\xff", 20_000)},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := Shorten(tc.in, "")
			if tc.untouched {
				if got != tc.in {
					t.Error("changed")
				}
				return
			}
			if len(got) > MaxBytes+200 {
				t.Errorf("%d bytes", len(got))
			}
			if utf8.ValidString(tc.in) && !utf8.ValidString(got) {
				t.Error("cut within a rune")
			}
			for _, k := range tc.keep {
				if !strings.Contains(got, k) {
					t.Errorf("the shortened text lacks %q", k)
				}
			}
			head, _, _ := strings.Cut(got, "\n[…")
			if !strings.HasPrefix(tc.in, head) {
				t.Error("the head is not a prefix of the text")
			}
		})
	}
}

// Wherever the text is cut, no text is added and no rune is split.
func TestShorten_KeepsRunesWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("aé語🏠\n error")
	for range 60 {
		var b strings.Builder
		for n := 8000 + r.IntN(20_000); b.Len() < n; {
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		s := b.String()
		got := Shorten(s, "")
		if !utf8.ValidString(got) || (len(s) <= MaxBytes) != (got == s) {
			t.Fatalf("%d bytes became %d", len(s), len(got))
		}
		_, tail, found := strings.Cut(got, "left out …]\n")
		if i := strings.LastIndex(tail, "[…]\n"); i >= 0 {
			tail = tail[i+len("[…]\n"):]
		}
		if found && !strings.HasSuffix(s, tail) {
			t.Fatal("the tail is not a suffix of the text")
		}
	}
}
