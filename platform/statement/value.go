package statement

import (
	"slices"
	"strings"
	"time"

	"hob/platform/phrase"
	"hob/platform/when"
)

// value is the object of a verb.
type value struct {
	toks            []tok
	old             []tok
	ended           bool
	more, now, sure bool
	from, until     time.Time
}

// valueOf parses the words after a verb: the value, what it replaces, and its
// validity.
func (r *reader) valueOf(toks []tok) value {
	v := value{toks: toks}
	v.negated()
	v.replaced()
	v.limited(r)
	v.cut()
	v.tails()
	for _, t := range v.toks {
		v.more = v.more || is("more", t.w)
		v.now = v.now || is("now", t.w)
	}
	for len(v.toks) > 1 && (is("now", v.toks[0].w) || v.toks[0].w == "actually" || v.toks[0].w == "really") && v.toks[0].w != "new" {
		v.sure = v.sure || v.toks[0].w == "actually"
		v.toks = v.toks[1:]
	}
	return v
}

// negated reads "not X but Y" and "not X".
func (v *value) negated() {
	i := 0
	for i < len(v.toks) && (is("now", v.toks[i].w) || v.toks[i].w == "actually" || v.toks[i].w == "really") {
		i++
	}
	if i >= len(v.toks)-1 || !is("not", v.toks[i].w) {
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

// replaced reads "from X to Y", "Y instead of X" and "Y, not X".
func (v *value) replaced() {
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
		case has(rest, []string{"instead", "of"}), has(rest, []string{"rather", "than"}), has(rest, []string{"and", "not"}), has(rest, []string{"no", "longer"}), has(rest, []string{"au", "lieu"}), has(rest, []string{"not", "on"}), has(rest, []string{"not", "in"}), has(rest, []string{"not", "at"}):
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

// swapped reads "replaced X with Y", "swapped X for Y".
func (v *value) swapped() bool {
	for j := 1; j < len(v.toks)-1; j++ {
		if w := v.toks[j].w; w == "with" || w == "for" || w == "by" {
			v.old, v.toks, v.now = v.toks[:j], v.toks[j+1:], true
			return true
		}
	}
	return false
}

// limited reads since and until when it holds.
func (v *value) limited(r *reader) {
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
		from, until, ok := r.bounds(words, v.toks[min(next, len(v.toks)-1):])
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

// bounds reads the time behind since, until or from.
func (r *reader) bounds(word string, toks []tok) (from, until time.Time, ok bool) {
	for n := min(len(toks), 6); n > 0; n-- {
		words := r.span(toks[:n])
		switch word {
		case "from":
			m, err := when.Parse(words, r.now)
			if err == nil {
				return m.Time, time.Time{}, true
			}
		default:
			p, err := when.ParsePeriod(word+" "+words, r.now)
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

// cut drops what follows the value.
func (v *value) cut() {
	for i, t := range v.toks {
		if i == 0 {
			continue
		}
		if is("condition", t.w) || t.w == "or" || slices.Contains([]string{"in", "on", "at"}, v.toks[i-1].w) && repeated(t.w) {
			v.more = true
		}
		if v.toks[i-1].after == ';' || v.toks[i-1].after == ',' && i > 0 && !t.capital && !digits(t.w) && !is("place", t.w) || is("ends value", t.w) {
			v.toks = v.toks[:i]
			break
		}
	}
	for i, t := range v.toks { // "in summer", "on Fridays"
		if i > 0 && repeated(t.w) && slices.Contains([]string{"in", "on", "every", "im"}, v.toks[i-1].w) {
			v.more = true
		}
	}
}

// repeated reports words for recurring times.
func repeated(w string) bool {
	return slices.Contains([]string{
		"mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays", "weekends", "weekdays", "summer", "winter", "spring", "autumn", "summers", "winters", "holidays", "mornings", "evenings", "nights", "sommer",
	}, w)
}

// tails drops trailing words that express how new or certain the value is.
func (v *value) tails() {
	for again := true; again; {
		again = false
		for _, list := range []string{"tail now", "tail more", "tail sure", "tail drop"} {
			n := trails(v.toks, list)
			if n == 0 {
				continue
			}
			last := joined(v.toks[len(v.toks)-n:])
			v.toks = v.toks[:len(v.toks)-n]
			v.now = v.now || list == "tail now"
			v.more = v.more || list == "tail more"
			v.sure = v.sure || list == "tail sure" || last[0] == "instead" || last[0] == "anymore" || last[0] == "any"
			again = true
		}
	}
}

func digits(w string) bool { return strings.ContainsAny(w, "0123456789") }

// Class is what kind of value it is.
type Class string

// The classes of values.
const (
	Other  Class = ""
	Place  Class = "place"
	Time   Class = "time"
	Number Class = "number"
	Colour Class = "colour"
)

// classOf returns the class of some words.
func (r *reader) classOf(toks []tok) Class {
	if len(toks) == 0 {
		return Other
	}
	if timely(toks) {
		return Time
	}
	if is("place", toks[0].w) && len(toks) > 1 {
		if r.time(toks) {
			return Time
		}
		return Place
	}
	if is("colours", toks[len(toks)-1].w) && len(toks) <= 2 {
		return Colour
	}
	if digits(toks[0].w) {
		if r.time(toks) {
			return Time
		}
		return Number
	}
	if r.time(toks) {
		return Time
	}
	return Other
}

// time reports whether the words are a time and little else.
func (r *reader) time(toks []tok) bool {
	text := r.span(toks[:min(len(toks), 10)])
	found := 0
	for _, m := range when.Find(text, r.now) {
		found += m.End - m.Start
	}
	return found*10 >= len(text)*7
}

// timely reports times that package when does not parse, in other languages.
func timely(toks []tok) bool {
	for _, t := range toks {
		if slices.Contains([]string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche", "lunes", "martes", "jueves", "viernes", "lunedi", "martedi", "giovedi", "venerdi"}, t.w) {
			return true
		}
	}
	return false
}

// Words folds a value to the words that compare.
func Words(s string) []string {
	w := phrase.Split(s)
	for len(w) > 1 && slices.Contains([]string{"the", "a", "an", "on", "in", "at", "my", "our", "der", "die", "das", "dem", "den", "am", "le", "la", "el", "il", "un", "una", "une", "ein", "eine", "einen"}, w[0]) {
		w = w[1:]
	}
	return w
}
