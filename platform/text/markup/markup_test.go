package markup_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"hob/platform/text/markup"
)

func allRenderers() map[string]func(string) string {
	return map[string]func(string) string{
		"telegram": markup.Telegram, "slack": markup.Slack, "discord": markup.Discord, "plain": markup.Plain, "html": markup.HTML,
	}
}

func TestMarkup(t *testing.T) {
	for _, c := range []struct {
		name, md                              string
		telegram, slack, discord, plain, html string
	}{
		{
			"marks", "**bold** *it* _it_ ~~gone~~ `co<de`",
			"<b>bold</b> <i>it</i> <i>it</i> <s>gone</s> <code>co&lt;de</code>",
			"*bold* _it_ _it_ ~gone~ `co&lt;de`",
			"**bold** *it* *it* ~~gone~~ `co<de`",
			"bold it it gone co<de",
			"<p><strong>bold</strong> <em>it</em> <em>it</em> <del>gone</del> <code>co&lt;de</code></p>",
		},
		{
			"code block", "```go\na := `x`\nif a < b {}\n```",
			"<pre><code class=\"language-go\">a := `x`\nif a &lt; b {}</code></pre>",
			"```\na := `x`\nif a &lt; b {}\n```",
			"```go\na := `x`\nif a < b {}\n```",
			"a := `x`\nif a < b {}",
			"<pre><code>a := `x`\nif a &lt; b {}</code></pre>",
		},
		{
			"a fence that is open", "so:\n```sh\nls -l",
			"so:\n\n<pre><code class=\"language-sh\">ls -l</code></pre>",
			"so:\n\n```\nls -l\n```",
			"so:\n\n```sh\nls -l\n```",
			"so:\n\nls -l",
			"<p>so:</p>\n<pre><code>ls -l</code></pre>",
		},
		{
			"lists", "- one\n- two\n  more\n  1. a\n  2. b\n- [x] done\n- [ ] open\n\n3. three\n4. four",
			"• one\n• two\n  more\n  1. a\n  2. b\n☑ done\n☐ open\n\n3. three\n4. four",
			"• one\n• two\n  more\n  1. a\n  2. b\n☑ done\n☐ open\n\n3. three\n4. four",
			"- one\n- two\n  more\n  1. a\n  2. b\n☑ done\n☐ open\n\n3. three\n4. four",
			"- one\n- two\n  more\n  1. a\n  2. b\n[x] done\n[ ] open\n\n3. three\n4. four",
			"<ul>\n<li>one\n</li>\n<li>two<br>\nmore\n<ol>\n<li>a\n</li>\n<li>b\n</li>\n</ol>\n</li>\n<li>☑ done\n</li>\n<li>☐ open\n</li>\n</ul>\n<ol start=\"3\">\n<li>three\n</li>\n<li>four\n</li>\n</ol>",
		},
		{
			"a table", "| Name | Price |\n|---|--:|\n| **Äpfel** | 1 |\n| 苹果 | 12 |",
			"<pre>Name   Price\n-----  -----\nÄpfel      1\n苹果      12</pre>",
			"```\nName   Price\n-----  -----\nÄpfel      1\n苹果      12\n```",
			"```\nName   Price\n-----  -----\nÄpfel      1\n苹果      12\n```",
			"Name   Price\n-----  -----\nÄpfel      1\n苹果      12",
			"<table>\n<tr><th>Name</th><th>Price</th></tr>\n<tr><td><strong>Äpfel</strong></td><td>1</td></tr>\n<tr><td>苹果</td><td>12</td></tr>\n</table>",
		},
		{
			"links", "[a & b](https://x.example/?a=1&b=2) ![pic](http://x.example/p.png) [m](mailto:a@x.example) [no](javascript:alert(1)) [tg](tg://user?id=1) <https://y.example>",
			"<a href=\"https://x.example/?a=1&amp;b=2\">a &amp; b</a> <a href=\"http://x.example/p.png\">pic</a> <a href=\"mailto:a@x.example\">m</a> no (javascript:alert(1)) tg (tg://user?id=1) https://y.example",
			"<https://x.example/?a=1&amp;b=2|a &amp; b> <http://x.example/p.png|pic> <mailto:a@x.example|m> no (javascript:alert(1)) tg (tg://user?id=1) <https://y.example>",
			"[a & b](https://x.example/?a=1&b=2) [pic](http://x.example/p.png) m (mailto:a@x.example) no (javascript:alert(1)) tg (tg://user?id=1) https://y.example",
			"a & b (https://x.example/?a=1&b=2) pic (http://x.example/p.png) m (mailto:a@x.example) no (javascript:alert(1)) tg (tg://user?id=1) https://y.example",
			"<p><a href=\"https://x.example/?a=1&amp;b=2\">a &amp; b</a> <a href=\"http://x.example/p.png\">pic</a> <a href=\"mailto:a@x.example\">m</a> no (javascript:alert(1)) tg (tg://user?id=1) <a href=\"https://y.example\">https://y.example</a></p>",
		},
		{
			"heading, quote, rule", "# A **b**\n\n> said\n> twice\n>\n> > deep\n\n---\nend",
			"<b>A b</b>\n\n<blockquote>said\ntwice\n\n&gt; deep</blockquote>\n\n———\n\nend",
			"*A b*\n\n> said\n> twice\n> \n> > deep\n\n———\n\nend",
			"# A b\n\n> said\n> twice\n> \n> > deep\n\n———\n\nend",
			"A b\n\n> said\n> twice\n> \n> > deep\n\n---\n\nend",
			"<h1>A <strong>b</strong></h1>\n<blockquote>\n<p>said<br>\ntwice</p>\n<blockquote>\n<p>deep</p>\n</blockquote>\n</blockquote>\n<hr>\n<p>end</p>",
		},
		{
			"hostile", "<script>x</script> <!channel> <@U1> @everyone @here @bob a@b.example <#C1> [x](https://e.example/|y>)",
			"&lt;script&gt;x&lt;/script&gt; &lt;!channel&gt; &lt;@\u200bU1&gt; @\u200beveryone @\u200bhere @\u200bbob a@b.example &lt;#C1&gt; <a href=\"https://e.example/%7Cy%3E\">x</a>",
			"&lt;script&gt;x&lt;/script&gt; &lt;!channel&gt; &lt;@U1&gt; @everyone @here @bob a@b.example &lt;#C1&gt; <https://e.example/%7Cy%3E|x>",
			"<script>x</script> <!channel> <\u200b@U1> @\u200beveryone @\u200bhere @bob a@b.example <\u200b#C1> [x](https://e.example/%7Cy%3E)",
			"<script>x</script> <!channel> <@U1> @everyone @here @bob a@b.example <#C1> x (https://e.example/%7Cy%3E)",
			"<p>&lt;script&gt;x&lt;/script&gt; &lt;!channel&gt; &lt;@U1&gt; @everyone @here @bob a@b.example &lt;#C1&gt; <a href=\"https://e.example/%7Cy%3E\">x</a></p>",
		},
		{
			"escapes", `\*no\* 1\. &lt;b&gt; &amp;amp; C:\Users\me\.config 这是**重点**内容`,
			`*no* 1. &lt;b&gt; &amp;amp; C:\Users\me\.config 这是<b>重点</b>内容`,
			"*no* 1. &lt;b&gt; &amp;amp; C:\\Users\\me\\.config 这是\u200b*重点*\u200b内容",
			`\*no\* 1. <b> &amp; C:\Users\me\\.config 这是**重点**内容`,
			`*no* 1. <b> &amp; C:\Users\me\.config 这是重点内容`,
			`<p>*no* 1. &lt;b&gt; &amp;amp; C:\Users\me\.config 这是<strong>重点</strong>内容</p>`,
		},
		{
			"a table after a line", "look:\n| a\\|b | `c\\|d` |\n|:-:|---\n| ~~x~~ | ~1\n| only\nno bar | ~y~ | more | cut",
			"look:\n\n<pre> a|b    c|d\n------  ---\n  x     ~1\n only\nno bar  ~y~</pre>",
			"look:\n\n```\n a|b    c|d\n------  ---\n  x     ~1\n only\nno bar  ~y~\n```",
			"look:\n\n```\n a|b    c|d\n------  ---\n  x     ~1\n only\nno bar  ~y~\n```",
			"look:\n\n a|b    c|d\n------  ---\n  x     ~1\n only\nno bar  ~y~",
			"<p>look:</p>\n<table>\n<tr><th>a|b</th><th><code>c|d</code></th></tr>\n<tr><td><del>x</del></td><td>~1</td></tr>\n<tr><td>only</td></tr>\n<tr><td>no bar</td><td>~y~</td></tr>\n</table>",
		},
		{
			"code in a list", "1. run\n   ```\n   a\n     b\n   ```\n2. end",
			"1. run\n   <pre>a\n  b</pre>\n2. end",
			"1. run\n   ```\na\n  b\n```\n2. end",
			"1. run\n   ```\na\n  b\n```\n2. end",
			"1. run\n   a\n     b\n2. end",
			"<ol>\n<li>run\n<pre><code>a\n  b</code></pre>\n</li>\n<li>end\n</li>\n</ol>",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, want := range map[string]string{"telegram": c.telegram, "slack": c.slack, "discord": c.discord, "plain": c.plain, "html": c.html} {
				if got := allRenderers()[name](c.md); got != want {
					t.Errorf("%s:\n got %q\nwant %q", name, got, want)
				}
			}
		})
	}
}

