package offline

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// sentenceClass is the kind of a sentence. It is determined before the sentence is parsed, and
// limits the plans to which the sentence can lead.
type sentenceClass uint8

const (
	aRequest    sentenceClass = iota // asks Hob to do something; the default
	aQuestion                        // asks for information, so it never changes a record
	aStatement                       // begins with a pronoun; changes a record only if its form is known
	anAnswer                         // only a time, a number, a choice, yes or no: it fills an open question
	aCorrection                      // rejects an earlier message or action and gives the right value
	aSmallTalk                       // a greeting, thanks, a mood: it gets a reply and nothing else
)

// classOf returns the class of a sentence. Polite phrases are not part of the tokens, so "can you
// remind me" is a request.
func (g *grammar) classOf(s *sentence) sentenceClass {
	i := s.skipPunctuation(0)
	first, second := s.firstWord(i), s.firstWord(i+1)
	verb := g.lex.containsWord("question-verbs", second)
	switch {
	case g.isSmallTalk(s):
		return aSmallTalk
	case g.lex.containsWord("w-words", second) && g.lex.containsWord("prepositions", first): // "at what time is that"
		return aQuestion
	case g.lex.containsWord("correction-starts", first) && second != "", first == "i" && g.lex.containsWord("correction-verbs", second):
		return aCorrection
	case isQuestionVerb(first) && (second == "that" || second == "it" || second == "this") && s.firstWord(i+2) != "": // "is that a Thursday?"
		return aQuestion
	case g.isAnswer(s):
		return anAnswer
	case g.lex.containsWord("pronouns", first):
		return aStatement
	case first == "do" || first == "have" || first == "did": // "do the laundry", "did my yoga"
		if strings.HasSuffix(strings.TrimSpace(s.text), "?") || g.lex.containsWord("pronouns", second) && second != "it" { // "do it on Thursday"
			return aQuestion
		}
		return aRequest
	case g.lex.containsWord("condition-words", first): // "when it rains, tell me"
		if verb && first != "if" && first != "unless" {
			return aQuestion
		}
		return aRequest
	case g.lex.containsWord("questions", first), g.lex.containsWord("question-determiners", first), g.isNearly("questions", first) && !(verb && isNamed(s, i)):
		return aQuestion
	}
	return aRequest
}

// isQuestionVerb reports whether a verb before "it" or "that" makes a sentence a question.
func isQuestionVerb(first string) bool {
	return slices.Contains([]string{"is", "was", "does", "did", "will"}, first)
}

// isSmallTalk reports whether an intent of small talk matches all of a sentence.
func (g *grammar) isSmallTalk(s *sentence) bool {
	try := matchAttempt{s: s, budget: maxSteps / 10}
	first := s.firstWord(0)
	for _, in := range g.intents {
		if !in.talk || len(s.tokens) > maxTalk {
			continue
		}
		for p := range in.candidatesFor(first, false) {
			if g.betterReading(nil, in, p, &try, 0, nil) != nil {
				return true
			}
		}
	}
	return false
}

// maxTalk is the maximum number of tokens of small talk.
const maxTalk = 16

// isAnswer reports whether a sentence consists only of a time, a number, a choice, yes or no, and fillers.
func (g *grammar) isAnswer(s *sentence) bool {
	found := false
	for i := 0; i < len(s.tokens); i++ {
		t := s.tokens[i]
		if t.kind == punct {
			continue
		}
		if sp := s.spanAt(i); sp != nil && sp.from == i && sp.to > i {
			found, i = true, sp.to-1
			continue
		}
		_, number := g.lex.meaningOf("numbers", t.norm)
		_, ordinal := ordinalOf(t.norm)
		switch {
		case t.kind != word, g.lex.containsWord("correction-starts", t.norm) && i < len(s.tokens)-1:
			return false
		case ordinal, number, isDigit(t.norm[0]) && len(t.norm) < 6, g.lex.containsWord("agreements", t.norm):
			found = true
		case !g.lex.containsWord("answer-fillers", t.norm) && !g.lex.containsWord("choice-words", t.norm):
			return false
		}
	}
	return found
}

// mayLeadTo reports whether a sentence of this class may lead to a plan of an intent. Questions,
// answers and small talk change no record, except through an intent that continues the
// conversation. A statement or a correction needs an intent for statements, or a pattern that
// begins with its first word, because free text at the start would match any sentence.
func (g *grammar) mayLeadTo(class sentenceClass, s *sentence, in *intent, p plan) bool {
	changes := g.changesRecords(p)
	switch class {
	case aQuestion:
		asksBack := p.outcome == ask && (in.name == "reminder.add" || in.name == "task.add") // "what time is the reminder now"
		return !changes && !in.talk && !(asksBack && g.lex.containsWord("w-words", s.firstWord(0)))
	case anAnswer:
		return !changes || in.rank > 0
	case aSmallTalk:
		return !changes
	case aStatement, aCorrection:
		first := s.firstWord(0)
		return !changes || in.rank > 0 || in.statement || in.byFirst.namesFirst(first)
	}
	return true
}

// isQuestionText reports whether text asks for information.
func (g *grammar) isQuestionText(text string, now time.Time) bool {
	return strings.HasSuffix(strings.TrimSpace(text), "?") || g.classOf(g.parseSentence(text, now)) == aQuestion
}

// isNamed reports whether token i is a name, and not a misspelled question word: "Dave is ...".
func isNamed(s *sentence, i int) bool {
	r, _ := utf8.DecodeRuneInString(s.originalText(i, i+1))
	return unicode.IsUpper(r) && !strings.ContainsAny(strings.ToLower(string(r)), "wh")
}

// startsWithVerb reports whether a text of several words begins with the verb of a task.
func (w *intentDraft) startsWithVerb(text string) bool {
	words := strings.Fields(strings.ToLower(text))
	return len(words) > 1 && (w.g.lex.containsWord("task-verbs", words[0]) || w.g.lex.containsWord("task-nouns", words[0]))
}
