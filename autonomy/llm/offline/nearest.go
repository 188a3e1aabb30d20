package offline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hob/platform/text/lazyregexp"
	"hob/templates"
)

// nearestExample returns the example sentence in the grammar that is most similar to said, or "" if
// none is similar enough. An example is similar enough if it contains the first significant word of said,
// and half of them and more than one, or a third of them if the first is rare. Rare words have a higher weight.
// Examples that name a record, such as "cancel the stretch reminder", are not offered, because the record may
// not exist.
func (g *grammar) nearestExample(said string) string {
	var toks []string
	for _, t := range splitTokens(oneLine(said, 400), g.lex) {
		if t.kind == word && len(t.norm) > 2 && !isSmallWord(t.norm) && !g.lex.containsWord("question-words", t.norm) {
			toks = append(toks, t.norm)
		}
	}
	if len(toks) == 0 {
		return ""
	}
	seen := map[string]int{}
	for _, in := range g.intents {
		for _, ex := range in.examples {
			for w := range wordSet(ex) {
				seen[w]++
			}
		}
	}
	best, bestScore := "", 0.0
	for _, in := range g.intents {
		for _, ex := range in.examples {
			score, common := 0.0, 0.0
			words := wordSet(ex)
			for _, t := range toks {
				like, weight := 0.0, 0.0
				for w := range words {
					if l := wordLikeness(t, w); l > like {
						like, weight = l, 1/math.Sqrt(float64(seen[w]))
					}
				}
				common += like
				score += like * weight
			}
			score /= math.Sqrt(float64(len(words)) + 3)
			first, _, _ := strings.Cut(ex, " ")
			near := 2*common >= float64(len(toks)) && common >= 1.5 || 3*common >= float64(len(toks)) && seen[toks[0]] <= 3 && !g.starters[toks[0]]
			if score > bestScore && near && words[toks[0]] && !g.lex.containsWord("record-verbs", first) {
				best, bestScore = ex, score
			}
		}
	}
	return best
}

// replyUnknown returns the text for a message that matches no request.
func (g *grammar) replyUnknown(said string) string {
	if toks := splitTokens(oneLine(said, 400), g.lex); len(toks) > 2 && g.lex.containsWord("statement-starts", toks[0].norm) {
		return g.replyText("statement")
	}
	if text := g.replyCommand(said); text != "" {
		return text
	}
	if ex := g.nearestExample(said); ex != "" {
		return g.replyText("not-understood", "{words}", quoteText(said), "{example}", quoteText(ex))
	}
	return g.replyText("not-understood-far", "{words}", quoteText(said))
}

// replyCommand names the command and the page that do what a chat must not do, with the present value. It
// returns "" for other texts.
func (g *grammar) replyCommand(said string) string {
	about, command := commandFor(said, g.lex)
	switch {
	case command == "":
		return ""
	case about == aboutTemplates && command == templateList && isListQuestion(said):
		return g.replyText("templates", "{list}", describeTemplates())
	}
	now, page := "", ""
	if v := g.setup[about]; v != "" {
		now = "Your " + about + ": " + v + ". "
	}
	switch about {
	case aboutQuiet, aboutTemplates:
		page = ", or open the page Settings (`hob open`)"
	case aboutMail, aboutSkills:
		page = ", or open the page Channels (`hob open`)"
	}
	return g.replyText("not-understood-command", "{about}", about, "{now}", now, "{command}", command, "{page}", page)
}

// Topics that only commands and the dashboard can change.
const (
	aboutQuiet     = "quiet hours"
	aboutMail      = "mail accounts"
	aboutTemplates = "the template"
	aboutSkills    = "skills"
)

