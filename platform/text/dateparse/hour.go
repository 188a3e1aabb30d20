package dateparse

// hourReading is one reading of an hour, optionally with minutes and seconds.
type hourReading struct {
	c      clockTime
	end    int
	digits bool
	marked bool // written in a form that is only used for times of day
}

// hourMinute reads the hour and minutes that start at i, longest first.
func (p *parser) hourMinute(i int) []hourReading {
	if n := p.tokenNumber(i); n >= 0 {
		return p.digitHour(i, n)
	}
	var out []hourReading
	for _, h := range p.parseNumberWords(i) {
		if h.n > 24 {
			continue
		}
		c := clockTime{h: h.n, grain: Hour}
		j := h.end
		if p.isWord(j, "oh", "o") {
			j++
		}
		if p.tokenText(j) == "-" && p.isGlued(j) && p.isGlued(j+1) {
			j++
		}
		for _, m := range p.parseNumberWords(j) {
			if m.n >= 10 && m.n < 60 || m.n > 0 && m.n < 10 && p.isWord(j-1, "oh", "o") {
				end := m.end
				if p.isWord(end, "minutes") && h.n <= 12 {
					end++
				}
				out = append(out, hourReading{clockTime{h: h.n, m: m.n, grain: Minute}, end, false, false})
			}
		}
		out = append(out, hourReading{c, h.end, false, false})
	}
	return out
}

func (p *parser) digitHour(i, n int) []hourReading {
	if p.isGlued(i) && (p.isWord(i-1, ":", ".", "$", "€", "£", "#", "/", ",") || p.tokenNumber(i-1) >= 0) {
		return nil
	}
	width := p.toks[i].end - p.toks[i].start
	if width >= 3 {
		c := clockTime{h: n / 100, m: n % 100, grain: Minute}
		if width > 4 || c.h > 24 || c.m > 59 {
			return nil
		}
		if p.toks[i].text[0] == '0' {
			c.half = halfBoth
		}
		end := p.skipWord(i+1, "h", "hrs", "hours")
		return []hourReading{{c, end, true, end > i+1}}
	}
	if n > 24 || n == 24 && !p.isWord(i+1, "h", ":", "oclock") {
		return nil
	}
	c := clockTime{h: n, grain: Hour}
	if width == 2 && n < 10 {
		c.half = halfBoth
	}
	if sep := p.tokenText(i + 1); p.isGlued(i+1) && p.isGlued(i+2) && (sep == ":" || sep == ".") && p.tokenNumber(i+2) >= 0 {
		return p.parseMinutes(i, c, sep)
	}
	if p.tokenText(i+1) == "h" && p.isGlued(i+1) {
		c.half = halfBoth
		if p.tokenNumber(i+2) >= 0 && p.tokenNumber(i+2) < 60 && p.isGlued(i+2) && len(p.toks[i+2].text) == 2 {
			c.m, c.grain = p.tokenNumber(i+2), Minute
			return []hourReading{{c, i + 3, true, true}}
		}
		return []hourReading{{c, i + 2, true, true}}
	}
	out := []hourReading{{c, i + 1, true, false}}
	if m := p.tokenNumber(i + 1); m >= 10 && m < 60 && len(p.toks[i+1].text) == 2 && !(p.isGlued(i+2) && p.isWord(i+2, ":", "/", "-")) {
		with := c
		with.m, with.grain = m, Minute
		out = append([]hourReading{{with, i + 2, true, false}}, out...)
	}
	return out
}

// parseMinutes reads "9:30", "9:30:10" and "9.30".
func (p *parser) parseMinutes(i int, c clockTime, sep string) []hourReading {
	if len(p.toks[i+2].text) != 2 || p.tokenNumber(i+2) > 59 {
		return nil
	}
	c.m, c.grain = p.tokenNumber(i+2), Minute
	end := i + 3
	if sep == ":" && p.tokenText(end) == ":" && p.tokenNumber(end+1) >= 0 && p.tokenNumber(end+1) < 60 && p.isGlued(end) && p.isGlued(end+1) {
		c.s, c.grain = p.tokenNumber(end+1), Second
		end += 2
		if p.tokenText(end) == "." && p.isGlued(end) && p.tokenNumber(end+1) >= 0 && p.isGlued(end+1) { // fractions of a second are ignored
			end += 2
		}
	}
	if p.isGlued(end) && (p.isWord(end, ":", "/", "%") || p.isWord(end, ".", ",", "-") && p.tokenNumber(end+1) >= 0 && p.isGlued(end+1) && sep == ".") {
		return nil
	}
	return []hourReading{{c, end, true, sep == ":"}}
}
