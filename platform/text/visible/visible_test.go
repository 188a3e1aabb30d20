package visible_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"hob/platform/text/visible"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n": "plain\ttext\n", "\x1b[31mred\x1b[0m": "[31mred[0m", "\x1b]0;title\x07": "]0;title", "a\rb": "ab", "a\x00b\x7fc": "abc",
		"a\u0085b\u009bc": "abc", "a\u200bb\u2060c\ufeffd": "abcd", "a\u202eb\u2066c\u200fd": "abcd", "a\U000e0041b": "ab", "a\u00adb": "ab",
		"a\u2028b": "ab", "a\u3164b\uffa0c": "abc", "a\xffb": "a\ufffdb", "👩\u200d👧": "👩\u200d👧", "❤\ufe0f": "❤\ufe0f", "a\u200db": "ab", "\ufe0fa": "a",
		"می\u200cخواهم": "می\u200cخواهم", "क्\u200dष": "क्\u200dष", "a\U000e0100b": "ab", "naïve Ünïcödé 日本語": "naïve Ünïcödé 日本語",
	} {
		if got := visible.Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWriter_KeepsSplitCharacters(t *testing.T) {
	const text = "日本\u200b語 a\x1b[0mb 👩\u200d👧"
	for size := 1; size < 8; size++ {
		var b strings.Builder
		w := &visible.Writer{W: &b}
		for i := 0; i < len(text); i += size {
			if _, err := w.Write([]byte(text[i:min(len(text), i+size)])); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); strings.ContainsAny(got, "\x1b\u200b") || !strings.Contains(got, "日本語") {
			t.Errorf("in pieces of %d: %q", size, got)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add("a\u200b\U000e0041\x1b\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		shown := visible.JSON(string(raw))
		var back string
		if err := json.Unmarshal([]byte(shown), &back); err != nil || back != s {
			t.Errorf("%q became %q: %v", s, back, err)
		}
		for _, r := range shown + visible.Text(s) {
			if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x200b || r >= 0xe0000 && r <= 0xe007f {
				t.Errorf("%q shows %U", s, r)
			}
		}
	})
}
