package offline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/person"
	"hob/platform/text/textnorm"
)

// composeAnswer combines the tools' results into the text that ends the turn. Each result is
// complete prose and is used unchanged. This also applies to errors, because they include the
// remedy.
func (t *turn) composeAnswer(p plan) string {
	var parts []string
	made := t.callsSince(t.begin)
	from := len(made) - len(t.callsSince(t.said+1))
	for _, l := range slices.Backward(t.lookups) {
		made = slices.Delete(made, from+l[0], from+l[0]+l[1])
	}
	for i, d := range made {
		switch {
		case d.isSuperseded(p, made[i+1:]):
		case d.result == nil:
			parts = append(parts, t.g.replyText("no-result", "{tool}", d.name))
		case p.lang != nil:
			parts = append(parts, p.lang.localResult(d, p))
		case d.result.Error && strings.Contains(d.result.Text, severalMatch):
			parts = append(parts, formatChoices(choicesIn(d.result.Text)))
		case d.result.Error && d.name == "remember" && strings.Contains(d.result.Text, "did not ask to keep it"):
			parts, p.say = append(parts, t.g.replyText("secret", "{kind}", "a secret")), ""
		case d.result.Error && d.name == "undo" && len(p.calls) == 1 && recordKinds[stringOf(p.calls[0].args["id"])] && strings.Contains(d.result.Text, "not found"):
			parts = append(parts, "I found no action about a "+stringOf(p.calls[0].args["id"])+" to undo, so I changed nothing.")
		case d.result.Error:
			parts = append(parts, formatFailure(d.result.Text))
		case d.name == "undo" && len(p.then) > 0 && i < len(made)-1: // the next result replaces this one
		case d.name == "log_expense" && len(p.then) > 0 && i > 0:
			parts = append(parts, "Corrected. "+formatSuccess(d, p))
		case d.name == "recall":
			parts = append(parts, t.withAge(formatSuccess(d, p)))
		default:
			parts = append(parts, formatSuccess(d, p))
		}
	}
	parts = joinListParts(parts, p.listOf())
	if _, missing := t.toToolCalls(p.calls); len(missing) > 0 && len(t.r.Tools) > 0 {
		parts = append(parts, t.g.replyText("missing-tool", "{tool}", strings.Join(missing, ", ")))
	}
	if p.say != "" && !(len(parts) > 0 && p.say == t.g.replyText("forget-it")) { // "forget it, cancel that one"
		parts = append(parts, p.say)
	}
	if p.question != nil {
		parts = append(parts, p.question.text)
	}
	if note := t.unrecordedNote(); note != "" && p.lang == nil && p.question == nil && !t.g.changesRecords(p) {
		parts = append(parts, note)
	}
	return strings.Join(parts, "\n\n")
}

// recordKinds are the kinds of records that "undo that last reminder" may name.
var recordKinds = map[string]bool{"reminder": true, "task": true, "note": true, "expense": true, "habit": true, "fact": true, "goal": true, "watcher": true, "schedule": true}

// unrecordedNote returns what an answer from stored records lacks: a recent statement that Hob did not record, or a
// reminder that it only offered.
func (t *turn) unrecordedNote() string {
	if !slices.ContainsFunc(t.callsSince(t.said+1), func(d done) bool { return t.g.lex.containsWord("answering-tools", d.name) }) {
		return ""
	}
	talk := &dialogue{past: t.listExchanges()}
	waiting := ""
	for n := range recent {
		x, ok := talk.exchangeAgo(n)
		offered := offeredText.FindStringSubmatch(x.reply)
		if waiting != "" && (!ok || !strings.HasSuffix(x.reply, "?")) {
			return waiting
		}
		switch {
		case !ok, slices.ContainsFunc(x.acts, pastCall.changesRecords), strings.HasPrefix(x.reply, "OK"):
			return ""
		case offered != nil:
			return offered[1] + " is not set, because my question is not answered yet."
		case t.isUnrecorded(x, n):
			return "I did not record " + quoteText(x.own) + "."
		case strings.HasSuffix(x.reply, "?") && !t.g.isQuestionText(x.own, t.r.Now):
			waiting = "I did nothing about " + quoteText(x.own) + " yet, because my question about it is not answered."
		}
	}
	return waiting
}

