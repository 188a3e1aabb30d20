package offline

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"hob/platform/text/lazyregexp"
)

// doubt is a possible typo: a typed word, and the deciding word that may be meant. A deciding word
// is one that decides what a request means.
type doubt struct{ typed, meant string }

// weekdayName matches a day of the week.
var weekdayName = lazyregexp.New(`^(?:mon|tue|tues|wed|weds|thu|thur|thurs|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?$`)

// repairTypos corrects each certain typo of a deciding word, also inside free text, because a
// reminder must not contain "tomrorow". It returns the words about which Hob must ask.
func (g *grammar) repairTypos(text string) (string, []doubt) {
	var doubts []doubt
	var out strings.Builder
	done := 0
	toks := splitTokens(text, g.lex)
	for i, t := range toks {
		if i > 0 && i+1 < len(toks) && t.raw == "n" && toks[i-1].kind == word && toks[i+1].kind == word { // "feta n olives"
			out.WriteString(text[done:t.start] + "and")
			done = t.end
			continue
		}
		if t.kind != word || len(t.norm) < 3 || t.raw == "" {
			continue
		}
		if i > 0 && i+1 < len(toks) && toks[i+1].kind == word && weekdayName.MatchString(t.norm) && weekdayName.MatchString(toks[i+1].norm) { // "every mon wed fri at 7"
			joint := ","
			if i+2 >= len(toks) || !weekdayName.MatchString(toks[i+2].norm) && toks[i+2].norm != "and" {
				joint = " and"
			}
			out.WriteString(text[done:t.end] + joint)
			done = t.end
			continue
		}
		if g.isDelay(toks, i) { // "remind me after ten minutes"
			out.WriteString(text[done:t.start] + "in")
			done = t.end
			continue
		}
		if i > 0 && i+1 < len(toks) && t.norm == "like" && g.lex.containsWord("before-like", toks[i-1].norm) { // "in like an hour"
			out.WriteString(text[done:t.start])
			done = toks[i+1].start
			continue
		}
		meant, certain := g.meantWord(toks, i)
		switch {
		case meant == "":
		case !certain:
			doubts = append(doubts, doubt{t.raw, meant})
		default:
			out.WriteString(text[done:t.start] + matchCase(t.raw, meant))
			done = t.end
		}
	}
	return out.String() + text[done:], doubts
}

// isDelay reports whether token i is "after" before a length of time that ends the sentence or stands before what to
// do, so that it means "in".
func (g *grammar) isDelay(toks []token, i int) bool {
	if toks[i].norm != "after" || i == 0 || i+2 >= len(toks) || !g.lex.containsWord("delay-units", toks[i+2].norm) {
		return false
	}
	n := toks[i+1].norm
	_, number := g.lex.meaningOf("numbers", n)
	if !number && !isDigit(n[0]) || g.lex.containsWord("lead-units", toks[i-1].norm) {
		return false
	}
	return i+3 == len(toks) || toks[i+3].kind == punct || toks[i+3].norm == "to" || toks[i+3].norm == "about"
}

// meantWord returns the deciding word of which token i is a typo, or "". Words in the grammar and
// common words that look similar are not typos. certain is false if the word may be a name.
func (g *grammar) meantWord(toks []token, i int) (meant string, certain bool) {
	t := toks[i]
	if right, ok := g.lex.meaningOf("misspellings", t.norm); ok {
		return right, true
	}
	if i > 0 && g.lex.containsWord("before-list", toks[i-1].norm) && !(len(t.norm) > 3 && g.vocab[t.norm]) && t.norm != "list" && isNear(t.norm, "list") {
		return "list", true
	}
	listName := i+1 < len(toks) && toks[i+1].norm == "list"
	known := g.vocab[t.norm] || g.lex.containsWord("numbers", t.norm) || g.lex.containsWord("look-alikes", t.norm) && !listName
	if known || strings.ContainsFunc(t.norm, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) }) {
		return "", false
	}
	number := func(j int) bool {
		return j >= 0 && j < len(toks) && toks[j].kind == word && (isDigit(toks[j].norm[0]) || g.lex.containsWord("numbers", toks[j].norm))
	}
	best := 0
	for _, list := range []string{"typo-words", "typo-units", "typo-months"} {
		if list == "typo-units" && !number(i-1) || list == "typo-months" && !number(i-1) && !number(i+1) {
			continue
		}
		if g.lex.containsWord(list, t.norm) {
			return "", false
		}
		for w := range g.lex.lists[list] {
			if !isNear(t.norm, w) || strings.HasPrefix(t.norm, w) { // "reminds" is a form of the word
				continue
			}
			rank := 1 // a replaced letter
			switch {
			case isSwap(t.norm, w):
				rank = 3
			case len(t.norm) != len(w):
				rank = 2
			case len(w) < 5:
				continue // "mask" is not "task"
			}
			switch {
			case rank > best:
				meant, best, certain = w, rank, isTypo(t.norm, w)
			case rank == best: // several words are equally near
				meant, certain = min(meant, w), false
			}
		}
	}
	name := i > 0 && toks[i-1].kind == word && unicode.IsUpper(rune(t.raw[0]))
	return meant, certain && (best == 3 || !name) && !g.lex.containsWord("look-alikes", t.norm)
}

