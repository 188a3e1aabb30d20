package dateparse

import "time"

// withOptionalZone returns s without and with the zone that follows.
func (p *parser) withOptionalZone(s spec, end int) []candidateParse {
	z, e, ok := p.parseZone(end, s.clock.grain)
	if !ok {
		return []candidateParse{{end, s}}
	}
	with := s
	with.set |= fZone
	with.zone = z
	return []candidateParse{{e, with}, {end, s}}
}

// parseZone reads "GMT", "UTC+2", "+02:00", "-0800" and the Z of ISO 8601.
func (p *parser) parseZone(i int, g Grain) (*time.Location, int, bool) {
	if p.tokenText(i) == "z" && p.isGlued(i) {
		return time.UTC, i + 1, true
	}
	if z, end, ok := p.parseRegion(i); ok {
		return z, end, true
	}
	z, named := zoneName(p.tokenText(i))
	j := i
	if named {
		j++
	}
	if off, end, ok := p.parseOffset(j, named || g == Second || !p.isGlued(j)); ok && (!named || p.isWord(i, "gmt", "utc")) && g < Hour {
		return time.FixedZone("", off), end, true
	}
	return z, j, named
}

// parseRegion reads a name of the zone database: "Europe/Vilnius".
func (p *parser) parseRegion(i int) (*time.Location, int, bool) {
	end := i
	for end+2 < len(p.toks) && p.toks[end].word && p.isWord(end+1, "/") && p.isGlued(end+1) && p.isGlued(end+2) && p.toks[end+2].word {
		end += 2
	}
	if end == i {
		return nil, 0, false
	}
	z, err := time.LoadLocation(p.src[p.toks[i].start:p.toks[end].end])
	return z, end + 1, err == nil
}

// parseOffset parses "+02:00" and "-0800". It parses "+2" only after the name of a zone.
func (p *parser) parseOffset(i int, clear bool) (int, int, bool) {
	sign := 1
	switch p.tokenText(i) {
	case "+":
	case "-":
		sign = -1
	default:
		return 0, 0, false
	}
	n := p.tokenNumber(i + 1)
	if n < 0 || !p.isGlued(i+1) || !clear {
		return 0, 0, false
	}
	h, m, end := n/100, n%100, i+2
	switch len(p.tokenText(i + 1)) {
	case 4:
	case 1, 2:
		h, m = n, 0
		if p.tokenText(end) == ":" && p.isGlued(end) && len(p.tokenText(end+1)) == 2 && p.tokenNumber(end+1) >= 0 {
			m, end = p.tokenNumber(end+1), end+2
		} else if p.tokenNumber(i-1) >= 0 {
			return 0, 0, false
		}
	default:
		return 0, 0, false
	}
	return sign * (h*3600 + m*60), end, h <= 14 && m < 60
}
