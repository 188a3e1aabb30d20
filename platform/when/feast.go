package when

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed holidays.txt
var holidaysText string

// feast is a day with a name and the rule that says when it is.
type feast struct {
	rule   string // for messages
	find   func(year int) []day
	offset day
	adjust func(day) day
}

// in lists the days of the feast in a year of the common calendar.
func (f *feast) in(year int) []day {
	var out []day
	for y := year - 1; y <= year+1; y++ {
		for _, d := range f.find(y) {
			d = f.adjust(d + f.offset)
			if cy, _, _ := d.civil(); cy == year {
				out = append(out, d)
			}
		}
	}
	return out
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

// readRule reads the left side of a line of holidays.txt.
func readRule(words []string) (*feast, error) {
	f := &feast{rule: strings.Join(words, " "), adjust: func(d day) day { return d }}
	for len(words) > 0 {
		last := words[len(words)-1]
		switch {
		case last == "sun-1":
			f.adjust = func(d day) day {
				if d.weekday() == time.Sunday {
					return d - 1
				}
				return d
			}
		case last == "workday":
			f.adjust = nearestWorkday
		case last[0] == '+' || last[0] == '-' && len(words) != 1 && len(words) != 3:
			n, err := strconv.Atoi(last)
			if err != nil {
				return nil, fmt.Errorf("offset %q: %w", last, err)
			}
			f.offset = day(n)
		default:
			find, err := readBase(words)
			f.find = find
			return f, err
		}
		words = words[:len(words)-1]
	}
	return nil, fmt.Errorf("rule %q names no day", f.rule)
}

func nearestWorkday(d day) day {
	switch d.weekday() {
	case time.Saturday:
		return d - 1
	case time.Sunday:
		return d + 1
	}
	return d
}

func readBase(words []string) (func(int) []day, error) {
	bad := fmt.Errorf("rule %q is none of the known forms", strings.Join(words, " "))
	switch {
	case len(words) == 1 && words[0] == "easter":
		return func(y int) []day { return []day{easter(y)} }, nil
	case len(words) == 1 && words[0] == "orthodox":
		return func(y int) []day { return []day{orthodoxEaster(y)} }, nil
	case len(words) == 3 && words[0] == "hebrew":
		d, err := strconv.Atoi(words[1])
		if err != nil || hebrewMonth(words[2], 5784) == 0 {
			return nil, bad
		}
		return func(y int) []day { return hebrewIn(y, words[2], d) }, nil
	case len(words) == 2:
		d, err := strconv.Atoi(words[0])
		m, ok := monthName(words[1])
		if err != nil || !ok {
			return nil, bad
		}
		return func(y int) []day { return []day{date(y, m, d)} }, nil
	case len(words) == 3:
		n, err := strconv.Atoi(words[0])
		wd, okWD := weekdayName(words[1])
		m, okM := monthName(words[2])
		if err != nil || !okWD || !okM {
			return nil, bad
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
	return nil, bad
}

// stem drops the plural or possessive s of a word.
func stem(w string) string {
	if len(w) > 3 {
		return strings.TrimSuffix(w, "s")
	}
	return w
}

// feastPiece reads the name of a holiday and, after it, "eve" or "day".
func (p *parser) feastPiece(i int) []alt {
	j := p.skip(i, "the")
	var best *feast
	end := 0
	for _, n := range feasts()[stem(p.text(j))] {
		if e, ok := p.feastName(j, n.words); ok && e > end {
			best, end = n.feast, e
		}
	}
	if best == nil {
		return nil
	}
	if p.is(end, "day") {
		end++
	}
	s := spec{set: fFeast, feast: best}
	out := []alt{{end, s}}
	k := p.skip(p.skip(end, ","), "of", "in")
	for _, y := range p.year(k) {
		out = append([]alt{{y.end, overlay(s, yearSpec(y.n))}}, out...)
	}
	if p.is(end, "eve") {
		eve := *best
		eve.offset--
		out = append(out, alt{end + 1, spec{set: fFeast, feast: &eve}})
	}
	return out
}

func (p *parser) feastName(i int, words []string) (int, bool) {
	for _, w := range words {
		if p.text(i) == "-" && p.glued(i) {
			i++
		}
		if stem(p.text(i)) != stem(w) {
			return 0, false
		}
		i = i + 1
		if p.is(i-1, "st", "jr") {
			i = p.dot(i)
		}
	}
	return i, true
}
