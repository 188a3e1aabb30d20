package triples

import (
	"slices"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
)

// value is the parsed object of a verb, with its period of validity.
type value struct {
	toks            []tok
	old             []tok
	ended           bool
	more, now, sure bool
	from, until     time.Time
}

// valueOf parses the words after a verb: the value, the value that it replaces, and the period of
// validity.
func (r *reader) valueOf(toks []tok) value {
	v := value{toks: toks}
	v.readNegation()
	v.readReplacement()
	v.readValidity(r)
	v.dropRest()
	v.dropTrailingWords()
	for _, t := range v.toks {
		v.more = v.more || isListed("more", t.w)
		v.now = v.now || isListed("now", t.w)
	}
	for len(v.toks) > 1 && (isListed("now", v.toks[0].w) || v.toks[0].w == "actually" || v.toks[0].w == "really") && v.toks[0].w != "new" {
		v.sure = v.sure || v.toks[0].w == "actually"
		v.toks = v.toks[1:]
	}
	return v
}

// readNegation reads "not X but Y" and "not X".
func (v *value) readNegation() {
	i := 0
	for i < len(v.toks) && (isListed("now", v.toks[i].w) || v.toks[i].w == "actually" || v.toks[i].w == "really") {
		i++
	}
	if i >= len(v.toks)-1 || !isListed("not", v.toks[i].w) {
		return
	}
	rest := v.toks[i+1:]
	if rest[0].w == "longer" || rest[0].w == "mehr" || rest[0].w == "plus" {
		rest = rest[1:]
		v.sure = true
	}
	for j, t := range rest {
		if (t.w == "but" || t.w == "sondern" || t.w == "mais" || t.w == "sino" || t.w == "ma" || t.w == "bet" || t.w == "ale" || t.w == "lecz" || t.w == "o") && j > 0 && j < len(rest)-1 {
			v.old, v.toks, v.sure = rest[:j], rest[j+1:], true
			return
		}
	}
	v.ended, v.toks = true, rest
}

// readReplacement reads "from X to Y", "Y instead of X" and "Y, not X".
func (v *value) readReplacement() {
	if len(v.toks) > 3 && slices.Contains(froms, v.toks[0].w) {
		for j := 2; j < len(v.toks)-1; j++ {
			if w := v.toks[j].w; w == "to" || w == "zu" || w == "nach" || w == "a" {
				v.old, v.toks, v.now = v.toks[1:j], v.toks[j+1:], true
				return
			}
		}
	}
	for j := 1; j < len(v.toks)-1; j++ {
		n := 0
		switch rest := v.toks[j:]; {
		case hasPrefixWords(rest, []string{"instead", "of"}), hasPrefixWords(rest, []string{"rather", "than"}), hasPrefixWords(rest, []string{"and", "not"}), hasPrefixWords(rest, []string{"no", "longer"}), hasPrefixWords(rest, []string{"au", "lieu"}), hasPrefixWords(rest, []string{"not", "on"}), hasPrefixWords(rest, []string{"not", "in"}), hasPrefixWords(rest, []string{"not", "at"}):
			n = 2
		case rest[0].w == "not" && v.toks[j-1].after != 0, rest[0].w == "statt", rest[0].w == "anstatt", rest[0].w == "nicht" && v.toks[j-1].after != 0:
			n = 1
		}
		if n > 0 && j+n < len(v.toks) {
			v.old, v.toks, v.sure = v.toks[j+n:], v.toks[:j], true
			return
		}
	}
}

// readSwap reads "replaced X with Y", "swapped X for Y".
func (v *value) readSwap() bool {
	for j := 1; j < len(v.toks)-1; j++ {
		if w := v.toks[j].w; w == "with" || w == "for" || w == "by" {
			v.old, v.toks, v.now = v.toks[:j], v.toks[j+1:], true
			return true
		}
	}
	return false
}

// readValidity reads the start and the end of the period for which the statement is true.
func (v *value) readValidity(r *reader) {
	at := -1
	for i, t := range v.toks {
		if i == 0 && len(v.toks) > 1 && t.w != "since" && t.w != "until" && t.w != "till" && t.w != "from" {
			continue
		}
		var words string
		switch t.w {
		case "since", "seit", "depuis", "desde", "nuo", "od":
			words = "since"
		case "until", "till", "bis":
			words = "until"
		case "from", "starting", "ab":
			words = "from"
		case "as":
			if i+1 < len(v.toks) && (v.toks[i+1].w == "of" || v.toks[i+1].w == "from") {
				words = "from"
			}
		}
		if words == "" || i+1 >= len(v.toks) {
			continue
		}
		next := i + 1
		if v.toks[next].w == "of" || v.toks[next].w == "on" || v.toks[next].w == "from" {
			next++
		}
		from, until, ok := r.parseBounds(words, v.toks[min(next, len(v.toks)-1):])
		if !ok {
			continue
		}
		if !from.IsZero() {
			v.from = from
		}
		if !until.IsZero() {
			v.until = until
		}
		if at < 0 {
			at = i
		}
	}
	if at > 0 {
		v.toks = v.toks[:at]
	}
}

