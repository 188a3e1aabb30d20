package markup_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"hob/platform/text/markup"
	"hob/platform/text/visible"
)

func TestTerminal(t *testing.T) {
	for name, tc := range map[string]struct {
		md    string
		width int
		want  []string
	}{
		"styles":            {"**bold** *it* ~~no~~ `code`", 40, []string{"\x1b[1mbold\x1b[22m \x1b[3mit\x1b[23m \x1b[9mno\x1b[29m \x1b[36mcode\x1b[39m"}},
		"a style continues": {"**one two**", 5, []string{"\x1b[1mone\x1b[22m", "\x1b[1mtwo\x1b[22m"}},
		"heading":           {"# A *title*\ntext", 40, []string{"\x1b[1mA \x1b[3mtitle\x1b[23m\x1b[22m", "", "text"}},
		"link":              {"[here](https://example.org)", 60, []string{"here (\x1b[4mhttps://example.org\x1b[24m)"}},
		"dangerous link":    {"[here](javascript:alert(1))", 60, []string{"here (javascript:alert(1))"}},
		"code":              {"```go\na\n\tb\n```", 40, []string{"  \x1b[36ma\x1b[39m", "  \x1b[36m    b\x1b[39m"}},
		"open code":         {"```\na", 40, []string{"  \x1b[36ma\x1b[39m"}},
		"lists":             {"1. one\n2. two words\n   - in\n\n- [x] done", 9, []string{"1. one", "2. two", "   words", "   • in", "", "☑ done"}},
		"quote":             {"> one two", 6, []string{"\x1b[2m│ \x1b[22mone", "\x1b[2m│ \x1b[22mtwo"}},
		"table": {"| a | b |\n|---|--:|\n| x | 1 |\n| yy | 22 |", 40, []string{
			"\x1b[1ma\x1b[22m    \x1b[1mb\x1b[22m", "\x1b[2m──  ──\x1b[22m", "x    1", "yy  22",
		}},
		"narrow table": {"| a | b |\n|---|---|\n| one two | three |", 12, []string{
			"\x1b[1ma\x1b[22m      \x1b[1mb\x1b[22m", "\x1b[2m─────  ─────\x1b[22m", "one    three", "two",
		}},
		"table as a list": {"| a | b |\n|---|---|\n| x | y |", 8, []string{"a: x", "b: y"}},
		"control":         {"a\x1b[2Jb\u202ec &#27;[31m", 40, []string{"a[2Jbc [31m"}},
		"nothing":         {" \n", 40, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, markup.Terminal(tc.md, tc.width)); d != "" {
				t.Error(d)
			}
		})
	}
}

var ownStyles = regexp.MustCompile("\x1b\\[(1|2|3|4|9|36|22|23|24|29|39)m")

func FuzzTerminal(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		for _, width := range []int{12, 80} {
			for _, l := range markup.Terminal(s, width) {
				text := ownStyles.ReplaceAllString(l, "")
				if strings.ContainsFunc(text, unicode.IsControl) || visible.Text(text) != text {
					t.Errorf("%q became %q", s, l)
				}
				if n := ansi.StringWidth(l); n > width && !strings.Contains(s, ">") && !strings.ContainsAny(s, "-+*0123456789") {
					t.Errorf("%q became %q, which has %d columns", s, l, n)
				}
			}
		}
	})
}
