package turn

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hob/autonomy/llm"
	"hob/autonomy/turn/actionclaims"
	"hob/platform/text/textnorm"
)

// minQuote is the minimum length in bytes of a clause whose words in a result are not a
// coincidence.
const minQuote = 12

var (
	// modal begins a request in the form of a question: "can you set a reminder?"
	modal = regexp.MustCompile(`(?i)(^|[.!,;]\s*)(please |bitte |hey |hi |so |and )*(can|could|would|will|may|kannst|könntest|können|könnten|würdest|peux|pouvez|pourrais|pourriez|puedes|podrías|puede|puoi|potresti|può|kun|kunt|zou|pode|poderia|podes)[ -](you|i|we|du|sie|ihr|tu|vous|me|mi|je|u|você)?\b`)
	// inquiry matches questions about past actions.
	inquiry = regexp.MustCompile(`(?i)\b(tell|say|check|confirm|see|show|know|remember|whether|sag|sagen|prüf\w*|weißt|ob|dire|vérifi\w*|decir|confirm\w*|dirmi|zeggen|dizer)\b`)
	// explaining matches questions about a state or an explanation, which request no action.
	explaining = regexp.MustCompile(`(?i)\b(what|how|why|where|when|which|who|explain|describe|was|wie|warum|wo|wann|welche\w*|wer|erklär\w*|comment|pourquoi|où|quand|quel\w*|qui|explique\w*|qué|cómo|por qué|dónde|cuándo|cuál|quién|explica\w*|cosa|come|perché|dove|quando|quale|chi|spiega\w*|wat|hoe|waarom|waar|wanneer|welke|wie|o que|como|por que|onde|qual|quem|explique)\b`)
)

// borneOut reports whether something other than a call with effects supports a claim: text read
// in this turn, words of another person that the answer repeats, or any call if the answer only
// says that all is done. For a question, text of an earlier turn counts too.
func (r *turnRun) borneOut(c actionclaims.Claim, deeds []effectfulCall) bool {
	results := r.resultTexts(c.Impersonal && r.isUserQuestion())
	switch {
	case c.Complete:
		return len(deeds) > 0 || len(results) > 0
	case isRepeatedClause(c.Phrase, results):
		return true
	case !c.Impersonal && !c.State:
		return false
	case c.State && !c.Owned && r.isExplanationRequest():
		return true
	}
	if c.Family == actionclaims.AnyFamily && !c.State {
		return len(results) > 0
	}
	return slices.ContainsFunc(results, func(text string) bool { return isClaimSupported(text, c) }) && sameTimes(c.Phrase, results)
}

// resultTexts returns the texts of tools and of other people: those of this turn, or, if whole, of
// the entire context.
func (r *turnRun) resultTexts(whole bool) []string {
	from := r.own
	if whole {
		from = 0
	}
	out := slices.Clone(r.t.Outside)
	for _, m := range r.msgs[from:] {
		for _, p := range m.Parts {
			switch {
			case m.Role == llm.ToolRole && p.Result != nil && !p.Result.Error:
				out = append(out, p.Result.Name+"\n"+p.Result.Text)
			case m.Role == llm.User && p.Source.Tainted():
				out = append(out, p.Text)
			}
		}
	}
	return out
}

// isUserQuestion reports whether the user asked a question, so that the answer may report on earlier
// turns. "Can you set a reminder?" does not count.
func (r *turnRun) isUserQuestion() bool {
	question := func(s string) bool {
		for part := range strings.SplitAfterSeq(s, "?") {
			if strings.HasSuffix(part, "?") && (!modal.MatchString(part) || inquiry.MatchString(part)) {
				return true
			}
		}
		return false
	}
	return question(r.t.Text) || slices.ContainsFunc(r.words, question)
}

// isExplanationRequest reports whether the user asked how something is or works.
func (r *turnRun) isExplanationRequest() bool {
	return slices.ContainsFunc(append([]string{r.t.Text}, r.words...), explaining.MatchString)
}

// isRepeatedClause reports whether a result contains a clause verbatim.
func isRepeatedClause(clause string, results []string) bool {
	want := textnorm.Fold(strings.TrimRight(clause, ".!"))
	return len(want) >= minQuote && slices.ContainsFunc(results, func(s string) bool { return strings.Contains(textnorm.Fold(s), want) })
}

// isClaimSupported reports whether a result supports a claim: a tool of the same family produced
// it, or it contains one of the claim's words.
func isClaimSupported(result string, c actionclaims.Claim) bool {
	tool, _, _ := strings.Cut(result, "\n")
	if c.Family != actionclaims.AnyFamily && familyOf(tool) == c.Family {
		return true
	}
	words := textnorm.FoldedWords(result)
	return slices.ContainsFunc(textnorm.FoldedWords(c.Phrase), func(w string) bool {
		return len([]rune(w)) >= 4 && !slices.Contains([]string{"your", "that", "this", "will", "everything", "scheduled"}, w) && slices.Contains(words, w)
	})
}

var number = regexp.MustCompile(`\d+`)

// sameTimes reports whether a result contains a number of the clause, also as an hour of the
// afternoon. A clause without numbers passes.
func sameTimes(clause string, results []string) bool {
	named := number.FindAllString(clause, -1)
	if len(named) == 0 {
		return true
	}
	have := map[int]bool{}
	for _, s := range results {
		for _, n := range number.FindAllString(s, -1) {
			if v, err := strconv.Atoi(n); err == nil {
				have[v] = true
			}
		}
	}
	return slices.ContainsFunc(named, func(n string) bool {
		v, err := strconv.Atoi(n)
		return err != nil || have[v] || v <= 12 && have[v+12]
	})
}

// familyOf derives the family of the items that a tool handles from its name.
func familyOf(tool string) actionclaims.Family {
	for _, f := range []struct {
		family actionclaims.Family
		words  []string
	}{
		{actionclaims.Plan, []string{"remind", "alarm", "timer", "schedule", "calendar", "event", "task", "watch", "goal", "habit", "meeting"}},
		{actionclaims.Text, []string{"file", "directory", "folder", "note", "document"}},
	} {
		if slices.ContainsFunc(f.words, func(w string) bool { return strings.Contains(tool, w) }) {
			return f.family
		}
	}
	return actionclaims.AnyFamily
}
