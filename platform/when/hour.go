package when

// hm is one reading of an hour, optionally with minutes and seconds.
type hm struct {
	c      clock
	end    int
	digits bool
	marked bool // written in a way that only a time of day is
}

// hourMinute reads the hour and minutes that start at i, longest first.
func (p *parser) hourMinute(i int) []hm {
	if n := p.num(i); n >= 0 {
		return p.digitHour(i, n)
	}
	var out []hm
	for _, h := range p.words(i) {
		if h.n > 24 {
			continue
		}
		c := clock{h: h.n, grain: Hour}
		j := h.end
		if p.is(j, "oh", "o") {
			j++
		}
		if p.text(j) == "-" && p.glued(j) && p.glued(j+1) {
			j++
		}
		for _, m := range p.words(j) {
			if m.n >= 10 && m.n < 60 || m.n > 0 && m.n < 10 && p.is(j-1, "oh", "o") {
				end := m.end
				if p.is(end, "minutes") && h.n <= 12 {
					end++
				}
				out = append(out, hm{clock{h: h.n, m: m.n, grain: Minute}, end, false, false})
			}
		}
		out = append(out, hm{c, h.end, false, false})
	}
	return out
}

func (p *parser) digitHour(i, n int) []hm {
	if p.glued(i) && (p.is(i-1, ":", ".", "$", "€", "£", "#", "/", ",") || p.num(i-1) >= 0) {
		return nil
	}
	width := p.toks[i].end - p.toks[i].start
	if width >= 3 {
		c := clock{h: n / 100, m: n % 100, grain: Minute}
		if width > 4 || c.h > 24 || c.m > 59 {
			return nil
		}
		if p.toks[i].text[0] == '0' {
			c.half = halfBoth
		}
		end := p.skip(i+1, "h", "hrs", "hours")
		return []hm{{c, end, true, end > i+1}}
	}
	if n > 24 || n == 24 && !p.is(i+1, "h", ":", "oclock") {
		return nil
	}
	c := clock{h: n, grain: Hour}
	if width == 2 && n < 10 {
		c.half = halfBoth
	}
	if sep := p.text(i + 1); p.glued(i+1) && p.glued(i+2) && (sep == ":" || sep == ".") && p.num(i+2) >= 0 {
		return p.minutes(i, c, sep)
	}
	if p.text(i+1) == "h" && p.glued(i+1) {
		c.half = halfBoth
		if p.num(i+2) >= 0 && p.num(i+2) < 60 && p.glued(i+2) && len(p.toks[i+2].text) == 2 {
			c.m, c.grain = p.num(i+2), Minute
			return []hm{{c, i + 3, true, true}}
		}
		return []hm{{c, i + 2, true, true}}
	}
	out := []hm{{c, i + 1, true, false}}
	if m := p.num(i + 1); m >= 10 && m < 60 && len(p.toks[i+1].text) == 2 && !(p.glued(i+2) && p.is(i+2, ":", "/", "-")) {
		with := c
		with.m, with.grain = m, Minute
		out = append([]hm{{with, i + 2, true, false}}, out...)
	}
	return out
}

// minutes reads "9:30", "9:30:10" and "9.30".
func (p *parser) minutes(i int, c clock, sep string) []hm {
	if len(p.toks[i+2].text) != 2 || p.num(i+2) > 59 {
		return nil
	}
	c.m, c.grain = p.num(i+2), Minute
	end := i + 3
	if sep == ":" && p.text(end) == ":" && p.num(end+1) >= 0 && p.num(end+1) < 60 && p.glued(end) && p.glued(end+1) {
		c.s, c.grain = p.num(end+1), Second
		end += 2
		if p.text(end) == "." && p.glued(end) && p.num(end+1) >= 0 && p.glued(end+1) { // fractions do not matter here
			end += 2
		}
	}
	if p.glued(end) && (p.is(end, ":", "/", "%") || p.is(end, ".", ",", "-") && p.num(end+1) >= 0 && p.glued(end+1) && sep == ".") {
		return nil
	}
	return []hm{{c, end, true, sep == ":"}}
}
