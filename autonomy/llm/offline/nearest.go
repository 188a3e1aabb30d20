package offline

import (
	"math"
	"strings"
)

// nearestExample returns the example sentence in the grammar that is most similar to said. It
// compares words and gives rare words a higher weight.
func (g *grammar) nearestExample(said string) string {
	toks := splitTokens(oneLine(said, 400), g.lex)
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
			score := 0.0
			words := wordSet(ex)
			for w := range words {
				weight := 1 / math.Sqrt(float64(seen[w]))
				if isSmallWord(w) {
					weight /= 4
				}
				for _, t := range toks {
					if t.kind == word {
						score += weight * wordLikeness(t.norm, w)
					}
				}
			}
			score /= math.Sqrt(float64(len(words)) + 3)
			if score > bestScore {
				best, bestScore = ex, score
			}
		}
	}
	if bestScore >= 0.12 {
		return best
	}
	return g.usualExample(toks)
}

// usualExample returns an example for text without similar words, based on the form of the
// sentence.
func (g *grammar) usualExample(toks []token) string {
	name := "task.add"
	for i, t := range toks {
		if i == 0 && g.lex.containsWord("questions", t.norm) {
			name = "memory.about"
		}
	}
	for _, in := range g.intents {
		if in.name == name {
			return in.examples[0]
		}
	}
	return "help"
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