// commandFor returns the command for something that only commands and the dashboard can do, such as
// "switch to the study coach template", and what it is for. It returns "" for other texts.
func commandFor(said string, lex *lexicon) (about, command string) {
	var words []string
	for _, t := range splitTokens(oneLine(said, 400), lex) {
		if t.kind == word {
			words = append(words, t.norm)
		}
	}
	for _, c := range []struct{ words, about, command string }{
		{"quiet hours", aboutQuiet, quietCommand(said)},
		{"connect mail", aboutMail, "hob account add ADDRESS"},
		{"connect email", aboutMail, "hob account add ADDRESS"},
		{"add mail account", aboutMail, "hob account add ADDRESS"},
		{"mail account", aboutMail, "hob account add ADDRESS"},
		{"email account", aboutMail, "hob account add ADDRESS"},
		{"connect telegram", "channels", "hob channel add telegram"},
		{"connect discord", "channels", "hob channel add discord"},
		{"connect slack", "channels", "hob channel add slack"},
		{"template", aboutTemplates, templateCommand(said)},
		{"templates", aboutTemplates, templateCommand(said)},
		{"personality", aboutTemplates, templateCommand(said)},
		{"more casual", aboutTemplates, templateCommand(said)},
		{"more formal", aboutTemplates, templateCommand(said)},
		{"skill", aboutSkills, "hob skill add FOLDER"},
		{"skills", aboutSkills, "hob skill list"},
		{"api key", "models", "hob setup"},
		{"model cost", "the costs of models", "hob usage"},
		{"token cost", "the costs of models", "hob usage"},
	} {
		all := true
		for w := range strings.FieldsSeq(c.words) {
			all = all && slices.Contains(words, w)
		}
		if all {
			return c.about, c.command
		}
	}
	return "", ""
}

// clockWords matches a time of day such as "22", "10 pm" or "7:00".
var clockWords = lazyregexp.New(`\b(\d{1,2})(?::(\d\d))?\s*(am|pm)?\b`)

// quietCommand returns the command that sets the quiet hours, with the two times in said.
func quietCommand(said string) string {
	const command = "hob notify quiet "
	found := clockWords.FindAllStringSubmatch(strings.ToLower(said), -1)
	if len(found) != 2 {
		return command + "22:00-07:00"
	}
	var times []string
	for _, m := range found {
		hour, _ := strconv.Atoi(m[1]) // matches digits only
		switch {
		case m[3] == "pm" && hour < 12:
			hour += 12
		case m[3] == "am" && hour == 12:
			hour = 0
		}
		times = append(times, fmt.Sprintf("%02d:%s", hour, cmp.Or(m[2], "00")))
	}
	return command + strings.Join(times, "-")
}

// templateCommand returns the command that applies the built-in template that said names.
func templateCommand(said string) string {
	said = strings.ReplaceAll(strings.ToLower(said), " ", "-")
	for _, name := range templates.BuiltinNames() {
		if strings.Contains(said, name) {
			return "hob template use " + name
		}
	}
	return templateList
}

// templateList is the command that lists the templates.
const templateList = "hob template list"

// isListQuestion reports whether a text asks which items there are, such as "which templates are there?".
func isListQuestion(said string) bool {
	first := strings.ToLower(firstField(said))
	return slices.Contains([]string{"which", "what", "list", "show"}, first)
}

// describeTemplates returns one line for each built-in template.
func describeTemplates() string {
	list, _ := templates.Builtins() // embedded and tested, so it never fails
	var lines []string
	for _, t := range list {
		lines = append(lines, "- "+t.Name+": "+t.Description)
	}
	return strings.Join(lines, "\n")
}

// wordSet returns the set of words in an example.
func wordSet(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune(" ,.?!:;~/'“”", r) }) {
		out[w] = true
	}
	return out
}

// isSmallWord reports whether w has little meaning for the request.
func isSmallWord(w string) bool {
	switch w {
	case "the", "a", "to", "my", "me", "i", "is", "at", "for", "on", "in", "and", "of", "that", "s", "it", "do", "you", "what", "how":
		return true
	}
	return false
}

// wordLikeness returns 1 for equal words, and less for a common prefix or a typo.
func wordLikeness(a, b string) float64 {
	switch {
	case a == b:
		return 1
	case isTypo(a, b):
		return 0.7
	case len(a) >= 4 && len(b) >= 4 && a[:4] == b[:4]:
		return 0.6
	}
	return 0
}
