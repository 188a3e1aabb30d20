package canvas

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// onlyAllowed returns what HTML contains besides allowed elements and harmless attributes.
func onlyAllowed(t testing.TB, body string) (bad []string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type == html.CommentNode {
			bad = append(bad, "comment "+n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		frame := n.Data == "html" || n.Data == "head" || n.Data == "body" || n.Data == "colgroup" || n.Data == "col"
		if n.Namespace != "" || !frame && !isAllowedElement(n.Data) {
			bad = append(bad, n.Data)
		}
		for _, a := range n.Attr {
			if _, ok := allowedAttribute(n.Data, a.Key, a.Val); !ok {
				bad = append(bad, n.Data+" "+a.Key)
			}
		}
	}
	return bad
}

func TestSanitizeHTML(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain elements", `<h1>A</h1><p>b <b>c</b></p>`, `<h1>A</h1><p>b <b>c</b></p>`},
		{"a script", `a<script>alert(1)</script>b`, `ab`},
		{"a script in upper case, unclosed", `a<SCRIPT SRC=//x>alert(1)`, `a`},
		{"handlers and styles", `<p onclick="x()" style="background:url(//x)" class=a id=b>t</p>`, `<p>t</p>`},
		{"a link", `<a href="javascript:x">t</a>`, `t`},
		{"a form", `<form action=//x><input name=a><button>Send</button></form>`, `Send`},
		{"a picture", `<img src=//x onerror=y>t`, `t`},
		{"a refresh", `<meta http-equiv=refresh content="0;url=//x">t`, `t`},
		{"a base and a style sheet", `<base href=//x><link rel=stylesheet href=//x>t`, `t`},
		{"a style", `<style>@import url(//x)</style>t`, `t`},
		{"a frame", `<iframe src=//x srcdoc="<script>"></iframe>t`, `t`},
		{"a drawing with a script", `<svg><script>x</script><foreignObject><p>y</p></foreignObject></svg>t`, `t`},
		{"nested drawings", `<svg><svg></svg><a xlink:href="javascript:x">y</a></svg>t`, `t`},
		{"a self-closed drawing", `<svg/>t`, `t`},
		{"a self-closed script", `<script/>alert(1)</script>t`, `t`},
		{"a template", `<template><p>x</p></template>t`, `t`},
		{"escaped text", `&lt;script&gt;x&lt;/script&gt;`, `&lt;script&gt;x&lt;/script&gt;`},
		{"a broken tag", `<p <b>t`, `<p>t</p>`},
		{"an attribute that breaks out", `<td colspan='2"><script>x</script>'>t`, `<td>t</td>`},
		{"spans of a cell", `<td colspan=2 rowspan=999>t</td>`, `<td colspan="2">t</td>`},
		{"unclosed and wrongly closed", `<ul><li>a<li>b</ul></p>c`, `<ul><li>a<li>b</li></li></ul>c`},
		{"a comment", `a<!-- <p>x</p> -->b`, `ab`},
		{"direction controls", "a\u202egpj.exe", `agpj.exe`},
		{"a meter", `<meter value=3 max=10 onx=1></meter>`, `<meter value="3" max="10"></meter>`},
		{"raw text elements", `<xmp><p>x</p></xmp><noscript><p>y</p></noscript><textarea></p></textarea>t`, `t`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := sanitizeHTML(tc.in); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
	if got := sanitizeHTML(strings.Repeat("<div>", 10_000) + "x"); strings.Count(got, "<div>") != maxDepth || !strings.HasSuffix(got, strings.Repeat("</div>", maxDepth)) {
		t.Errorf("deep nesting gives %d elements", strings.Count(got, "<div>"))
	}
}

func FuzzSanitizeHTML(f *testing.F) {
	for _, s := range []string{
		`<p>a</p>`, `<math><mi><mglyph><style><img src onerror=x></style></mglyph></mi></math>`, `<svg><p><style><g title="</style><img src onerror=x>">`,
		`<noscript><p title="</noscript><img src=x>">`, `<table><p>a<td><script>`, `<a href="&#106;avascript:x">`, "<scr\x00ipt>", `<!--><img>-->`, `<plaintext>x`, `<details open ontoggle=x>`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := sanitizeHTML(s)
		if bad := onlyAllowed(t, out); bad != nil {
			t.Errorf("%q becomes %q, which contains %v", s, out, bad)
		}
		if strings.Contains(out, "<!--") {
			t.Errorf("%q becomes %q", s, out)
		}
	})
}

func TestRenderWidget_ShowsTextOfEveryKindLiterally(t *testing.T) {
	const evil = `<img src=x onerror=y>`
	for kind, content := range map[string]string{
		kindMarkdown: "# Head\n\n" + evil + " [link](https://example.org) ![p](https://example.org/p.png)\n\n| a | b |\n|---|---|\n| 1 | 2 |",
		kindHTML:     "<h1>Head</h1>" + evil,
		kindTable:    "Head,n\n" + evil + ",1",
		kindBar:      "Head," + evil + ",n\n" + evil + ",1,2",
		kindLine:     "Head,n\na,\nb,-2.5\nc,\nd,1",
	} {
		body := renderWidget(Widget{Title: evil, Kind: kind, Content: content})
		if !strings.Contains(body, "Head") {
			t.Errorf("%s: the content is missing: %s", kind, body)
		}
		for _, bad := range []string{"<img", "href", "src=", "style="} {
			if strings.Contains(body, bad) && !strings.Contains(body, "&lt;img src=") {
				t.Errorf("%s contains %s: %s", kind, bad, body)
			}
		}
	}
	if body := renderWidget(Widget{Kind: kindBar, Content: "[forgotten]"}); body != "<pre>[forgotten]</pre>" {
		t.Errorf("a chart whose content was erased: %s", body)
	}
}

func TestParseGrid(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"commas", "a,b\n1,2", "a,b\n1,2"},
		{"semicolons", "a;b\n1,5;2", "a,b\n\"1,5\",2"},
		{"tabs", "a\tb\n1\t2", "a,b\n1,2"},
		{"quotes", "a,b\n\"x, y\",2", "a,b\n\"x, y\",2"},
		{"a short row", "a,b\n1", "a,b\n1,"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, err := parseGrid(tc.in)
			if err != nil || g.formatCSV() != tc.want {
				t.Errorf("got %q, %v, want %q", g.formatCSV(), err, tc.want)
			}
		})
	}
}

func FuzzParseGrid(f *testing.F) {
	f.Add("a,b\n1,2")
	f.Add("a;\"b\n\";c")
	f.Fuzz(func(t *testing.T, s string) {
		g, err := parseGrid(s)
		if err != nil {
			return
		}
		for _, row := range g.rows {
			if len(row) != len(g.head) {
				t.Fatalf("%q: a row has %d values of %d", s, len(row), len(g.head))
			}
		}
		for _, kind := range []string{kindTable, kindBar, kindLine} {
			renderWidget(Widget{Title: "t", Kind: kind, Content: s})
		}
	})
}

func TestParseNumber(t *testing.T) {
	for in, want := range map[string]float64{"1": 1, " 2.5 ": 2.5, "$1,234.50": 1234.5, "12%": 12, "-3": -3} {
		if got, ok := parseNumber(in); !ok || got != want {
			t.Errorf("parseNumber(%q) = %v, %v, want %v", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "x", "1,5", "NaN", "Inf", "1e300", "2026-01-02"} {
		if got, ok := parseNumber(in); ok {
			t.Errorf("parseNumber(%q) = %v, want no number", in, got)
		}
	}
}
