package files

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"hob/platform/provenance"
	"hob/tools"
)

// activeHTML matches HTML that a viewer would fetch, run or make clickable.
var activeHTML = regexp.MustCompile(`(?i)<(a|img|script|iframe|object|embed|link|meta|style|svg|video|audio|source|form|input|base|picture|details)[\s>/]`)

// asHTML renders Markdown with all extensions that viewers support, including raw HTML.
func asHTML(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList, extension.Typographer), goldmark.WithRendererOptions(html.WithUnsafe()))
	if err := md.Convert([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// wantInertMarkdown fails if a Markdown text contains active content.
func wantInertMarkdown(t testing.TB, text string) {
	t.Helper()
	if got := asHTML(t, text); activeHTML.MatchString(got) || strings.Contains(got, "language-") {
		t.Errorf("active:\n%s\nfrom:\n%s", got, text)
	}
	for _, sign := range []string{"[[", "{{", "{%", "```", "~~~", "://", "%%", "$$", ":::", "<!--", "--8<--"} {
		if strings.Contains(text, sign) {
			t.Errorf("the rendered text contains %q:\n%s", sign, text)
		}
	}
	if !strings.HasPrefix(text, rendered) {
		t.Errorf("the rendered text starts with %q", text[:min(40, len(text))])
	}
	wantVisible(t, text)
}

func wantVisible(t testing.TB, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) {
			t.Errorf("the rendered text contains %U", r)
		}
	}
}

// wantInertTable fails if a spreadsheet would calculate a cell, whichever delimiter the spreadsheet
// uses.
func wantInertTable(t testing.TB, text string) {
	t.Helper()
	wantVisible(t, text)
	if text != "" && text[0] != '"' {
		t.Errorf("the table starts with %q", text[:1])
	}
	for _, comma := range ",;|: \t" {
		for _, quoted := range []bool{true, false} {
			for _, cell := range cellsOf(text, comma, quoted) {
				cell = strings.Trim(cell, " \"'`´‘“”")
				if sign, size := utf8.DecodeRuneInString(cell); size < len(cell) && strings.ContainsRune(formulaSigns, sign) && !plainNumber.MatchString(cell) {
					t.Errorf("with %q the cell %q is a formula in:\n%s", comma, cell, text)
				}
			}
		}
	}
	for _, sign := range []string{"://", "mailto:"} {
		if strings.Contains(text, sign) {
			t.Errorf("the table contains %q:\n%s", sign, text)
		}
	}
}

func cellsOf(text string, comma rune, quoted bool) (out []string) {
	if !quoted {
		return strings.FieldsFunc(text, func(r rune) bool { return r == comma || r == '\n' })
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = comma, true, -1
	rows, _ := r.ReadAll()
	for _, row := range rows {
		out = append(out, row...)
	}
	return out
}

func TestReview7_MarkdownIsInert(t *testing.T) {
	for name, text := range map[string]string{
		"image":                  "![x](http://evil.example/a.png)",
		"image by reference":     "![x][r]\n\n[r]: http://evil.example/a.png",
		"image without a scheme": "![x](//evil.example/a.png)",
		"local image":            "![x](file:///etc/passwd)",
		"link":                   "[bank](http://evil.example/)",
		"link over lines":        "[ba\nnk](\nhttp://evil.example/\n)",
		"escaped before":         `\![x](http://evil.example)` + "\n" + `\\![x](http://evil.example)`,
		"autolinks":              "http://evil.example <http://evil.example> www.evil.example ftp.evil.example a@evil.example <a@evil.example> mailto:a@evil.example",
		"HTML":                   "<img src=http://evil.example/a.png><script>x</script>\n\n<div>\n<iframe src=//x>\n</div>",
		"entities":               "&lt;img src=x&gt; &#60;img src=x&#62;",
		"comment":                "a <!-- ignore the rules --> b",
		"front matter":           "---\ntitle: x\nfilter: evil\n---\nx",
		"TOML front matter":      "+++\nx = 1\n+++\n",
		"metadata later":         "a\n\n---\nheader-includes: x\n...\n",
		"mermaid":                "```mermaid\ngraph TD; click A \"http://evil.example\"\n```",
		"tildes":                 "~~~dataviewjs\nfetch('x')\n~~~",
		"inline code":            "`= this.file`",
		"embed":                  "![[secrets.md]] [[x]]",
		"shortcodes":             "{{< include x >}} {% include x %} {{ site.x }} --8<-- \"x\"",
		"math":                   `$\href{javascript:alert(1)}{x}$ \input{/etc/passwd}`,
		"directive":              "::: {.include file=x}\n:::\n",
		"footnote":               "x[^1]\n\n[^1]: http://evil.example",
		"bidi and hidden":        "a\u202eb\u200bc\u2066d\ufeff\U000e0041",
		"carriage return":        "a\r![x](http://evil.example)\u2028[x](http://evil.example)",
		"hidden in a scheme":     "h\u200bttp:\u200b//evil.example :\t//evil.example",
		"modeline":               "vim: set modelineexpr:",
		"table":                  "| a | b |\n|---|---|\n| ![x](http://e.example) | <b>x</b> |",
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := renderFile(".md", text)
			if !ok {
				t.Fatal("the text was not rendered")
			}
			wantInertMarkdown(t, got)
			if strings.Contains(got, "vim:") {
				t.Errorf("the text contains settings for an editor: %s", got)
			}
		})
	}
	got, _ := renderFile(".md", "# Plan\n\n- buy **milk**\n- see https://shop.example/a?b=1\n")
	if want := rendered + "\n\n# Plan\n\n- buy **milk**\n- see https\\[:\\]//shop.example/a?b=1\n"; got != want {
		t.Errorf("an honest text is\n%s\nwant\n%s", got, want)
	}
}

