package dateparse

import "time"

// blockPiece parses quarters, halves and seasons: "Q3 2019", "2018Q4", "third
// quarter", "2019 H2", "summer". Seasons are meteorological ones of the northern
// hemisphere.
func (p *parser) blockPiece(i int) []candidateParse {
	var year []numberReading
	j := i
	if ys := p.parseYear(i); len(ys) > 0 && p.tokenNumber(i) >= 0 {
		year = ys[len(ys)-1:]
		j = p.skipWord(year[0].end, "-")
	}
	s, end, ok := p.parseYearBlock(j)
	if !ok {
		return nil
	}
	if year != nil {
		return []candidateParse{{end, overlaySpec(s, yearSpec(year[0].n))}}
	}
	k := p.skipWord(p.skipWord(end, "-", ","), "of", "in")
	var out []candidateParse
	for _, y := range p.parseYear(k) {
		out = append(out, candidateParse{y.end, overlaySpec(s, yearSpec(y.n))})
	}
	if e, ok := p.matchPhrase(end, "of", "the", "year"); ok {
		out = append(out, candidateParse{e, s})
	}
	return append(out, candidateParse{end, s})
}

func (p *parser) parseYearBlock(i int) (spec, int, bool) {
	if (p.isWord(i, "q") || p.isWord(i, "h")) && p.isGlued(i+1) && p.tokenNumber(i+1) >= 1 {
		n, size, g := p.tokenNumber(i+1), 3, Quarter
		if p.isWord(i, "h") {
			size, g = 6, Month
		}
		if n*size > 12 || p.isGlued(i+2) && p.isWord(i+2, ":") {
			return spec{}, 0, false
		}
		return spec{set: fMonth, month: time.Month((n-1)*size + 1), months: size, grain: g}, i + 2, true
	}
	j := p.skipWord(i, "the")
	if r, ok := p.parseOrdinal(j); ok && p.isWord(r.end, "quarter", "qtr") && r.n >= 1 && r.n <= 4 {
		return spec{set: fMonth, month: time.Month(r.n*3 - 2), months: 3, grain: Quarter}, r.end + 1, true
	}
	if r, ok := p.parseOrdinal(j); ok && p.isWord(r.end, "half") && r.n >= 1 && r.n <= 2 {
		return spec{set: fMonth, month: time.Month(r.n*6 - 5), months: 6, grain: Month}, r.end + 1, true
	}
	first := time.Month(0)
	switch {
	case p.isWord(j, "spring", "springtime"):
		first = time.March
	case p.isWord(j, "summer", "summertime"):
		first = time.June
	case p.isWord(j, "autumn"):
		first = time.September
	case p.isWord(j, "fall") && (p.isWord(i-1, "this", "next", "last", "in") || j > i):
		first = time.September
	case p.isWord(j, "winter", "wintertime"):
		first = time.December
	default:
		return spec{}, 0, false
	}
	return spec{set: fMonth, month: first, months: 3, grain: Quarter, weak: true}, j + 1, true
}
