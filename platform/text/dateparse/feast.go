package dateparse

import (
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed holidays.txt
var holidaysText string

// holiday is a named day and the rule that computes its date.
type holiday struct {
	rule   string               // as in holidays.txt
	find   func(year int) []day // lists the base days of the rule in a year
	moves  [7]day               // number of days by which the holiday moves, for each weekday
	before int                  // weekday: the holiday is the last such weekday before the base day; -1 for none
	offset day
	eve    *holiday // the day before the holiday
}

// daysInYear lists the days of the holiday in a year of the common calendar.
func (f *holiday) daysInYear(year int) []day {
	near := 0
	if f.offset != 0 || f.before >= 0 {
		near = 1
	}
	var out []day
	for y := year - near; y <= year+near; y++ {
		for _, d := range f.find(y) {
			d += f.moves[d.weekdayOf()]
			if f.before >= 0 {
				d -= day((int(d.weekdayOf())-f.before+6)%7 + 1)
			}
			if d += f.offset; inYear(d, year) {
				out = append(out, d)
			}
		}
	}
	return out
}

func inYear(d day, y int) bool {
	cy, _, _ := d.civilDate()
	return cy == y
}

// feasts contains the table in holidays.txt, by the first word of each name.
var feasts = sync.OnceValue(func() map[string][]feastName {
	table, err := readFeasts(holidaysText)
	if err != nil {
		panic(err) // the embedded table is checked by a test
	}
	return table
})

type feastName struct {
	words []string
	feast *holiday
}

func readFeasts(text string) (map[string][]feastName, error) {
	table := map[string][]feastName{}
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		rule, names, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("holidays.txt:%d: want \"rule: names\"", n+1)
		}
		f, err := readRule(strings.Fields(rule))
		if err != nil {
			return nil, fmt.Errorf("holidays.txt:%d: %w", n+1, err)
		}
		for _, name := range strings.Split(names, ",") {
			words := strings.Fields(name)
			if len(words) == 0 {
				return nil, fmt.Errorf("holidays.txt:%d: empty name", n+1)
			}
			key := stripPluralSuffix(words[0])
			table[key] = append(table[key], feastName{words, f})
		}
	}
	return table, nil
}

// readRule parses the left side of a line in holidays.txt: a base day, and how the holiday is moved
// from it.
func readRule(words []string) (*holiday, error) {
	f := &holiday{rule: strings.Join(words, " "), before: -1}
	base := len(words)
	if base == 0 {
		return nil, errors.New("names without a rule")
	}
	for i, w := range words {
		if !isMove(w) || i == 0 {
			continue
		}
		base = min(base, i)
		switch at := strings.LastIndexAny(w, "+-"); {
		case w == "before":
			wd, ok := weekdayName(strings.Join(words[i+1:min(i+2, len(words))], ""))
			if !ok {
				return nil, fmt.Errorf("rule %q: the weekday after \"before\" is missing", f.rule)
			}
			f.before = int(wd)
		default:
			n, err := strconv.Atoi(w[at:])
			wd, ok := weekdayName(w[:at])
			if err != nil || !ok && at > 0 {
				return nil, fmt.Errorf("rule %q: unknown move %q", f.rule, w)
			}
			if ok {
				f.moves[wd] = day(n)
			} else {
				f.offset += day(n)
			}
		}
	}
	if words[0] == "hebrew" {
		f.offset-- // the holiday begins at sunset of the previous day
	}
	find, err := readBase(words[:base])
	f.find = find
	eve := *f
	eve.offset--
	f.eve = &eve
	return f, err
}

func isMove(w string) bool { return w == "before" || strings.LastIndexAny(w, "+-") >= 0 }

// readBase reads the base of a rule.
func readBase(words []string) (func(int) []day, error) {
	one := func(find func(int) day) func(int) []day { return func(y int) []day { return []day{find(y)} } }
	switch words[0] {
	case "easter":
		return one(easterSunday), nil
	case "orthodox":
		return one(orthodoxEaster), nil
	case "nowruz":
		return one(nowruzDay), nil
	case "parsi":
		return parsiIn, nil
	case "chinese", "islamic", "hindu", "sankranti", "hebrew":
		return readForeign(words)
	}
	n, err := strconv.Atoi(words[0])
	m, ok := monthName(words[len(words)-1])
	switch {
	case err != nil || !ok:
	case len(words) == 2:
		return one(func(y int) day { return newDay(y, m, n) }), nil
	case len(words) == 3:
		wd, ok := weekdayName(words[1])
		if !ok {
			break
		}
		return func(y int) []day {
			lo := newDay(y, m, 1)
			s, ok := nth{n: n, count: 1, byDay: true, wd: wd}.nthIn(daySpan{lo, lo.addMonths(1)})
			if !ok {
				return nil
			}
			return []day{s.lo}
		}, nil
	}
	return nil, fmt.Errorf("rule %q has an unknown form", strings.Join(words, " "))
}

