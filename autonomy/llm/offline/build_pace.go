package offline

import (
	"fmt"
	"strconv"
	"strings"

	"hob/platform/text/lazyregexp"
)

// cadence is the interval and the active hours of a watcher, as given in a sentence.
type cadence struct {
	days, span string // for example "mon-fri" and "08:00-18:00"
	every      string
	perDay     int
}

func (p cadence) isEmpty() bool { return p == cadence{} }

// activeHours returns the value for the key active_hours.
func (p cadence) activeHours() string {
	span := p.span
	switch {
	case p.days == "":
		return span
	case span == "":
		span = "00:00-24:00"
	}
	return p.days + " " + span
}

// addToConfig adds the cadence keys to a watcher's configuration.
func (p cadence) addToConfig(config map[string]any) {
	if h := p.activeHours(); h != "" {
		config["active_hours"] = h
	}
	if p.every != "" {
		config["every"] = p.every
	}
	if p.perDay > 0 {
		config["per_day"] = p.perDay
	}
}

// Patterns of the parts of a cadence, without punctuation and in lower case.
var (
	paceJoint = lazyregexp.New(`^(?:(?:and|but|please|,) )+`)
	paceDays  = lazyregexp.New(`^(?:only )?(?:on )?(?:the )?(weekdays|week days|working days|workdays|weekends|weekend|mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays|monday to friday|mondays to fridays)(?: only)?` + paceEnd)
	paceSpan  = lazyregexp.New(`^(?:only )?(?:between|from) ` + paceClock + ` (?:and|to|until|till) ` + paceClock + `(?: only)?` + paceEnd)
	paceNamed = lazyregexp.New(`^(?:only )?(during|in|within|at|not at|not in|not during|never at) (?:the )?(working hours|business hours|office hours|work hours|work|day|daytime|night|mornings|morning|afternoons|afternoon|evenings|evening)(?: only)?` + paceEnd)
	paceMost  = lazyregexp.New(`^(?:only )?(?:at most|no more than|not more than|max|maximum|a maximum of|up to|limited to|only) (\d+|once|twice|one|two|three|four|five|six|seven|eight|nine|ten)(?: times| time| notices| messages| notifications)? (?:a|per|each|every) day` + paceEnd)
	paceEvery = lazyregexp.New(`^(?:and )?(?:check|checking|look|looking|ask|asking)?(?: it| them| for it)? ?every (?:(\d+|two|three|four|five|six|ten|fifteen|twenty|thirty) )?(minutes|minute|hours|hour|days|day|half hour)` + paceEnd)
)

const (
	paceClock = `(\d{1,2})(?::(\d\d))? ?(am|pm|a\.m\.|p\.m\.)?`
	paceEnd   = `(?: |$)`
)

func paceSpans() map[string]string {
	return map[string]string{
		"working hours": "09:00-17:00", "business hours": "09:00-17:00", "office hours": "09:00-17:00", "work hours": "09:00-17:00", "work": "09:00-17:00",
		"day": "07:00-22:00", "daytime": "07:00-22:00", "night": "22:00-07:00", "mornings": "06:00-12:00", "morning": "06:00-12:00",
		"afternoons": "12:00-18:00", "afternoon": "12:00-18:00", "evenings": "18:00-23:00", "evening": "18:00-23:00",
	}
}

// parsePace parses text that contains only a cadence: "only on weekdays, at most 3 a day".
func parsePace(text string) (p cadence, ok bool) {
	rest := strings.TrimSpace(text)
	for range 4 {
		if rest == "" {
			return p, !p.isEmpty()
		}
		next, fine := p.cutPart(rest)
		if !fine {
			return cadence{}, false
		}
		rest = next
	}
	return p, rest == "" && !p.isEmpty()
}

// cutPart parses one part at the start of text and removes it.
func (p *cadence) cutPart(text string) (rest string, ok bool) {
	text = strings.TrimSpace(paceJoint.ReplaceAllString(text, ""))
	for _, x := range []struct {
		form *lazyregexp.Regexp
		take func(m []string) bool
	}{{paceMost, p.setLimit}, {paceSpan, p.setBetween}, {paceNamed, p.setNamed}, {paceDays, p.onDays}, {paceEvery, p.setInterval}} {
		m := x.form.FindStringSubmatch(text)
		if m != nil && x.take(m) {
			return strings.TrimSpace(text[len(m[0]):]), true
		}
	}
	return "", false
}

