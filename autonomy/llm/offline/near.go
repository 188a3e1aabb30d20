package offline

import (
	"slices"
	"strings"
	"time"

	"hob/autonomy/llm"
	"hob/platform/text/dateparse"
	"hob/platform/text/person"
	"hob/platform/text/textnorm"
)

// nearLimit marks the search that looks for similar records before Hob denies that there is one. The other calls of its
// message belong to it.
const nearLimit = 9

// maxNear is the maximum number of similar records in an answer.
const maxNear = 3

// nearCalls returns the calls that look for records with words of a question, before the reply denies that there is
// such a record: "when's the next cleaning reminder?" may be about "clean the pigs out".
func (t *turn) nearCalls(say string) []llm.ToolCall {
	recalled := false
	for _, d := range t.callsSince(t.said + 1) {
		recalled = recalled || d.name == "recall"
		if d.name == "search_knowledge" && (!recalled || d.result == nil || foundNothing(d.result.Text)) {
			return nil
		}
	}
	if len(t.outside) > 0 || t.r.NoTools || t.nearResults() != nil {
		return nil
	}
	var planned []call
	words := t.nearWords()
	day, empty := t.emptyDay(say)
	switch {
	case empty:
		planned = []call{{"recall", listAllArgs()}, {"search_knowledge", argsOf("query", strings.ToLower(day.From.Format("Monday 2 January")), "limit", nearLimit)}}
	case isDenial(say) && len(words) > 0 && t.g.isQuestionText(t.own, t.r.Now):
		planned = []call{{"list_reminders", nil}, {"list_tasks", nil}, {"search_knowledge", argsOf("query", strings.Join(words, " "), "limit", nearLimit)}}
	}
	if len(t.availableCalls(planned)) < len(planned) {
		return nil
	}
	calls, _ := t.toToolCalls(planned)
	return calls
}

// isNearSearch reports whether a message contains the calls of nearCalls.
func isNearSearch(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
		if p.Call == nil || toolOf(*p.Call) != "search_knowledge" {
			return false
		}
		made := pastCallOf(*p.Call)
		limit, _ := made.args["limit"].(float64)
		return limit == nearLimit
	})
}

// isDenial reports whether a reply says that there is no record with a name.
func isDenial(say string) bool {
	return slices.ContainsFunc([]string{"I found no ", "I found nothing about ", "There is no ", "No reminder ", "No task ", "No note ", "I remember nothing about "}, func(head string) bool {
		return strings.HasPrefix(say, head)
	})
}

// emptyDay returns the range that a reply calls empty.
func (t *turn) emptyDay(say string) (dateparse.Period, bool) {
	if !slices.ContainsFunc([]string{"Nothing is on for ", "Nothing is planned ", "Yes, you are free ", "No, you are free "}, func(head string) bool { return strings.HasPrefix(say, head) }) {
		return dateparse.Period{}, false
	}
	w := intentDraft{g: t.g, interpretation: interpretation{s: t.g.parseSentence(t.own, t.r.Now)}}
	return w.rangeOf(w.s.allTimes())
}

// withTold adds what the user told Hob about an empty day: facts with a date in it, and notes that name its day.
func (t *turn) withTold(say string, day dateparse.Period) string {
	var lines []string
	near := day.From.Before(t.r.Now.AddDate(0, 0, 7)) && day.To.Sub(day.From) <= 48*time.Hour
	for _, d := range t.nearResults() {
		switch {
		case d.result == nil || d.result.Error:
		case d.name == "recall":
			for _, r := range datedFacts(d.result.Text, t.r.Now) {
				if r.at.Before(day.To) && !r.at.Before(startOfDay(day.From)) {
					lines = append(lines, person.ToSecond(r.title))
				}
			}
		default:
			for _, line := range listLines(d.result.Text) {
				if kind, _, _ := strings.Cut(line, ": "); kind == "note" && near && strings.Contains(strings.ToLower(line), strings.ToLower(day.From.Format("Monday"))) {
					lines = append(lines, line)
				}
			}
		}
	}
	if len(lines) == 0 {
		return say
	}
	return insertLines(say, "But you told me:", lines)
}