// isUnrecorded reports whether Hob recorded nothing of a statement n exchanges ago that may answer the present question.
func (t *turn) isUnrecorded(x exchange, n int) bool {
	missed, _, _ := strings.Cut(t.g.replyText("not-understood-far", "{words}", "“"), "“")
	stated := strings.HasPrefix(x.reply, t.g.replyText("statement")) || strings.Contains(x.reply, "so I logged nothing")
	if len(x.acts) > 0 || !stated && !strings.HasPrefix(x.reply, missed) && !strings.HasPrefix(x.reply, "I cannot use ") || t.g.isQuestionText(x.own, t.r.Now) {
		return false
	}
	return stated && n < 2 || n < 2 && len(strings.Fields(x.own)) > 2 || hasEveryWord(x.own, t.nearWords()) && len(t.nearWords()) > 0
}

// offeredText matches the question that offers a reminder.
var offeredText = lazyregexp.New(`Should I remind you .* of (“[^”]+”)\?$`)

// withAge adds the age to the answer to "how old is my mum?" if the answer contains one date of birth.
func (t *turn) withAge(text string) string {
	if !strings.Contains(strings.ToLower(t.own), "how old") {
		return text
	}
	now := t.r.Now
	var born []time.Time
	for _, m := range dateparse.Find(text, now) {
		if m.Moment != nil && m.Moment.Grain == dateparse.Day && strings.Contains(m.Text, strconv.Itoa(m.Moment.Time.Year())) && m.Moment.Time.Before(now) {
			born = append(born, m.Moment.Time)
		}
	}
	if len(born) != 1 {
		return text
	}
	years := now.Year() - born[0].Year()
	if now.Before(time.Date(now.Year(), born[0].Month(), born[0].Day(), 0, 0, 0, 0, now.Location())) {
		years--
	}
	return strconv.Itoa(years) + " years old. " + text
}

// reportSteps reports the calls of a turn that another model began.
func (t *turn) reportSteps(made []done) string {
	var b strings.Builder
	for _, d := range made {
		text := t.g.replyText("no-result", "{tool}", d.name)
		switch {
		case d.name == "find_tools":
			continue
		case d.result != nil && d.result.Error:
			text = formatFailure(d.result.Text)
		case d.result != nil:
			text = d.result.Text
		}
		b.WriteString("\n- " + d.name + ": " + oneLine(text, 200))
	}
	if b.Len() == 0 {
		return t.g.replyText("not-finished")
	}
	return t.g.replyText("taken-over", "{steps}", b.String())
}

// formatChoices asks which of several records is meant.
func formatChoices(list []item) string {
	var b strings.Builder
	b.WriteString("Several match:")
	for i, it := range list {
		b.WriteString("\n" + strconv.Itoa(i+1) + ". " + it.line)
	}
	return b.String() + "\nWhich one do you mean?"
}

func formatFailure(text string) string {
	code, text := withoutCode(strings.TrimSpace(text))
	switch {
	case code == "denied_by_owner":
		return "I changed nothing: " + text + "."
	case text == "":
		text = "the tool failed and did not say why; please try again"
	}
	return "That did not work: " + text
}

// withoutCode splits off the code that the engine adds for models, as in "error not_found: ". It
// also removes the code from the start of the message if it is repeated there.
func withoutCode(text string) (code, message string) {
	rest, ok := strings.CutPrefix(text, "error ")
	code, message, found := strings.Cut(rest, ": ")
	if !ok || !found || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return "", text
	}
	return code, strings.TrimPrefix(message, code+": ")
}