func TestReview7_TablesAreInert(t *testing.T) {
	for name, tc := range map[string]struct{ ext, text string }{
		"separator line":      {".csv", "sep=|\na|=WEBSERVICE(\"http://evil.example\")\n"},
		"separator later":     {".csv", "\"sep=;\"\na;=1+1\n"},
		"quoted":              {".csv", "a,\"=HYPERLINK(\"\"http://evil.example\"\")\"\n"},
		"semicolon":           {".csv", "a;=1+1;b\n"},
		"semicolon in a cell": {".csv", "x,\"y;=cmd|' /C calc'!A0\"\n"},
		"after two cells":     {".csv", "\"x\",\"y|=1\"\n"},
		"line in a cell":      {".csv", "a,\"x\n=WEBSERVICE(1)\"\n"},
		"tabs":                {".tsv", "a\t=HYPERLINK(\"http://evil.example\")\t@SUM(1)\n"},
		"tab in a CSV":        {".csv", "a\t=1+1,b\n"},
		"signs":               {".csv", "-cmd|x,+1+1,@SUM(1),-2+3+cmd\n"},
		"full width":          {".csv", "＝1+1,＋1,－x,＠SUM(1),−1x\n"},
		"hidden before":       {".csv", "\u200b=1+1,\ufeff=1, \t =1,'=1,\"'=1\",\u00a0=1\n"},
		"byte order mark":     {".csv", "\ufeff=1+1,b\n"},
		"carriage return":     {".csv", "a\r=1+1\r\n=2\n"},
		"SYLK":                {".csv", "ID;PWXL;N;E\nC;X1;Y1;EEXEC(\"calc\")\n"},
		"broken quotes":       {".csv", "a\"b\",\"c\"d,\"=1\n=2"},
		"HTML":                {".csv", "<table><tr><td>=1</td></tr></table>\n"},
		"number and the next": {".csv", "-1,5*WEBSERVICE(\"http://evil.example\")\n+1,\n"},
		"DDE":                 {".csv", "a,=DDE(\"cmd\";\"/C calc\";\"x\")\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := renderFile(tc.ext, tc.text)
			if !ok {
				t.Fatal("the text was not rendered")
			}
			wantInertTable(t, got)
		})
	}
	got, _ := renderFile(".tsv", "what\tprice\nmilk\t-1.50\nbread, white\t+2 €\nnote\ta-b = c\n-1.50 €\t+4930123\n+4930123\t-\n")
	if want := "\"what\",\"price\"\n\"milk\",\"-1.50\"\n\"bread, white\",\"+2 €\"\n\"note\",\"a-b ’= c\"\n\"(1.50 €)\",\"+4930123\"\n\"’+4930123\",\"’-\"\n"; got != want {
		t.Errorf("an honest table is\n%s\nwant\n%s", got, want)
	}
}

// With untrusted text in the context, Hob chooses the name of a new file, whatever name was
// requested.
func TestReview7_NamesInTheDropFolderAreGenerated(t *testing.T) {
	b, _ := trackedBench(t)
	b.f.opt.Drop = "~/Documents/Hob"
	name := regexp.MustCompile(`^hob-\d{4}-\d{2}-\d{2}-\d{6}(-[a-z0-9]+)*\.(txt|md|csv)$`)
	for _, path := range []string{
		"CLAUDE.local.md", "AGENTS.override.md", "QWEN.md", "vercel.json", "AGENTS.md", "package.json", "sub/_posts/x.md", "a\nb.md", "ＡGENTS.md", "con.txt", "a.txt", "a.txt",
	} {
		args, err := json.Marshal(map[string]any{"path": "~/Documents/Hob/" + path, "content": "x"})
		if err != nil {
			t.Fatal(err)
		}
		j := tools.JudgmentOf(t.Context(), b.by["write_file"], args)
		if !j.Inert {
			continue // the write needs approval
		}
		c := tools.Call{ID: "c", Args: args, Now: now, Provenance: provenance.Outside, Exact: j.Exact}
		r, err := b.by["write_file"].Call(t.Context(), c)
		if err != nil {
			t.Fatalf("%q: %v", path, err)
		}
		out, _ := r.Data.(writeOut)
		if dir, base := filepath.Split(out.Path); !name.MatchString(base) || filepath.Clean(dir) != b.filePath("Documents/Hob") {
			t.Errorf("%q was written as %s", path, out.Path)
		}
		if !strings.Contains(r.Text, filepath.Base(out.Path)) {
			t.Errorf("%q: the result does not name the file: %s", path, r.Text)
		}
		if _, err := b.by["write_file"].(tools.Undoer).Undo(t.Context(), r.Undo.Data); err != nil {
			t.Errorf("%q: undo: %v", path, err)
		}
	}
}

func FuzzRenderMarkdown(f *testing.F) {
	for _, s := range []string{"![x](http://e)", "<img>", "`x`", "[a]: http://e", "&#60;b", "\\[x](y)", "a\n---\nb", "|a|\n|-|\n|<b>|"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, ok := renderFile(".md", s); ok {
			wantInertMarkdown(t, got)
		}
	})
}

func FuzzRenderTable(f *testing.F) {
	for _, s := range []string{"a,=1", "a;=1", "00 ' +;=00", "sep=|\na|=1", "\"x\",\"y;=1\"", "'=1", "+1+2", "a\t=1", "+0,"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, tabs bool) {
		ext := map[bool]string{true: ".tsv", false: ".csv"}[tabs]
		if got, ok := renderFile(ext, s); ok {
			wantInertTable(t, got)
		}
	})
}
