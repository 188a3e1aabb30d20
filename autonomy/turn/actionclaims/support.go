package actionclaims

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hob/platform/text/textnorm"
)

// Action is a completed tool call that changed something. Effects are those of tools.Effects.String.
type Action struct{ Tool, Effects string }

// IsBackedBy reports whether one of the actions may be the claimed one. The effects of a command and
// of other agents are unknown, so they back every claim.
func (c Claim) IsBackedBy(actions []Action) bool {
	return slices.ContainsFunc(actions, func(d Action) bool {
		if f := familyOf(d.Tool); c.Kind != Sent && f != AnyFamily && c.Family != AnyFamily && f != c.Family {
			return false
		}
		has := func(effect string) bool { return strings.Contains(d.Effects, effect) }
		switch {
		case strings.HasPrefix(d.Tool, "delegate"), has("exec"):
			return true
		case d.Effects == "read", strings.HasPrefix(d.Tool, "spawn"): // the call has only started a task
			return false
		case c.Kind == Sent:
			return has("send") || has("egress")
		case c.Kind == Deleted:
			return !isAdditiveTool(d.Tool)
		}
		return true
	})
}

// isAdditiveTool reports whether a tool, by its name, only adds something.
func isAdditiveTool(tool string) bool {
	verb, _, _ := strings.Cut(tool, "_")
	return slices.Contains([]string{"create", "add", "append", "log", "remember"}, verb)
}

// familyOf derives the family of the items that a tool handles from its name.
func familyOf(tool string) Family {
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

// IsQuotedFrom reports whether one of the texts contains the claiming clause verbatim.
func (c Claim) IsQuotedFrom(texts []string) bool {
	want := textnorm.Fold(strings.TrimRight(c.Phrase, ".!"))
	return len(want) >= minQuote && slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(textnorm.Fold(s), want) })
}

// minQuote is the minimum length in bytes of a clause whose words in a result are not a
// coincidence.
const minQuote = 12

// IsSupportedBy reports whether tool results support the claim. The first line of a result names its
// tool.
func (c Claim) IsSupportedBy(results []string) bool {
	return slices.ContainsFunc(results, c.isRelatedTo) && sameTimes(c.Phrase, results)
}

// isRelatedTo reports whether a tool of the claim's family produced the result, or the result
// contains one of the claim's words.
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

// IsQuestion reports whether a message of the user asks a question, so that the answer may report on
// earlier turns. "Can you set a reminder?" does not count.
func IsQuestion(message string) bool {
	for part := range strings.SplitAfterSeq(message, "?") {
		if strings.HasSuffix(part, "?") && (!modal.MatchString(part) || inquiry.MatchString(part)) {
			return true
		}
	}
	return false
}

// AsksForExplanation reports whether a message of the user asks how something is or works.
func AsksForExplanation(message string) bool { return explaining.MatchString(message) }

var number = regexp.MustCompile(`\d+`)

var (
	// modal begins a request in the form of a question: "can you set a reminder?"
	modal = regexp.MustCompile(`(?i)(^|[.!,;]\s*)(please |bitte |hey |hi |so |and )*(can|could|would|will|may|kannst|könntest|können|könnten|würdest|peux|pouvez|pourrais|pourriez|puedes|podrías|puede|puoi|potresti|può|kun|kunt|zou|pode|poderia|podes)[ -](you|i|we|du|sie|ihr|tu|vous|me|mi|je|u|você)?\b`)
	// inquiry matches questions about past actions.
	inquiry = regexp.MustCompile(`(?i)\b(tell|say|check|confirm|see|show|know|remember|whether|sag|sagen|prüf\w*|weißt|ob|dire|vérifi\w*|decir|confirm\w*|dirmi|zeggen|dizer)\b`)
	// explaining matches questions about a state or an explanation, which request no action.
	explaining = regexp.MustCompile(`(?i)\b(what|how|why|where|when|which|who|explain|describe|was|wie|warum|wo|wann|welche\w*|wer|erklär\w*|comment|pourquoi|où|quand|quel\w*|qui|explique\w*|qué|cómo|por qué|dónde|cuándo|cuál|quién|explica\w*|cosa|come|perché|dove|quando|quale|chi|spiega\w*|wat|hoe|waarom|waar|wanneer|welke|wie|o que|como|por que|onde|qual|quem|explique)\b`)
)