func (p *cadence) onDays(m []string) bool {
	switch d := m[1]; d {
	case "weekdays", "week days", "working days", "workdays", "monday to friday", "mondays to fridays":
		p.days = "mon-fri"
	case "weekends", "weekend":
		p.days = "sat,sun"
	default:
		p.days = d[:3]
	}
	return true
}

func (p *cadence) setBetween(m []string) bool {
	m[3], m[6] = dayHalves(m[1], m[3], m[4], m[6])
	from, ok1 := clockOf(m[1], m[2], m[3])
	to, ok2 := clockOf(m[4], m[5], m[6])
	p.span = from + "-" + to
	return ok1 && ok2 && from != to
}

// dayHalves returns the halves of the day (am or pm) for two hours. In "from 9 to 11 pm" the half
// applies to both hours. "from 9 to 5 pm" begins in the morning, "from 10 to 2 am" in the evening,
// and "from 9 to 5" means daytime.
func dayHalves(from, a, to, b string) (string, string) {
	f, _ := strconv.Atoi(from)
	t, _ := strconv.Atoi(to)
	later := f%12 < t%12
	switch {
	case a != "" || f > 12 || t > 12:
	case b == "":
		if plain := from[0] != '0' && to[0] != '0'; plain && f >= 6 && f < 12 && t < f {
			b = "pm"
		}
	case later:
		a = b
	case strings.HasPrefix(b, "a"):
		a = "pm"
	}
	return a, b
}

func clockOf(hour, minute, half string) (string, bool) {
	h, err := strconv.Atoi(hour)
	if minute == "" {
		minute = "00"
	}
	switch {
	case strings.HasPrefix(half, "p") && h < 12:
		h += 12
	case strings.HasPrefix(half, "a") && h == 12:
		h = 0
	}
	return fmt.Sprintf("%02d:%s", h, minute), err == nil && h <= 24 && minute < "60"
}

func (p *cadence) setNamed(m []string) bool {
	not := strings.HasPrefix(m[1], "not") || m[1] == "never at"
	p.span = paceSpans()[m[2]]
	switch {
	case not && m[2] == "night":
		p.span = paceSpans()["day"]
	case not:
		return false
	case strings.HasSuffix(m[2], "hours") && p.days == "", m[2] == "work" && p.days == "":
		p.days = "mon-fri"
	}
	return true
}

func (p *cadence) setLimit(m []string) bool {
	p.perDay = parseCount(m[1])
	return p.perDay > 0
}

func (p *cadence) setInterval(m []string) bool {
	n := 1
	if m[1] != "" {
		n = parseCount(m[1])
	}
	switch {
	case m[2] == "half hour":
		p.every = "30m"
	default:
		p.every = strconv.Itoa(n) + m[2][:1]
	}
	return n > 0
}

// parseCount parses a small number. It returns 0 if s is not a number.
func parseCount(s string) int {
	words := map[string]int{
		"a": 1, "an": 1, "once": 1, "one": 1, "twice": 2, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
		"ten": 10, "fifteen": 15, "twenty": 20, "thirty": 30, "forty-five": 45, "sixty": 60,
	}
	if n, ok := words[s]; ok {
		return n
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// cutPace removes a cadence from the end of a captured text. The remaining text ends at token to.
func (w *intentDraft) cutPace(c capture) (to int, p cadence) {
	for from := c.from; from < c.to; from++ {
		if got, ok := parsePace(w.s.normalizedText(from, c.to)); ok && (from == c.from || w.s.canBegin(from)) {
			return from, got
		}
	}
	return c.to, cadence{}
}

// canBegin reports whether a part that is cut off the end of the text can begin at token i.
func (s *sentence) canBegin(i int) bool { return i > 0 && s.tokens[i].kind != punct }
