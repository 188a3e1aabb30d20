package evidence

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/summary"
)

// slot is a statement that has one value for one key: "the capital of Australia" has the value
// "Canberra", "invented the telephone" the value "Bell".
type slot struct {
	key, value []string // terms
	shown      string   // the value as written
}

var (
	copula  = lazyregexp.New(`(?i)^(.+?)\s+(?:is|was|are|were|remains|became|has been|ist|war|est)\s+(?:also |now |still |currently )?(.+?)[.!?]*$`)
	passive = lazyregexp.New(`(?i)^(.+?)\s+(?:is|was|were|are|has been)\s+(?:first |originally )?(\pL+ed|written|built|sung|made|drawn|found|won|led|run|taken|given|born|held|sold|bought)\s+(by|in|at|on|from)\s+(.+?)[.!?]*$`)
	active  = lazyregexp.New(`(?i)^(.+?)\s+(?:first )?(invented|discovered|wrote|painted|composed|founded|directed|designed|built|won|created|created|developed|proposed|led|killed|bought|acquired|produced|published)\s+(.+?)[.!?]*$`)
	// stops ends a value: what follows adds to the statement.
	stops = lazyregexp.New(`(?i)[,;:(]|\s(?:in|on|at|since|with|who|which|that|and|after|before|during|for|from|when|while|because|although)\s`)
)

// exclusive are the nouns of which a thing has only one, so that two different values contradict
// each other.
const exclusive = " capital president king queen minister chancellor mayor founder author inventor director ceo currency largest smallest highest tallest longest deepest oldest first last only winner captain mother father wife husband birthplace name official language anthem headquarters seat composer painter owner creator discoverer population hauptstadt capitale "

// readSlots reads the statements of a sentence.
func readSlots(s, lang string) (out []slot) {
	s = strings.TrimSpace(s)
	if m := passive.FindStringSubmatch(s); m != nil {
		value := firstPart(m[4])
		verb := strings.ToLower(m[2])
		key := summary.Terms(lastPart(m[1])+" "+verb, lang)
		if strings.EqualFold(m[3], "by") || verb == "born" {
			out = appendSlot(out, key, value, lang)
		}
	}
	if m := active.FindStringSubmatch(s); m != nil {
		out = appendSlot(out, summary.Terms(firstPart(m[3])+" "+strings.ToLower(m[2]), lang), lastPart(m[1]), lang)
	}
	if m := copula.FindStringSubmatch(s); m != nil {
		left, right := lastPart(m[1]), m[2]
		if isExclusive(right) {
			out = appendSlot(out, summary.Terms(firstPhrase(right), lang), left, lang)
		}
		if isExclusive(left) {
			out = appendSlot(out, summary.Terms(left, lang), firstPart(right), lang)
		}
	}
	return out
}

func isExclusive(s string) bool {
	return slices.ContainsFunc(strings.Fields(strings.ToLower(s)), func(w string) bool {
		return strings.Contains(exclusive, " "+strings.Trim(w, ".,;:'’")+" ")
	})
}

// appendSlot adds a statement whose value is a name.
func appendSlot(out []slot, key []string, value, lang string) []slot {
	value = strings.TrimSpace(value)
	terms := summary.Terms(value, lang)
	if len(key) < 2 || len(terms) == 0 || len(terms) > 6 || !hasName(value) {
		return out
	}
	return append(out, slot{key, terms, value})
}

func hasName(s string) bool {
	return slices.ContainsFunc(strings.Fields(s), func(w string) bool {
		r, _ := utf8.DecodeRuneInString(strings.TrimLeft(w, `"'“‘(`))
		return unicode.IsUpper(r)
	})
}

// firstPart returns the text up to the first word or sign that adds another statement.
func firstPart(s string) string {
	if m := stops.FindStringIndex(s); m != nil && m[0] > 0 {
		return s[:m[0]]
	}
	return s
}

// firstPhrase returns the text up to the first sign that adds another statement.
func firstPhrase(s string) string {
	if i := strings.IndexAny(s, ",;:("); i > 0 {
		return s[:i]
	}
	return s
}

// lastPart returns the text after the last sign, without an apposition: "Rome" of "Since 1871, Rome".
func lastPart(s string) string {
	if i := strings.LastIndexAny(s, ",;:"); i >= 0 && i < len(s)-2 {
		if rest := strings.TrimSpace(s[i+1:]); hasName(rest) {
			return rest
		}
		return firstPhrase(s)
	}
	return s
}

// compareSlots compares the values that a claim and a sentence have for the same key.
func (c Claim) compareSlots(sentence string) (f Finding, ok bool) {
	negative := isNegative(sentence)
	for _, mine := range c.slots {
		for _, theirs := range readSlots(sentence, c.lang) {
			if overlapShare(mine.key, theirs.key) < 0.99 {
				continue
			}
			same := overlapShare(mine.value, theirs.value) > 0.49 || overlapShare(theirs.value, mine.value) > 0.49
			switch {
			case same && negative == c.negative:
				return Finding{Relation: Supports, Weight: 0.9, Why: theirs.shown}, true
			case same:
				return Finding{Relation: Contradicts, Weight: 0.8, Why: "one of them is a denial"}, true
			case !negative && !c.negative:
				return Finding{Relation: Contradicts, Weight: 0.8, Why: fmt.Sprintf("%s, not %s", theirs.shown, mine.shown)}, true
			}
		}
	}
	return f, false
}

// overlapShare returns the share of the terms of a that b contains.
func overlapShare(a, b []string) float64 {
	if len(a) == 0 {
		return 0
	}
	n := 0
	for _, t := range a {
		if containsTerm(b, t) {
			n++
		}
	}
	return float64(n) / float64(len(a))
}