// TestProse checks that text without Markdown stays unchanged, even if it is rendered repeatedly.
func TestProse(t *testing.T) {
	for _, s := range []string{
		"2 * 3 * 4", "2*3*4 = 24", "snake_case_name", "a < b && c > d", "1. foo", "2026. A year.", "3) bar\n4) baz", "~5 to ~6", "~/a and ~/b, a~b~c",
		"Grüße, 世界 👋\nsecond line \"quoted\" <b>&</b>", "x[0] = y[1]", "f(x) -> y", "AT&T; me@example.com", "C:\\Users\\me", "#tag", "it's 50% | 60%",
		"[1]: https://example.com", "- one\n- two", "first\n\nsecond", "a_b _c d_ e", "5 > 3",
	} {
		if s != "a_b _c d_ e" {
			if got := markup.Plain(s); got != s {
				t.Errorf("Plain(%q) = %q", s, got)
			}
		}
		once := markup.Plain(s)
		if again := markup.Plain(once); again != once {
			t.Errorf("Plain is not idempotent: %q, then %q", once, again)
		}
		shown := html.UnescapeString(strings.ReplaceAll(strings.NewReplacer("<i>", "", "</i>", "").Replace(markup.Telegram(s)), "\u200b", ""))
		if want := strings.ReplaceAll(once, "- ", "• "); shown != want {
			t.Errorf("Telegram(%q) shows %q", s, shown)
		}
	}
}