func formatSuccess(d done, p plan) string {
	text := strings.TrimSpace(d.result.Text)
	switch {
	case text == "":
		return "Done (" + d.name + ")."
	case p.format != nil && len(p.calls) == 1 && d.name == p.calls[0].name:
		return p.format(text)
	case d.name == "recall":
		text = p.selectFacts(text)
		if p.none != "" && foundNothing(text) {
			return p.none
		}
		return formatRecalled(text, p)
	case d.name == "remember":
		return formatLearned(text)
	case d.name == "explain":
		answer, _, more := strings.Cut(text, api.WhyDetails)
		if more {
			answer += "\nDetails: `hob why --all`"
		}
		return answer
	case d.name == "search_knowledge" && p.pick != nil:
		return datedHits(p.selectHits(text))
	case d.name == "search_knowledge":
		return datedHits(text)
	}
	return text
}

// learnedForm matches the result of the tool remember: the stored fact, and the fact that it
// replaces.
var learnedForm = lazyregexp.New(`(?s)^I will remember "(.*?)"\.(.*)$`)

// formatLearned formats the stored fact in the second person: "Noted: your sister is Anna."
func formatLearned(text string) string {
	m := learnedForm.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	return "Noted: " + person.ToSecond(m[1]) + "." + m[2]
}

// selectFacts removes the facts from a recall result that do not answer the question.
func (p plan) selectFacts(text string) string {
	text, relations := cutRelations(text)
	body, ok := strings.CutPrefix(strings.TrimSpace(text), preface)
	whole := strings.TrimSpace(text + relations)
	if p.keep == nil && p.pick == nil || !ok {
		return whole
	}
	body, before, was := strings.Cut(body, bygone)
	facts := factsOf(body)
	all := len(facts)
	if p.keep != nil {
		facts = slices.DeleteFunc(facts, func(f string) bool { return !p.keep(f) })
	}
	if p.pick != nil {
		facts = p.pick(facts)
	}
	switch {
	case len(facts) == 0 && relations != "":
		return strings.TrimSpace(relations)
	case len(facts) == 0:
		return "I remember nothing about that."
	case len(facts) == all:
		return whole
	}
	out := preface + "\n- " + strings.Join(facts, "\n- ")
	if len(facts) == 1 {
		out = preface + " " + strings.TrimRight(facts[0], ".") + "."
	}
	out += relations
	if was {
		out += "\n" + bygone + before
	}
	return out
}

// selectHits removes the lines of a search result that do not answer the question.
func (p plan) selectHits(text string) string {
	head, _, _ := strings.Cut(text, "\n")
	lines := listLines(text)
	if len(lines) == 0 {
		return cmp.Or(p.unanswered, text)
	}
	if lines = p.pick(lines); len(lines) == 0 {
		return p.unanswered
	}
	return head + "\n- " + strings.Join(lines, "\n- ")
}

// secondStep returns the second step of a turn, if it needs one. If memory does not answer a
// question, this step searches notes, tasks and all other data. If a page was opened for a
// screenshot, it takes the screenshot.
func (t *turn) secondStep(p plan, made []done) (call, bool) {
	if next, ok := p.screenshotStep(made); ok {
		return next, true
	}
	if n := len(made) - len(p.calls); n >= 0 && n < len(p.then) {
		for _, d := range made {
			if d.result == nil || d.result.Error {
				return call{}, false
			}
		}
		return p.then[n], true
	}
	if len(made) != 1 || made[0].name != "recall" || made[0].result == nil || made[0].result.Error || len(p.calls) != 1 || p.question != nil {
		return call{}, false
	}
	query := p.recallQuery()
	if query == "" || p.none != "" || !foundNothing(p.selectFacts(made[0].result.Text)) {
		return call{}, false
	}
	return call{"search_knowledge", map[string]any{"query": query}}, true
}

// recallQuery returns the query of a plan whose only call is recall.
func (p plan) recallQuery() string {
	if len(p.calls) != 1 || p.calls[0].name != "recall" {
		return ""
	}
	query, _ := p.calls[0].args["query"].(string)
	return query
}