// isSwap reports whether two words of the same length differ only in the order of two letters.
func isSwap(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// matchCase writes meant with the capital letter of typed.
func matchCase(typed, meant string) string {
	if unicode.IsUpper(rune(typed[0])) {
		return upperFirst(meant)
	}
	return meant
}

// impossibleDay matches a day that no year has, such as "31 April" and "February 30th".
var impossibleDay = lazyregexp.New(`(?i)\b(?:(?:30|31)(?:st|th)? (?:of )?feb(?:ruary)?|31(?:st)? (?:of )?(?:apr(?:il)?|june?|sept?(?:ember)?|nov(?:ember)?)|feb(?:ruary)? (?:30|31)(?:st|th)?|(?:apr(?:il)?|june?|sept?(?:ember)?|nov(?:ember)?) 31(?:st)?)\b`)

// monthWord matches the name of a month.
var monthWord = lazyregexp.New(`(?i)\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b`)

// askImpossibleDay asks for another day if a request that needs a day names one that does not exist.
func (g *grammar) askImpossibleDay(p plan, text string) (plan, bool) {
	day := impossibleDay.FindString(text)
	if day == "" || p.outcome != ask && !(p.outcome == act && g.changesRecords(p)) || p.intent == nil || p.intent.verbatim {
		return p, false
	}
	q, _ := planQuestion(quoteText(day)+" does not exist. Which day do you mean?", func(answer string) (string, bool) {
		return strings.Replace(text, day, withoutPreposition(strings.Trim(answer, " .!")), 1), monthWord.MatchString(answer)
	})
	q.intent = p.intent
	return q, true
}

// askTypo replaces a plan that changes records by a question if the text contains a word that may be
// a typo of a deciding word.
func (g *grammar) askTypo(p plan, text string, now time.Time) plan {
	if !g.changesRecords(p) {
		return p
	}
	fixed, doubts := g.repairTypos(text)
	if len(doubts) == 0 {
		return p
	}
	d := doubts[0]
	q, _ := planQuestion("Did you mean “"+d.meant+"” by “"+d.typed+"”?", func(answer string) (string, bool) {
		return strings.Replace(fixed, d.typed, d.meant, 1), g.isYes(answer, now)
	})
	q.intent = p.intent
	return q
}

// isYes reports whether an answer agrees and contains nothing else.
func (g *grammar) isYes(answer string, now time.Time) bool {
	s := g.parseSentence(answer, now)
	for _, t := range s.tokens {
		if t.kind == word && !g.lex.containsWord("yes", t.norm) && !g.lex.containsWord("answer-fillers", t.norm) {
			return false
		}
	}
	return len(s.tokens) == 0 && strings.EqualFold(strings.Trim(answer, " .!"), "please") || s.firstWord(0) != "" && g.lex.containsWord("yes", s.firstWord(0))
}

// changesRecords reports whether a plan calls a tool that may create, change or send something.
func (g *grammar) changesRecords(p plan) bool {
	return slices.ContainsFunc(append(p.calls[:len(p.calls):len(p.calls)], p.then...), func(c call) bool {
		return !g.lex.containsWord("reading-tools", c.name)
	})
}