// TestHostile checks that excessively nested text is shown unchanged, and that no output contains
// characters that reverse the text direction.
func TestHostile(t *testing.T) {
	turned := "open \u202egpj.exe\u202c and \u2067x\u2069, שלום 👨\u200d👩\u200d👧"
	for name, f := range allRenderers() {
		if got := f(turned); strings.ContainsAny(got, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") || !strings.Contains(got, "שלום 👨\u200d👩\u200d👧") {
			t.Errorf("%s: %q", name, got)
		}
		deep := strings.Repeat("> ", 10_000) + "<b>@everyone <!channel>"
		got := f(deep)
		if !strings.Contains(got, "everyone") || len(got) > 10*len(deep) {
			t.Errorf("%s: %d bytes of %d quotes", name, len(got), 10_000)
		}
		if name != "plain" && name != "discord" && strings.Contains(got, "<b>") {
			t.Errorf("%s: %.100q", name, got[len(got)-100:])
		}
		fence := strings.Repeat("- ```\n  a\n", 200)
		if n := strings.Count(f(fence), "a"); n < 200 {
			t.Errorf("%s: kept %d of 200 code blocks", name, n)
		}
	}
}

// TestBusy checks that no text keeps the parser busy for long.
func TestBusy(t *testing.T) {
	const n = 2_500
	for _, unit := range []string{
		"[", "]", "![", "*a ", "**a ", "_a ", "*a_ ", "a**b", "~~a ", "`", "`a", "``a ` ", "> ", ">", "- ", "* ", "1. ", "<", "<a", "&", "\\", "[a](", "[a](b", "[](", "|", "|a",
		"|-", "a|b\n", "a\n- ", "- a\n", "> a\n", ">\n", "\t", " ", "\n", "#", "# \n", "```\n", "~~~", "=\n", "a\n=\n", "-\n", "*_", "**_", "*** ", "<https://", "(", ")", "![[]()", "- [ ] ",
		"a *b **c ", "c** b* ", "* a *", "|a|\n|-|\n", "1) ", "a\\\n", "&#x", "[a]: b\n", "  - a\n", "*a*", "[*a](b) ", "- > ", "> - ", "1. > - ", "\u200b*", "x\ty\n",
	} {
		for _, s := range []string{strings.Repeat(unit, n/len(unit)), strings.Repeat(unit, n/2/len(unit)) + strings.Repeat("\na", n/4), "|a|b|\n|-|-|\n|" + strings.Repeat(unit, n/len(unit))} {
			for name, f := range allRenderers() {
				began := time.Now()
				f(s)
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("%s of %q... took %v", name, s[:min(len(s), 30)], took)
				} else if took > 300*time.Millisecond {
					t.Logf("%s of %q... took %v", name, s[:min(len(s), 30)], took)
				}
			}
		}
	}
	wide := strings.Repeat("|a", n*2) + "\n" + strings.Repeat("|-", n*2) + strings.Repeat("\n|", n*2)
	for _, f := range allRenderers() {
		f(wide)
	}
	var deep strings.Builder
	for i := range 300 {
		deep.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	for _, f := range allRenderers() {
		f(deep.String())
	}
}

