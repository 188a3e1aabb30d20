package when

import "time"

// blockPiece parses quarters, halves and seasons: "Q3 2019", "2018Q4", "third
// quarter", "2019 H2", "summer". Seasons are meteorological ones of the northern
// hemisphere.
func (p *parser) blockPiece(i int) []alt {
	var year []reading
	j := i
	if ys := p.year(i); len(ys) > 0 && p.num(i) >= 0 {
		year = ys[len(ys)-1:]
		j = p.skip(year[0].end, "-")
	}
	s, end, ok := p.block(j)
	if !ok {
		return nil
	}
	if year != nil {
		return []alt{{end, overlay(s, yearSpec(year[0].n))}}
	}
	k := p.skip(p.skip(end, "-", ","), "of", "in")
	var out []alt
	for _, y := range p.year(k) {
		out = append(out, alt{y.end, overlay(s, yearSpec(y.n))})
	}
	if e, ok := p.phrase(end, "of", "the", "year"); ok {
		out = append(out, alt{e, s})
	}
	return append(out, alt{end, s})
}

func (p *parser) block(i int) (spec, int, bool) {
	if (p.is(i, "q") || p.is(i, "h")) && p.glued(i+1) && p.num(i+1) >= 1 {
		n, size, g := p.num(i+1), 3, Quarter
		if p.is(i, "h") {
			size, g = 6, Month
		}
		if n*size > 12 || p.glued(i+2) && p.is(i+2, ":") {
			return spec{}, 0, false
		}
		return spec{set: fMonth, month: time.Month((n-1)*size + 1), months: size, grain: g}, i + 2, true
	}
	j := p.skip(i, "the")
	if r, ok := p.ordinal(j); ok && p.is(r.end, "quarter", "qtr") && r.n >= 1 && r.n <= 4 {
		return spec{set: fMonth, month: time.Month(r.n*3 - 2), months: 3, grain: Quarter}, r.end + 1, true
	}
	if r, ok := p.ordinal(j); ok && p.is(r.end, "half") && r.n >= 1 && r.n <= 2 {
		return spec{set: fMonth, month: time.Month(r.n*6 - 5), months: 6, grain: Month}, r.end + 1, true
	}
	first := time.Month(0)
	switch {
	case p.is(j, "spring", "springtime"):
		first = time.March
	case p.is(j, "summer", "summertime"):
		first = time.June
	case p.is(j, "autumn"):
		first = time.September
	case p.is(j, "fall") && (p.is(i-1, "this", "next", "last", "in") || j > i):
		first = time.September
	case p.is(j, "winter", "wintertime"):
		first = time.December
	default:
		return spec{}, 0, false
	}
	return spec{set: fMonth, month: first, months: 3, grain: Quarter, weak: true}, j + 1, true
}