// foundNothing reports whether the result of a search is empty.
func foundNothing(text string) bool {
	lower := strings.ToLower(strings.TrimSpace(text))
	if strings.HasPrefix(lower, strings.ToLower(bygone)) {
		return false
	}
	for _, head := range []string{"nothing", "no ", "i know nothing", "i remember nothing", "i found nothing", "there is no", "there are no"} {
		if strings.HasPrefix(lower, head) {
			return true
		}
	}
	return lower == ""
}

// isSuperseded reports whether memory had no result and a full search followed.
func (d done) isSuperseded(p plan, later []done) bool {
	return d.name == "recall" && d.result != nil && !d.result.Error && foundNothing(p.selectFacts(d.result.Text)) &&
		len(later) == 1 && later[0].name == "search_knowledge" && later[0].result != nil && !later[0].result.Error
}

// preface is the prefix of a recall result.
const preface = "I remember:"

// bygone is the prefix of the part of a recall result that contains former facts.
const bygone = "No longer so:"

// formatRecalled formats remembered facts for the user: "my" becomes "your", and if there are
// several facts, it shows those that match the question best. Former facts follow. Text in any
// other form stays unchanged.
func formatRecalled(text string, p plan) string {
	text, relations := cutRelations(text)
	text, before, was := strings.Cut(text, bygone)
	text = strings.TrimSpace(text)
	if body, ok := strings.CutPrefix(text, preface); ok {
		text = stripFormer(body, p)
	}
	text += relations
	if was {
		text += "\n" + bygone + listFacts(factsOf(before))
	}
	return strings.TrimSpace(text)
}

// cutRelations splits off the part of a recall result that lists relations of the graph.
func cutRelations(text string) (rest, relations string) {
	const heading = "Relations:"
	before, after, ok := strings.Cut("\n"+text, "\n"+heading)
	if !ok {
		return text, ""
	}
	end := strings.Index(after, "\n"+bygone)
	if end < 0 {
		end = len(after)
	}
	return strings.TrimPrefix(before+after[end:], "\n"), "\n" + heading + after[:end]
}

func stripFormer(body string, p plan) string {
	facts := factsOf(body)
	if strings.Contains(body, "\n") && !strings.HasPrefix(strings.TrimSpace(body), "-") {
		facts = []string{strings.TrimSpace(body)} // one fact with several lines
	}
	facts = bestFacts(facts, p.recallQuery())
	if len(facts) == 1 {
		return upperFirst(factToOwner(facts[0]))
	}
	return preface + listFacts(facts)
}

// factsOf returns the items of a list, one per line.
func factsOf(body string) (facts []string) {
	for line := range strings.SplitSeq(body, "\n") {
		if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- ")); line != "" {
			facts = append(facts, line)
		}
	}
	return facts
}

func listFacts(facts []string) string {
	var b strings.Builder
	for _, f := range facts {
		b.WriteString("\n- " + factToOwner(f))
	}
	return b.String()
}

// factToOwner converts a fact to the second person. It keeps the note in parentheses, which is
// already in the second person.
func factToOwner(f string) string {
	i := strings.LastIndex(f, " (")
	if i < 0 {
		return person.ToSecond(f)
	}
	return person.ToSecond(f[:i]) + f[i:]
}

// bestFacts returns the facts that have the most words in common with a question.
func bestFacts(facts []string, query string) []string {
	want := textnorm.FoldedWords(query)
	if len(want) == 0 || len(facts) < 2 {
		return facts
	}
	var out []string
	best := 0
	for _, f := range facts {
		have := map[string]bool{}
		for _, w := range textnorm.FoldedWords(f) {
			have[w] = true
		}
		n := 0
		for _, w := range want {
			if have[w] {
				n++
			}
		}
		if n > best {
			best, out = n, nil
		}
		if n == best {
			out = append(out, f)
		}
	}
	return out
}
