package dateparse

import "time"

// numericDate reads dates whose parts are joined by - / or .: 2014-10-05,
// 22/04, 23.4.2022, 22/Jan/2019, 12-2015.
func (p *parser) numericDate(i int) []candidateParse {
	if n := p.tokenNumber(i); n >= 19000101 && n <= 21001231 && p.whole {
		if s, ok := monthDaySpec(n/100%100, n%100, n/10000); ok {
			return []candidateParse{{i + 1, s}}
		}
	}
	c, ok := p.parseWrittenDate(i)
	if !ok {
		return nil
	}
	s, ok := c.toSpec()
	if !ok {
		return nil
	}
	if c.sep == "." && c.year < 0 && c.named < 0 { // 1.2.3 is more likely a version
		if p.toks[c.end-1].end-p.toks[i].start != len("02.01.06") {
			return nil
		}
		s.weak = true
	}
	if c.n == 2 && c.year < 0 {
		s.weak = c.named < 0
		if end := p.skipWord(c.end, ","); end > c.end { // 5/7, 2020
			for _, y := range p.parseYear(end) {
				if s.either == nil && validDate(y.n, s.month, s.dom) {
					return []candidateParse{{y.end, overlaySpec(s, yearSpec(y.n))}, {c.end, s}}
				}
			}
		}
	}
	return []candidateParse{{c.end, s}}
}

// writtenDate holds the parts of a date in the order in which they were written.
type writtenDate struct {
	parts [3]int // value
	named int    // index of the part that is the name of a month, or -1
	year  int    // index of the part that is a year of four digits, or -1
	n     int
	sep   string
	end   int
}

func (p *parser) parseWrittenDate(i int) (writtenDate, bool) {
	c := writtenDate{named: -1, year: -1, end: i}
	for j := i; c.n < 3; j++ {
		switch n := p.tokenNumber(j); {
		case n >= 0 && len(p.tokenText(j)) == 4:
			if c.year >= 0 {
				return c, false
			}
			c.year = c.n
			c.parts[c.n] = n
		case n >= 0 && len(p.tokenText(j)) <= 2:
			c.parts[c.n] = n
		default:
			m, ok := monthName(p.tokenText(j))
			if !ok || c.named >= 0 {
				return c, c.n > 1
			}
			c.named = c.n
			c.parts[c.n] = int(m)
		}
		c.n++
		c.end = j + 1
		if c.n == 3 || !p.isGlued(j+1) || !p.isWord(j+1, "-", "/", ".") || !p.isGlued(j+2) || c.sep != "" && c.sep != p.tokenText(j+1) {
			break
		}
		c.sep = p.tokenText(j + 1)
		j++
	}
	if c.n < 2 || p.isGlued(c.end) && (p.isWord(c.end, "%", "/", "°") || p.tokenNumber(c.end) >= 0) {
		return c, false
	}
	if t := c.end; p.isGlued(t) && p.isWord(t, "-", ".", ":") && p.isGlued(t+1) && p.tokenNumber(t+1) >= 0 && c.sep == p.tokenText(t) && c.sep == "." {
		return c, false
	}
	return c, true
}

// toSpec determines which parts are the day, the month and the year.
func (c writtenDate) toSpec() (spec, bool) {
	a, b := c.parts[0], c.parts[1]
	if c.n == 2 {
		switch {
		case c.year == 0 && (c.named == 1 || b >= 1 && b <= 12 && c.sep != "."):
			return overlaySpec(monthSpec(time.Month(b)), yearSpec(a)), true
		case c.year == 1 && (c.named == 0 || a >= 1 && a <= 12):
			return overlaySpec(monthSpec(time.Month(a)), yearSpec(b)), true
		case c.named >= 0 && c.year < 0:
			return monthDaySpec(c.parts[c.named], c.parts[1-c.named], -1)
		case c.year < 0 && c.sep == "/":
			return dayMonthOrder(a, b, -1, false)
		}
		return spec{}, false
	}
	third := c.parts[2]
	switch {
	case c.named >= 0:
		return c.withName()
	case c.year == 0:
		return monthDaySpec(b, third, a)
	case c.year == 2:
		return dayMonthOrder(a, b, third, c.sep == ".")
	case c.year < 0:
		return dayMonthOrder(a, b, completeYear(third), c.sep == ".")
	}
	return spec{}, false
}

func (c writtenDate) withName() (spec, bool) {
	rest := make([]int, 0, 2)
	for k := range 3 {
		if k != c.named {
			rest = append(rest, k)
		}
	}
	y, d := rest[1], rest[0]
	if c.year == rest[0] {
		y, d = d, y
	}
	year := c.parts[y]
	if c.year < 0 {
		year = completeYear(year)
	}
	return monthDaySpec(c.parts[c.named], c.parts[d], year)
}

// dayMonthOrder interprets a and b as day and month, in the order that results in a valid date. If
// both orders do, the date is ambiguous. With dots as separators, the day comes first.
func dayMonthOrder(a, b, year int, dayFirst bool) (spec, bool) {
	df, okDF := monthDaySpec(b, a, year)
	mf, okMF := monthDaySpec(a, b, year)
	switch {
	case okDF && okMF && a != b && !dayFirst:
		return spec{set: fDom | fMonth | fYear, either: []spec{df, mf}}, true
	case okDF:
		if a != b {
			df.order = orderDayFirst
		}
		return df, true
	}
	mf.order = orderMonthFirst
	return mf, okMF && !dayFirst
}

// dateOrder is the order of day and month in a numeric date.
type dateOrder uint8

const (
	orderUnknown dateOrder = iota
	orderDayFirst
	orderMonthFirst
)

func monthDaySpec(m, d, year int) (spec, bool) {
	y := year
	if year < 0 {
		y = 2024 // a leap year: 29 February is a date
	}
	if !validDate(y, time.Month(m), d) {
		return spec{}, false
	}
	s := overlaySpec(domSpec(d), monthSpec(time.Month(m)))
	if year >= 0 {
		s = overlaySpec(s, yearSpec(year))
	}
	return s, true
}
