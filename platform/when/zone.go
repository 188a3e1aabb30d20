package when

import "time"

// zoned returns s without and with the zone that follows.
func (p *parser) zoned(s spec, end int) []alt {
	z, e, ok := p.zone(end, s.clock.grain)
	if !ok {
		return []alt{{end, s}}
	}
	with := s
	with.set |= fZone
	with.zone = z
	return []alt{{e, with}, {end, s}}
}

// zone reads "GMT", "UTC+2", "+02:00", "-0800" and the Z of ISO 8601.
func (p *parser) zone(i int, g Grain) (*time.Location, int, bool) {
	if p.text(i) == "z" && p.glued(i) {
		return time.UTC, i + 1, true
	}
	if z, end, ok := p.region(i); ok {
		return z, end, true
	}
	z, named := zoneName(p.text(i))
	j := i
	if named {
		j++
	}
	if off, end, ok := p.offset(j, named || g == Second || !p.glued(j)); ok && (!named || p.is(i, "gmt", "utc")) && g < Hour {
		return time.FixedZone("", off), end, true
	}
	return z, j, named
}

// region reads a name of the zone database: "Europe/Vilnius".
func (p *parser) region(i int) (*time.Location, int, bool) {
	end := i
	for end+2 < len(p.toks) && p.toks[end].word && p.is(end+1, "/") && p.glued(end+1) && p.glued(end+2) && p.toks[end+2].word {
		end += 2
	}
	if end == i {
		return nil, 0, false
	}
	z, err := time.LoadLocation(p.src[p.toks[i].start:p.toks[end].end])
	return z, end + 1, err == nil
}

// offset reads "+02:00" and "-0800", after a zone's name also "+2".
func (p *parser) offset(i int, clear bool) (int, int, bool) {
	sign := 1
	switch p.text(i) {
	case "+":
	case "-":
		sign = -1
	default:
		return 0, 0, false
	}
	n := p.num(i + 1)
	if n < 0 || !p.glued(i+1) || !clear {
		return 0, 0, false
	}
	h, m, end := n/100, n%100, i+2
	switch len(p.text(i + 1)) {
	case 4:
	case 1, 2:
		h, m = n, 0
		if p.text(end) == ":" && p.glued(end) && len(p.text(end+1)) == 2 && p.num(end+1) >= 0 {
			m, end = p.num(end+1), end+2
		} else if p.num(i-1) >= 0 {
			return 0, 0, false
		}
	default:
		return 0, 0, false
	}
	return sign * (h*3600 + m*60), end, h <= 14 && m < 60
}