// insertLines adds a list after the first paragraph of a reply.
func insertLines(say, heading string, lines []string) string {
	head, rest, more := strings.Cut(say, "\n\n")
	out := head + "\n" + heading + "\n- " + strings.Join(lines, "\n- ")
	if more {
		out += "\n\n" + rest
	}
	return out
}

// nearWords returns the words of the message that may be part of a record.
func (t *turn) nearWords() []string {
	s := t.g.parseSentence(t.own, t.r.Now)
	var out []string
	for i, tok := range s.tokens {
		if s.isInTime(i) || tok.kind == punct {
			continue
		}
		for _, f := range textnorm.FoldedWords(strings.TrimSuffix(strings.TrimSuffix(tok.norm, "'s"), "’s")) {
			if len(f) > 2 && !slices.ContainsFunc([]string{"question-words", "record-nouns", "knowing-verbs", "telling-verbs", "unspecific", "choice-words", "pronouns", "prepositions", "interjections", "saying-words"}, func(list string) bool { return t.g.lex.containsWord(list, f) }) {
				out = append(out, f)
			}
		}
	}
	return out
}

// nearResults returns the results of nearCalls, nil if they were not made.
func (t *turn) nearResults() (out []done) {
	index := map[string]int{}
	for _, m := range t.r.Messages[min(t.said+1, len(t.r.Messages)):] {
		for _, p := range m.Parts {
			switch {
			case p.Call != nil && isNearSearch(m):
				index[p.Call.ID] = len(out)
				out = append(out, done{name: toolOf(*p.Call)})
			case p.Result != nil:
				if i, ok := index[p.Result.ID]; ok {
					out[i].result = p.Result
				}
			}
		}
	}
	return out
}

// withNearest adds the records that share a word with the question to a denial.
func (t *turn) withNearest(say string) string {
	results := t.nearResults()
	if day, empty := t.emptyDay(say); empty && results != nil {
		return t.withTold(say, day)
	}
	words := t.nearWords()
	shares := func(text string) bool {
		return slices.ContainsFunc(textnorm.FoldedWords(text), func(h string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return wordLikeness(w, h) >= 0.6 || len(w) == 3 && strings.HasPrefix(h, w) })
		})
	}
	var lines []string
	for _, r := range readRecords(results, t.r.Now).list {
		if (r.kind == "reminder" || r.kind == "task") && shares(r.title) {
			lines = append(lines, r.kind+": "+r.showLine())
		}
	}
	for _, d := range results {
		if d.name != "search_knowledge" || d.result == nil || d.result.Error {
			continue
		}
		for _, line := range listLines(d.result.Text) {
			kind, text, _ := strings.Cut(line, ": ")
			switch {
			case kind == "reminder", kind == "task", !shares(factText(text)):
				continue
			case kind == "fact":
				line = kind + ": " + person.ToSecond(factText(text))
			}
			lines = append(lines, line)
		}
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(say, line) })
	if len(lines) == 0 || !isDenial(say) {
		return say
	}
	return insertLines(say, "Closest:", lines[:min(len(lines), maxNear)])
}

// datedHits says of the records in a search result that the day is that of the entry: "pick up the kids (today)" is no
// statement about when the kids are picked up.
func datedHits(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		kind, _, ok := strings.Cut(strings.TrimPrefix(line, "- "), ": ")
		if at := strings.LastIndex(line, " ("); ok && at > 0 && (kind == "reminder" || kind == "task") && strings.HasSuffix(line, ")") && !strings.Contains(line[at:], "due ") {
			lines[i] = line[:at] + " (entered " + line[at+2:]
		}
	}
	return strings.Join(lines, "\n")
}
