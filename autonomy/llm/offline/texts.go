package offline

import (
	_ "embed"
	"strings"
)

//go:embed texts/help.md
var helpText string

//go:embed texts/replies.md
var repliesText string

// replyText returns a text of texts/, with {name} and the given pairs filled in.
func (g *grammar) replyText(title string, pairs ...string) string {
	body := helpText
	if title != "help" {
		_, after, _ := strings.Cut("\n"+repliesText, "\n# "+title+"\n")
		body, _, _ = strings.Cut(after, "\n# ")
	}
	return strings.NewReplacer(append(pairs, "{name}", g.name)...).Replace(strings.TrimSpace(body))
}

// quoteText puts typographic quotes around a text, shortened to one line.
func quoteText(s string) string { return "“" + oneLine(s, 160) + "”" }

// oneLine folds white space and cuts at a rune boundary.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	n := 0
	for i := range s {
		if n == limit {
			return strings.TrimSpace(s[:i]) + "…"
		}
		n++
	}
	return s
}
