package when

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

// feast is a named day and the rule that computes its date.
type feast struct {
	rule   string               // as in holidays.txt
	find   func(year int) []day // the base of the rule in a year
	moves  [7]day               // by how much it moves off each weekday
	before int                  // the weekday before it, or -1
	offset day
	eve    *feast // the day before it
}

// in lists the days of the feast in a year of the common calendar.
func (f *feast) in(year int) []day {
	near := 0
	if f.offset != 0 || f.before >= 0 {
		near = 1
	}
	var out []day
	for y := year - near; y <= year+near; y++ {
		for _, d := range f.find(y) {
			d += f.moves[d.weekday()]
			if f.before >= 0 {
				d -= day((int(d.weekday())-f.before+6)%7 + 1)
			}
			if d += f.offset; inYear(d, year) {
				out = append(out, d)
			}
		}
	}
	return out
}

func inYear(d day, y int) bool {
	cy, _, _ := d.civil()
	return cy == y
}

// feasts is the table of holidays.txt, by the first word of each name.
var feasts = sync.OnceValue(func() map[string][]feastName {
	table, err := readFeasts(holidaysText)
	if err != nil {
		panic(err) // the embedded table is checked by a test
	}
	return table
})

type feastName struct {
	words []string
	feast *feast
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
			key := stem(words[0])
			table[key] = append(table[key], feastName{words, f})
		}
	}
	return table, nil
}

// readRule reads the left side of a line of holidays.txt: a base and how the
// day moves from it.
func readRule(words []string) (*feast, error) {
	f := &feast{rule: strings.Join(words, " "), before: -1}
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
				return nil, fmt.Errorf("rule %q: before what weekday?", f.rule)
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
		f.offset-- // it begins at sunset of the day before
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
		return one(easter), nil
	case "orthodox":
		return one(orthodoxEaster), nil
	case "nowruz":
		return one(nowruz), nil
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
		return one(func(y int) day { return date(y, m, n) }), nil
	case len(words) == 3:
		wd, ok := weekdayName(words[1])
		if !ok {
			break
		}
		return func(y int) []day {
			lo := date(y, m, 1)
			s, ok := nth{n: n, count: 1, byDay: true, wd: wd}.in(daySpan{lo, lo.addMonths(1)})
			if !ok {
				return nil
			}
			return []day{s.lo}
		}, nil
	}
	return nil, fmt.Errorf("rule %q has an unknown form", strings.Join(words, " "))
}

// readForeign reads a day of another calendar.
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
		return func(y int) []day { return []day{sankranti(y, float64(n[0]), len(words) == 3)} }, nil
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

// stem drops the plural or possessive s of a word.
func stem(w string) string {
	if len(w) > 3 && (!strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "sss")) {
		return strings.TrimSuffix(w, "s")
	}
	return w
}

// feastPiece reads the name of a holiday and, after it, "eve" or "day".
func (p *parser) feastPiece(i int) []alt {
	j := p.skip(i, "the")
	var best *feast
	end := 0
	key := p.text(j)
	if wd, ok := weekdayName(key); ok {
		key = strings.ToLower(wd.String())
	}
	for _, n := range feasts()[stem(key)] {
		if e, ok := p.feastName(j, n.words); ok && e > end {
			best, end = n.feast, e
		}
	}
	if best == nil {
		return nil
	}
	end = p.skip(p.skip(end, "day"), "holiday")
	s := spec{set: fFeast, feast: best}
	out := []alt{{end, s}}
	k := p.skip(p.skip(end, ","), "of", "in")
	for _, y := range p.year(k) {
		out = append([]alt{{y.end, overlay(s, yearSpec(y.n))}}, out...)
	}
	if p.is(end, "eve") {
		out = append(out, alt{end + 1, spec{set: fFeast, feast: best.eve}})
	}
	return out
}

func (p *parser) feastName(i int, words []string) (int, bool) {
	for n, w := range words {
		if n > 0 && p.is(i, "-") && p.glued(i) {
			i++
		}
		if stem(p.text(i)) != stem(w) && !p.sameDayName(i, w) {
			return 0, false
		}
		i++
		if p.is(i-1, "st", "jr") {
			i = p.dot(i)
		}
	}
	return i, true
}

// sameDayName lets "easter mon" be Easter Monday.
func (p *parser) sameDayName(i int, w string) bool {
	a, ok := weekdayName(p.text(i))
	b, same := weekdayName(w)
	return ok && same && a == b
}

// parsiIn returns the Shahenshahi new year, which recurs every 365 days.
func parsiIn(y int) []day {
	const known = day(17760) // 17 August 2018
	lo := date(y, 1, 1)
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

// nowruz returns the first day of spring in Iran: the day of the equinox, the next
// when that falls after noon in Tehran.
func nowruz(y int) day {
	tehran := place{zone: 3*time.Hour + 30*time.Minute}
	d, h := tehran.dayAt(sunAt(0, tehran.at(date(y, 3, 20), 12)))
	if h >= 12 {
		d++
	}
	return d
}