func addSeeds(f *testing.F) {
	for _, s := range []string{
		"**a *b** c*", "```\nopen", "> ```\n> a\n", "- a\n  ```\n  b", "|a|b|\n|-|-|\n|`|`|**x|", "[a](http://x)", "[`a`](https://x \"t\")", "![a[b](c)](http://d)", "<b>&amp;</b>",
		"@everyone <@1> <!here> \\@here", "~~**_a_**~~", "# ## `", "a&#96;b&#42;c&#60;", "&commat;everyone", "* * *\n- [x] a", "``` a\"b\n```", "1. > - a\n> b", "<https://a?b>", "***a**b*", "`` ` ``", "\\`\\`\\`", "http://a`b||c](d",
	} {
		f.Add(s)
	}
}

func checkText(t *testing.T, in, out string) {
	t.Helper()
	if !utf8.ValidString(out) || strings.ContainsAny(out, "\x00\x01\x02") {
		t.Errorf("%q became %q", in, out)
	}
}

// checkTags checks that HTML is balanced and contains only the allowed tags.
func checkTags(t *testing.T, in, out string, allowed map[string][]string, void string) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(out))
	var open []string
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Errorf("%q became %q: %q is open", in, out, open)
			}
			return
		case html.StartTagToken:
			tok := z.Token()
			attrs, ok := allowed[tok.Data]
			if !ok {
				t.Fatalf("%q became %q: <%s>", in, out, tok.Data)
			}
			for _, a := range tok.Attr {
				if !strings.Contains(strings.Join(attrs, " "), a.Key) {
					t.Errorf("%q became %q: attribute %s", in, out, a.Key)
				}
				if a.Key == "href" && !strings.HasPrefix(strings.ToLower(a.Val), "http") && !strings.HasPrefix(strings.ToLower(a.Val), "mailto:") {
					t.Errorf("%q became %q: link to %s", in, out, a.Val)
				}
			}
			if tok.Data != void && tok.Data != "hr" {
				open = append(open, tok.Data)
			}
		case html.EndTagToken:
			tok := z.Token()
			if len(open) == 0 || open[len(open)-1] != tok.Data {
				t.Fatalf("%q became %q: </%s> in %q", in, out, tok.Data, open)
			}
			open = open[:len(open)-1]
		case html.CommentToken, html.DoctypeToken, html.SelfClosingTagToken:
			t.Fatalf("%q became %q", in, out)
		case html.TextToken:
			if raw := string(z.Raw()); strings.ContainsAny(raw, "<>") {
				t.Fatalf("%q became %q: %q", in, out, raw)
			}
		}
	}
}

func FuzzTelegram(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		out := markup.Telegram(s)
		checkText(t, s, out)
		checkTags(t, s, out, map[string][]string{"b": nil, "i": nil, "s": nil, "code": {"class"}, "pre": nil, "blockquote": nil, "a": {"href"}}, "")
	})
}

func FuzzHTML(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		out := markup.HTML(s)
		checkText(t, s, out)
		checkTags(t, s, out, map[string][]string{
			"strong": nil, "em": nil, "del": nil, "code": nil, "pre": nil, "blockquote": nil, "a": {"href"}, "p": nil, "br": nil, "hr": nil, "ul": nil, "ol": {"start"},
			"li": nil, "table": nil, "tr": nil, "td": nil, "th": nil, "h1": nil, "h2": nil, "h3": nil, "h4": nil, "h5": nil, "h6": nil,
		}, "br")
	})
}

func FuzzSlack(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		out := markup.Slack(s)
		checkText(t, s, out)
		if strings.Count(out, "```")%2 != 0 {
			t.Errorf("%q became %q", s, out)
		}
		for i := range len(out) {
			if out[i] != '<' {
				continue
			}
			inside, _, ok := strings.Cut(out[i+1:], ">")
			low := strings.ToLower(inside)
			if !ok || strings.ContainsAny(inside, "<\n") || !strings.HasPrefix(low, "http") && !strings.HasPrefix(low, "mailto:") {
				t.Errorf("%q became %q", s, out)
			}
		}
	})
}

func FuzzDiscord(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		out := markup.Discord(s)
		checkText(t, s, out)
		if strings.Count(strings.ReplaceAll(out, "\\`", ""), "```")%2 != 0 {
			t.Errorf("%q became %q: a block is open", s, out)
		}
		for _, bad := range []string{"@everyone", "@here", "<@"} {
			if strings.Contains(out, bad) {
				t.Errorf("%q became %q", s, out)
			}
		}
		for i := 0; ; {
			n := strings.Index(out[i:], "](")
			if n < 0 {
				break
			}
			i += n + 2
			if low := strings.ToLower(out[i:]); !strings.HasPrefix(low, "http://") && !strings.HasPrefix(low, "https://") && !strings.HasSuffix(out[:i-2], `\`) && !strings.Contains(out, "`") {
				t.Errorf("%q became %q: masks %q", s, out, out[i:])
			}
		}
	})
}

func FuzzPlain(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, s string) { checkText(t, s, markup.Plain(s)) })
}
