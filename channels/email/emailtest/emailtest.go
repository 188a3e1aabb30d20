// Package emailtest is a corpus of replies and forwards for tests. It shows how mail programs in
// many languages lay out an email that quotes another one, as plain text and as HTML. A test fills
// in the sender's text and the quoted text, and checks which sender Hob attributes each part to.
package emailtest

import (
	"embed"
	"fmt"
	"html"
	"mime"
	"path"
	"strings"

	"golang.org/x/tools/txtar"
)

//go:embed layouts
var files embed.FS

// Layout describes how one mail program in one language formats an email.
type Layout struct {
	Client   string // the mail program and the operation: "thunderbird-reply"
	Language string // ISO 639-1 code, for example "hu"
	Subject  string // subject with the prefix of the program and language
	Thread   bool   // whether the email has In-Reply-To and References
	Flowed   bool   // whether the plain text is format=flowed
	// Unseen marks languages whose layouts were not used to write the rules. Their results show how
	// well the rules generalize.
	Unseen bool
	// Own and Order are examples in the language: several lines written by the sender, and one line
	// of the quoted email.
	Own, Order string

	plain, html string
}

// Words holds the strings that are filled into a layout.
type Words struct {
	Own     string // the sender's text; lines end with "\n"
	Order   string // one line of the quoted email
	Name    string // display name of the quoted author; "" means "Eve Example"
	Address string // address of the quoted author; "" means "eve@evil.example"
}

// Layouts returns the corpus, ordered by language. For a layout without an HTML form, HTML returns
// "".
func Layouts() ([]Layout, error) {
	list, err := files.ReadDir("layouts")
	if err != nil {
		return nil, err
	}
	var out []Layout
	for _, f := range list {
		data, err := files.ReadFile(path.Join("layouts", f.Name()))
		if err != nil {
			return nil, err
		}
		more, err := parseLanguage(strings.TrimSuffix(f.Name(), ".txtar"), data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		out = append(out, more...)
	}
	return out, nil
}

// parseLanguage parses one file: the examples in the language, then a .txt section for each layout,
// and a .html section for each layout that also has an HTML form.
func parseLanguage(code string, data []byte) ([]Layout, error) {
	a := txtar.Parse(data)
	example := readSettings(string(a.Comment))
	var out []Layout
	for _, f := range a.Files {
		client, kind, _ := strings.Cut(f.Name, ".")
		if kind == "html" {
			if len(out) == 0 || out[len(out)-1].Client != client {
				return nil, fmt.Errorf("%s has no plain form above it", f.Name)
			}
			out[len(out)-1].html = string(f.Data)
			continue
		}
		head, body, ok := strings.Cut(string(f.Data), "\n\n")
		if !ok {
			return nil, fmt.Errorf("%s has no body", f.Name)
		}
		s := readSettings(head)
		out = append(out, Layout{
			Client: client, Language: code, Subject: s["Subject"], Thread: s["Thread"] == "yes", Flowed: s["Flowed"] == "yes", Unseen: example["Seen"] != "yes",
			Own: strings.ReplaceAll(example["Own"], `\n`, "\n"), Order: example["Order"], plain: strings.TrimSuffix(body, "\n"),
		})
	}
	return out, nil
}

func readSettings(s string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(s) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			out[key] = value
		}
	}
	return out
}

// Name identifies a layout in test output: "hu/thunderbird-reply".
func (l Layout) Name() string { return l.Language + "/" + l.Client }

// Marked reports whether the layout shows where the quoted email begins. Pasted text has no such
// mark, so only the first paragraph of the reply counts as the sender's.
func (l Layout) Marked() bool { return !strings.Contains(l.plain, "{own1}") }

// Words returns the examples in the layout's language.
func (l Layout) Words() Words { return Words{Own: l.Own, Order: l.Order} }

// Plain returns the body as plain text.
func (l Layout) Plain(w Words) string {
	return w.fillLayout(l.plain, func(s string) string { return s })
}

// HTML returns the body as HTML, or "" if the layout has no HTML form.
func (l Layout) HTML(w Words) string {
	return w.fillLayout(l.html, func(s string) string { return strings.ReplaceAll(html.EscapeString(s), "\n", "<br>\n") })
}

func (w Words) fillLayout(layout string, escape func(string) string) string {
	if w.Name == "" {
		w.Name = "Eve Example"
	}
	if w.Address == "" {
		w.Address = "eve@evil.example"
	}
	first, _, _ := strings.Cut(w.Own, "\n\n")
	return strings.NewReplacer("{own}", escape(w.Own), "{own1}", escape(first), "{order}", escape(w.Order), "{name}", escape(w.Name), "{address}", escape(w.Address)).Replace(layout)
}

// The forms of an email.
const (
	PlainForm = "plain"
	HTMLForm  = "html"
	BothForms = "both" // multipart/alternative
)

// Mail returns the header fields and the body of an email in the given form, with "\n" as line end.
// It omits From, To, Date and Message-ID, which the caller prepends. answers is the Message-ID,
// without brackets, to which a layout with Thread refers.
func (l Layout) Mail(w Words, form, answers string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Subject: %s\nMIME-Version: 1.0\n", mime.QEncoding.Encode("utf-8", l.Subject))
	if l.Thread {
		fmt.Fprintf(&b, "In-Reply-To: <%s>\nReferences: <%[1]s>\n", answers)
	}
	plain := "Content-Type: text/plain; charset=utf-8\n"
	if l.Flowed {
		plain = "Content-Type: text/plain; charset=utf-8; format=flowed\n"
	}
	plain += "Content-Transfer-Encoding: 8bit\n\n" + l.Plain(w) + "\n"
	marked := "Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n" + l.HTML(w) + "\n"
	switch form {
	case HTMLForm:
		b.WriteString(marked)
	case BothForms:
		const boundary = "=_emailtest_boundary"
		fmt.Fprintf(&b, "Content-Type: multipart/alternative; boundary=\"%[1]s\"\n\n--%[1]s\n%[2]s--%[1]s\n%[3]s--%[1]s--\n", boundary, plain, marked)
	default:
		b.WriteString(plain)
	}
	return b.String()
}
