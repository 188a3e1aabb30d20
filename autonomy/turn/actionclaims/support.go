package actionclaims

import (
	"slices"
	"strconv"
	"strings"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
)

// Action is a completed tool call that changed something. Effects has the format of
// tools.Effects.String.
type Action struct{ Tool, Effects string }

// IsBackedBy reports whether one of the actions may be the claimed action. The effects of commands
// and of other agents are unknown, so they support every claim.
func (c Claim) IsBackedBy(actions []Action) bool {
	return slices.ContainsFunc(actions, func(d Action) bool {
		if f := familyOf(d.Tool); c.Kind != Sent && f != AnyFamily && c.Family != AnyFamily && f != c.Family {
			return false
		}
		has := func(effect string) bool { return strings.Contains(d.Effects, effect) }
		switch {
		case strings.HasPrefix(d.Tool, "delegate"), has("exec"):
			return true
		case d.Effects == "read", strings.HasPrefix(d.Tool, "spawn"): // the call only started a task
			return false
		case c.Kind == Sent:
			return has("send") || has("egress")
		case c.Kind == Deleted:
			return !isAdditiveTool(d.Tool)
		}
		return true
	})
}

// isAdditiveTool reports whether a tool only adds something, judging by its name.
func isAdditiveTool(tool string) bool {
	verb, _, _ := strings.Cut(tool, "_")
	return slices.Contains([]string{"create", "add", "append", "log", "remember"}, verb)
}

// familyOf returns the family of items that a tool handles, judging by its name. The agent of a delegated
// task may handle items of any family.
func familyOf(tool string) Family {
	if strings.HasPrefix(tool, "delegat") || strings.HasPrefix(tool, "spawn") {
		return AnyFamily
	}
	for _, f := range []struct {
		family Family
		words  []string
	}{
		{Plan, []string{"remind", "alarm", "timer", "schedule", "calendar", "event", "task", "watch", "goal", "habit", "meeting"}},
		{Text, []string{"file", "directory", "folder", "note", "document"}},
	} {
		if slices.ContainsFunc(f.words, func(w string) bool { return strings.Contains(tool, w) }) {
			return f.family
		}
	}
	return AnyFamily
}

// IsQuotedFrom reports whether one of the strings in texts contains the claiming clause verbatim.
func (c Claim) IsQuotedFrom(texts []string) bool {
	want := textnorm.Fold(strings.TrimRight(c.Phrase, ".!"))
	return len(want) >= minQuote && slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(textnorm.Fold(s), want) })
}

// minQuote is the minimum length in bytes of a clause. If a result contains the words of such a
// clause, that is not a coincidence.
const minQuote = 12

// IsSupportedBy reports whether tool results support the claim. The first line of each result names
// the tool.
func (c Claim) IsSupportedBy(results []string) bool {
	return slices.ContainsFunc(results, c.isRelatedTo) && sameTimes(c.Phrase, results)
}

// isRelatedTo reports whether the result came from a tool in the claim's family, or contains one of
// the claim's words.
func (c Claim) isRelatedTo(result string) bool {
	tool, _, _ := strings.Cut(result, "\n")
	if c.Family != AnyFamily && familyOf(tool) == c.Family {
		return true
	}
	found := textnorm.FoldedWords(result)
	return slices.ContainsFunc(textnorm.FoldedWords(c.Phrase), func(w string) bool {
		return len([]rune(w)) >= 4 && !slices.Contains([]string{"your", "that", "this", "will", "everything", "scheduled"}, w) && slices.Contains(found, w)
	})
}

// sameTimes reports whether a result contains a number from the clause, possibly as an afternoon
// hour. It returns true for a clause without numbers.
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

// IsQuestion reports whether the user's message asks a question, so that the answer may report on
// earlier turns. "Can you set a reminder?" does not count as a question.
func IsQuestion(message string) bool {
	for part := range strings.SplitAfterSeq(message, "?") {
		if strings.HasSuffix(part, "?") && (!modal.MatchString(part) || inquiry.MatchString(part)) {
			return true
		}
	}
	return false
}

// AsksForExplanation reports whether the user's message asks how something is or works.
func AsksForExplanation(message string) bool { return explaining.MatchString(message) }

var number = lazyregexp.New(`\d+`)

var (
	// modal matches the beginning of a request in the form of a question, such as "can you set a
	// reminder?"
	modal = lazyregexp.New(`(?i)(^|[.!,;]\s*)(please |bitte |hey |hi |so |and )*(can|could|would|will|may|kannst|könntest|können|könnten|würdest|peux|pouvez|pourrais|pourriez|puedes|podrías|puede|puoi|potresti|può|kun|kunt|zou|pode|poderia|podes)[ -](you|i|we|du|sie|ihr|tu|vous|me|mi|je|u|você)?\b`)
	// inquiry matches questions about past actions.
	inquiry = lazyregexp.New(`(?i)\b(tell|say|check|confirm|see|show|know|remember|whether|sag|sagen|prüf\w*|weißt|ob|dire|vérifi\w*|decir|confirm\w*|dirmi|zeggen|dizer)\b`)
	// explaining matches questions that ask about a state or for an explanation. Such questions
	// request no action.
	explaining = lazyregexp.New(`(?i)\b(what|how|why|where|when|which|who|explain|describe|was|wie|warum|wo|wann|welche\w*|wer|erklär\w*|comment|pourquoi|où|quand|quel\w*|qui|explique\w*|qué|cómo|por qué|dónde|cuándo|cuál|quién|explica\w*|cosa|come|perché|dove|quando|quale|chi|spiega\w*|wat|hoe|waarom|waar|wanneer|welke|wie|o que|como|por que|onde|qual|quem|explique)\b`)
)