// parseBounds parses the time after a word such as "since", "until" or "from" to the bounds of a
// period.
func (r *reader) parseBounds(word string, toks []tok) (from, until time.Time, ok bool) {
	for n := min(len(toks), 6); n > 0; n-- {
		words := r.spanText(toks[:n])
		switch word {
		case "from":
			m, err := dateparse.Parse(words, r.now)
			if err == nil {
				return m.Time, time.Time{}, true
			}
		default:
			p, err := dateparse.ParsePeriod(word+" "+words, r.now)
			if err == nil && word == "since" {
				return p.From, time.Time{}, true
			}
			if err == nil {
				return time.Time{}, p.To, true
			}
		}
	}
	return from, until, false
}

// dropRest drops the words after the value.
func (v *value) dropRest() {
	for i, t := range v.toks {
		if i == 0 {
			continue
		}
		if isListed("condition", t.w) || t.w == "or" || slices.Contains([]string{"in", "on", "at"}, v.toks[i-1].w) && isRecurringWord(t.w) {
			v.more = true
		}
		if v.toks[i-1].after == ';' || v.toks[i-1].after == ',' && i > 0 && !t.capital && !hasDigit(t.w) && !isListed("place", t.w) || isListed("ends value", t.w) {
			v.toks = v.toks[:i]
			break
		}
	}
	for i, t := range v.toks { // "in summer" and "on Fridays" make a value that does not exclude others
		if i > 0 && isRecurringWord(t.w) && slices.Contains([]string{"in", "on", "every", "im"}, v.toks[i-1].w) {
			v.more = true
		}
	}
}

// isRecurringWord reports whether w describes a recurring time.
func isRecurringWord(w string) bool {
	return slices.Contains([]string{
		"mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays", "weekends", "weekdays", "summer", "winter", "spring", "autumn", "summers", "winters", "holidays", "mornings", "evenings", "nights", "sommer",
	}, w)
}

// dropTrailingWords drops trailing words that only say that the value is new or certain.
func (v *value) dropTrailingWords() {
	for again := true; again; {
		again = false
		for _, list := range []string{"tail now", "tail more", "tail sure", "tail drop"} {
			n := matchTrailing(v.toks, list)
			if n == 0 {
				continue
			}
			last := tokenWords(v.toks[len(v.toks)-n:])
			v.toks = v.toks[:len(v.toks)-n]
			v.now = v.now || list == "tail now"
			v.more = v.more || list == "tail more"
			v.sure = v.sure || list == "tail sure" || last[0] == "instead" || last[0] == "anymore" || last[0] == "any"
			again = true
		}
	}
}

func hasDigit(w string) bool { return strings.ContainsAny(w, "0123456789") }

// Class is the class of a value.
type Class string

// The classes of values.
const (
	Other  Class = ""
	Place  Class = "place"
	Time   Class = "time"
	Number Class = "number"
	Color  Class = "colour"
)

// classOf returns the class of the value that toks express.
func (r *reader) classOf(toks []tok) Class {
	if len(toks) == 0 {
		return Other
	}
	if isForeignTime(toks) {
		return Time
	}
	if isListed("place", toks[0].w) && len(toks) > 1 {
		if r.isTimePhrase(toks) {
			return Time
		}
		return Place
	}
	if isListed("colours", toks[len(toks)-1].w) && len(toks) <= 2 {
		return Color
	}
	if hasDigit(toks[0].w) {
		if r.isTimePhrase(toks) {
			return Time
		}
		return Number
	}
	if r.isTimePhrase(toks) {
		return Time
	}
	return Other
}

// isTimePhrase reports whether toks consist of a time and few other words.
func (r *reader) isTimePhrase(toks []tok) bool {
	text := r.spanText(toks[:min(len(toks), 10)])
	found := 0
	for _, m := range dateparse.Find(text, r.now) {
		found += m.End - m.Start
	}
	return found*10 >= len(text)*7
}

// isForeignTime reports whether toks are a time in a language that package dateparse does not
// parse.
func isForeignTime(toks []tok) bool {
	for _, t := range toks {
		if slices.Contains([]string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche", "lunes", "martes", "jueves", "viernes", "lunedi", "martedi", "giovedi", "venerdi"}, t.w) {
			return true
		}
	}
	return false
}

// Words returns the folded words of a value without leading articles and prepositions.
func Words(s string) []string {
	w := textnorm.FoldedWords(s)
	for len(w) > 1 && slices.Contains([]string{"the", "a", "an", "on", "in", "at", "my", "our", "der", "die", "das", "dem", "den", "am", "le", "la", "el", "il", "un", "una", "une", "ein", "eine", "einen"}, w[0]) {
		w = w[1:]
	}
	return w
}
