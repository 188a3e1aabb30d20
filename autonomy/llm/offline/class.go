package offline

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// sentenceClass is what kind of sentence the user wrote. It is decided before the sentence is read.
type sentenceClass uint8

const (
	aRequest   sentenceClass = iota // asks Hob to do something; the default
	aQuestion                       // asks for information, so it never changes a record
	aStatement                      // begins with a pronoun; changes a record only if its form is known
)

// classOf decides the class of a sentence by its first words. Politeness is not part of the tokens, so
// "can you remind me" is a request.
func (g *grammar) classOf(s *sentence) sentenceClass {
	i := s.skipPunctuation(0)
	first, second := s.firstWord(i), s.firstWord(i+1)
	verb := g.lex.containsWord("question-verbs", second)
	switch {
	case g.lex.containsWord("pronouns", first):
		return aStatement
	case first == "do" || first == "have" || first == "did": // "do the laundry", "did my yoga"
		if strings.HasSuffix(strings.TrimSpace(s.text), "?") || g.lex.containsWord("pronouns", second) {
			return aQuestion
		}
		return aRequest
	case g.lex.containsWord("condition-words", first): // "when it rains, tell me"
		if verb && first != "if" && first != "unless" {
			return aQuestion
		}
		return aRequest
	case g.lex.containsWord("questions", first), g.isNearly("questions", first) && !(verb && isNamed(s, i)):
		return aQuestion
	}
	return aRequest
}

// mayChange reports whether a sentence of this class may change records through an intent. A question
// may not. A statement needs a pattern that begins with its first word, because free text at the start
// would take any statement.
func (g *grammar) mayChange(class sentenceClass, s *sentence, in *intent) bool {
	switch class {
	case aQuestion:
		return false
	case aStatement:
		first := s.firstWord(0)
		return in.rank > 0 || slices.ContainsFunc(in.patterns, func(p pattern) bool { return p.firsts.words[first] })
	}
	return true
}

// isQuestionText reports whether text asks for information.
func (g *grammar) isQuestionText(text string, now time.Time) bool {
	return strings.HasSuffix(strings.TrimSpace(text), "?") || g.classOf(g.parseSentence(text, now)) == aQuestion
}

// isNamed reports whether token i is a name, which is no misspelled question word: "Dave is ...".
func isNamed(s *sentence, i int) bool {
	r, _ := utf8.DecodeRuneInString(s.originalText(i, i+1))
	return unicode.IsUpper(r) && !strings.ContainsAny(strings.ToLower(string(r)), "wh")
}
