package knowledge

import (
	_ "embed" // the word lists
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	say "hob/platform/text/triples"
)

// The kinds of facts, besides KindFact for a plain statement. KindObservation is a conclusion that
// Hob drew; the others are kinds of statements.
const (
	KindPreference  = "preference"
	KindProcedure   = "procedure"
	KindEvent       = "event" // a fact about one date; see Fact.ValidUntil
	KindDecision    = "decision"
	KindObservation = "observation"
)

// FactKinds lists the kinds that a caller may give to a fact.
func FactKinds() []string {
	return []string{KindFact, KindPreference, KindProcedure, KindEvent, KindDecision}
}

// ErrFactKind means that a fact has an unknown kind, or an end that its kind does not have.
var ErrFactKind = errors.New("invalid kind of fact")

//go:embed kinds.txt
var kindsText string

// factPatterns holds the entries of kinds.txt by section. The elements of an entry are folded words,
// "^", "," and "...".
type factPatterns map[string][][]string

var loadFactPatterns = sync.OnceValue(func() factPatterns {
	out, section := factPatterns{}, ""
	for line := range strings.Lines(kindsText) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		default:
			for entry := range strings.SplitSeq(line, "|") {
				if words := strings.Fields(entry); len(words) > 0 {
					out[section] = append(out[section], words)
				}
			}
		}
	}
	return out
})

// matchesAny reports whether an entry of a section occurs in the words.
func (p factPatterns) matchesAny(section string, words []string) bool {
	return slices.ContainsFunc(p[section], func(entry []string) bool {
		if entry[0] == "^" {
			return matchesPrefix(words, entry[1:])
		}
		for i := range words {
			if matchesPrefix(words[i:], entry) {
				return true
			}
		}
		return false
	})
}

// matchesPrefix reports whether the words begin with an entry.
func matchesPrefix(words, entry []string) bool {
	for i, w := range entry {
		if w == "..." {
			rest := entry[i+1:]
			for k := i; k <= len(words); k++ {
				if matchesPrefix(words[k:], rest) {
					return true
				}
			}
			return false
		}
		if i >= len(words) || words[i] != w {
			return false
		}
	}
	return true
}

// wordsAndCommas returns the folded words of a text, with its commas as words.
func wordsAndCommas(text string) (out []string) {
	for i, part := range strings.Split(text, ",") {
		if i > 0 {
			out = append(out, ",")
		}
		out = append(out, textnorm.FoldedWords(part)...)
	}
	return out
}

// setKind fills in the kind of a fact that has none, by the rules of kinds.txt, and the end of an
// event on a future date. now is the time of the statement in the user's zone.
func (f *Fact) setKind(list []say.Triple, now time.Time) {
	p, words := loadFactPatterns(), wordsAndCommas(f.Text)
	day := time.Time{}
	if f.Kind == "" || f.Kind == KindEvent && f.ValidUntil.IsZero() {
		day = endOfEvent(f.Text, now)
	}
	if f.Kind == "" {
		switch {
		case isPreferenceOnly(list), p.matchesAny(KindPreference, words):
			f.Kind = KindPreference
		case p.matchesAny(KindDecision, words):
			f.Kind = KindDecision
		case p.matchesAny(KindProcedure, words):
			f.Kind = KindProcedure
		case !day.IsZero() && p.matchesAny(KindEvent, words) && !p.matchesAny("recurring", words):
			f.Kind = KindEvent
		default:
			f.Kind = KindFact
		}
	}
	if f.Kind == KindEvent && f.ValidUntil.IsZero() && day.After(now) && !p.matchesAny("over", words) {
		f.ValidUntil = store.Time(store.Millis(day))
	}
}

// endOfEvent returns the end of the last day that a text names, or the zero time if it names none
// or a recurrence.
func endOfEvent(text string, now time.Time) (end time.Time) {
	for _, m := range dateparse.Find(text, now) {
		var to time.Time
		switch {
		case m.Every != nil:
			return time.Time{}
		case m.Period != nil:
			to = m.Period.To
		case m.Moment != nil:
			y, mo, d := m.Moment.Time.Date()
			to = time.Date(y, mo, d+1, 0, 0, 0, 0, now.Location())
		}
		if to.After(end) {
			end = to
		}
	}
	return end
}

func (f Fact) hasKnownKind() bool {
	return f.Kind == "" || f.Kind == KindObservation || slices.Contains(FactKinds(), f.Kind)
}

// checkKind checks the kind and the end that a caller gave to a fact.
func (f Fact) checkKind() error {
	switch {
	case !f.hasKnownKind():
		return fmt.Errorf("%w: %q; use %s", ErrFactKind, textnorm.Ellipsize(f.Kind, 40), strings.Join(FactKinds(), ", "))
	case f.Kind == KindEvent && !f.ValidUntil.IsZero() && !f.ValidUntil.After(f.CreatedAt):
		return fmt.Errorf("%w: the event ended %s; give a date in the future, or none", ErrFactKind, f.ValidUntil.AddDate(0, 0, -1).Format(time.DateOnly))
	}
	return nil
}

// IsQuestion reports whether a text asks something instead of stating it.
func IsQuestion(text string) bool {
	return endsWithQuestion(text) || slices.ContainsFunc(loadFactPatterns()["question"], func(entry []string) bool {
		return matchesPrefix(textnorm.FoldedWords(text), entry)
	})
}

// isFragment reports whether a text is only a part of a sentence: it begins or ends in the middle
// of one, or has fewer than two words with content.
func isFragment(text string) bool {
	p, words := loadFactPatterns(), textnorm.FoldedWords(text)
	begins := slices.ContainsFunc(p["begins"], func(entry []string) bool { return matchesPrefix(words, entry) })
	ends := len(words) > 0 && slices.ContainsFunc(p["ends"], func(entry []string) bool { return entry[0] == words[len(words)-1] })
	return begins || ends || len(strings.Fields(duplicateKey(text))) < 2 && !slices.ContainsFunc(words, isUnsegmentedScript)
}

// duplicateKey returns the words of a text without fillers. Facts with the same key state the same.
func duplicateKey(text string) string {
	filler := loadFactPatterns()["filler"]
	words := textnorm.FoldedWords(text)
	return strings.Join(slices.DeleteFunc(words, func(w string) bool {
		return slices.ContainsFunc(filler, func(entry []string) bool { return entry[0] == w })
	}), " ")
}