// readForeign parses a day of another calendar.
func readForeign(words []string) (func(int) []day, error) {
	bad := fmt.Errorf("rule %q has an unknown form", strings.Join(words, " "))
	var n [2]int
	for i, w := range words[1:min(3, len(words))] {
		v, err := strconv.Atoi(w)
		if err != nil && !(words[0] == "hebrew" && i == 1) && !(words[0] == "sankranti" && i == 1) {
			return nil, bad
		}
		n[i] = v
	}
	switch {
	case words[0] == "chinese" && len(words) == 3:
		return func(y int) []day { return chineseIn(y, n[0], n[1]) }, nil
	case words[0] == "islamic" && len(words) == 3:
		return func(y int) []day { return islamicIn(y, n[0], n[1]) }, nil
	case words[0] == "sankranti" && len(words) >= 2:
		return func(y int) []day { return []day{sankrantiDay(y, float64(n[0]), len(words) == 3)} }, nil
	case words[0] == "hebrew" && len(words) == 3 && hebrewMonth(words[2], 5784) > 0:
		return func(y int) []day { return hebrewIn(y, words[2], n[0]) }, nil
	case words[0] == "hindu" && len(words) == 4:
		when, ok := hinduHour(words[3])
		if !ok {
			return nil, bad
		}
		return func(y int) []day { return hinduIn(y, n[0], n[1], when) }, nil
	}
	return nil, bad
}

// stripPluralSuffix drops the plural or possessive s of a word.
func stripPluralSuffix(w string) string {
	if len(w) > 3 && (!strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "sss")) {
		return strings.TrimSuffix(w, "s")
	}
	return w
}

// feastPiece reads the name of a holiday and, after it, "eve" or "day".
func (p *parser) feastPiece(i int) []candidateParse {
	j := p.skipWord(i, "the")
	var best *holiday
	end := 0
	key := p.tokenText(j)
	if wd, ok := weekdayName(key); ok {
		key = strings.ToLower(wd.String())
	}
	for _, n := range feasts()[stripPluralSuffix(key)] {
		if e, ok := p.feastName(j, n.words); ok && e > end {
			best, end = n.feast, e
		}
	}
	if best == nil {
		return nil
	}
	end = p.skipWord(p.skipWord(end, "day"), "holiday")
	s := spec{set: fFeast, feast: best}
	out := []candidateParse{{end, s}}
	k := p.skipWord(p.skipWord(end, ","), "of", "in")
	for _, y := range p.parseYear(k) {
		out = append([]candidateParse{{y.end, overlaySpec(s, yearSpec(y.n))}}, out...)
	}
	if p.isWord(end, "eve") {
		out = append(out, candidateParse{end + 1, spec{set: fFeast, feast: best.eve}})
	}
	return out
}

func (p *parser) feastName(i int, words []string) (int, bool) {
	for n, w := range words {
		if n > 0 && p.isWord(i, "-") && p.isGlued(i) {
			i++
		}
		if stripPluralSuffix(p.tokenText(i)) != stripPluralSuffix(w) && !p.sameDayName(i, w) {
			return 0, false
		}
		i++
		if p.isWord(i-1, "st", "jr") {
			i = p.skipDot(i)
		}
	}
	return i, true
}

// sameDayName makes "easter mon" match Easter Monday.
func (p *parser) sameDayName(i int, w string) bool {
	a, ok := weekdayName(p.tokenText(i))
	b, same := weekdayName(w)
	return ok && same && a == b
}

// parsiIn returns the Shahenshahi new year, which recurs every 365 days.
func parsiIn(y int) []day {
	const known = day(17760) // 17 August 2018
	lo := newDay(y, 1, 1)
	d := known + (lo-known)/365*365
	for d < lo {
		d += 365
	}
	var out []day
	for ; inYear(d, y); d += 365 {
		out = append(out, d)
	}
	return out
}

// nowruzDay returns the first day of spring in Iran. This is the day of the equinox, or the next
// day if the equinox is after noon in Tehran.
func nowruzDay(y int) day {
	tehran := observerPlace{zone: 3*time.Hour + 30*time.Minute}
	d, h := tehran.dayAt(sunAt(0, tehran.instantAt(newDay(y, 3, 20), 12)))
	if h >= 12 {
		d++
	}
	return d
}
