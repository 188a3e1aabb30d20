package when

import "strings"

// reading is one way to read a number: its value and the token after it.
type reading struct {
	n, end int
}

// digit reads zero to nineteen in words.
func digitWord(w string) (int, bool) {
	switch w {
	case "zero":
		return 0, true
	case "one":
		return 1, true
	case "two":
		return 2, true
	case "three":
		return 3, true
	case "four":
		return 4, true
	case "five":
		return 5, true
	case "six":
		return 6, true
	case "seven":
		return 7, true
	case "eight":
		return 8, true
	case "nine":
		return 9, true
	case "ten":
		return 10, true
	case "eleven":
		return 11, true
	case "twelve":
		return 12, true
	case "fourteen":
		return 14, true
	case "thirteen":
		return 13, true
	case "fifteen":
		return 15, true
	case "sixteen":
		return 16, true
	case "seventeen":
		return 17, true
	case "eighteen":
		return 18, true
	case "nineteen":
		return 19, true
	}
	return 0, false
}

func tensWord(w string) (int, bool) {
	switch w {
	case "twenty":
		return 20, true
	case "thirty":
		return 30, true
	case "forty", "fourty":
		return 40, true
	case "fifty":
		return 50, true
	case "sixty":
		return 60, true
	case "seventy":
		return 70, true
	case "eighty":
		return 80, true
	case "ninety":
		return 90, true
	}
	return 0, false
}

// words reads a number below 100 in words, longest reading first.
func (p *parser) words(i int) []reading {
	if n, ok := digitWord(p.text(i)); ok {
		return []reading{{n, i + 1}}
	}
	tens, ok := tensWord(p.text(i))
	if !ok {
		return nil
	}
	j := i + 1
	if p.text(j) == "-" && p.glued(j) && p.glued(j+1) {
		j++
	}
	if n, ok := digitWord(p.text(j)); ok && n >= 1 && n <= 9 {
		return []reading{{tens + n, j + 1}, {tens, i + 1}}
	}
	return []reading{{tens, i + 1}}
}

// cardinal reads a whole number in digits or words (below 1000 in words).
func (p *parser) cardinal(i int) []reading {
	if n := p.num(i); n >= 0 {
		return []reading{{n, i + 1}}
	}
	rs := p.words(i)
	hundred := 0
	if p.text(i) == "a" && p.text(i+1) == "hundred" {
		hundred = 1
	} else if len(rs) > 0 && p.text(rs[0].end) == "hundred" && rs[0].n < 10 {
		hundred = rs[0].n
	}
	if hundred == 0 {
		return rs
	}
	j := i + 2
	out := []reading{{hundred * 100, j}}
	if p.text(j) == "and" {
		j++
	}
	for _, r := range p.words(j) {
		out = append([]reading{{hundred*100 + r.n, r.end}}, out...)
	}
	return out
}

func ordinalWord(w string) (int, bool) {
	switch w {
	case "first":
		return 1, true
	case "second":
		return 2, true
	case "third":
		return 3, true
	case "fourth":
		return 4, true
	case "fifth":
		return 5, true
	case "sixth":
		return 6, true
	case "seventh":
		return 7, true
	case "eighth":
		return 8, true
	case "ninth":
		return 9, true
	case "tenth":
		return 10, true
	case "eleventh":
		return 11, true
	case "twelfth":
		return 12, true
	case "twentieth":
		return 20, true
	case "thirtieth":
		return 30, true
	}
	if base, ok := strings.CutSuffix(w, "th"); ok {
		if n, ok := digitWord(base); ok && n >= 13 {
			return n, true
		}
	}
	return 0, false
}

// ordinal reads "1st", "twenty-third", "third".
func (p *parser) ordinal(i int) (reading, bool) {
	if n := p.num(i); n >= 0 {
		if p.glued(i+1) && isOrdinalSuffix(p.text(i+1)) {
			return reading{n, i + 2}, true
		}
		return reading{}, false
	}
	if n, ok := ordinalWord(p.text(i)); ok {
		return reading{n, i + 1}, true
	}
	tens, ok := tensWord(p.text(i))
	if !ok {
		return reading{}, false
	}
	j := i + 1
	if p.text(j) == "-" {
		j++
	}
	if n, ok := ordinalWord(p.text(j)); ok && n < 10 {
		return reading{tens + n, j + 1}, true
	}
	return reading{}, false
}

func isOrdinalSuffix(w string) bool {
	switch w {
	case "st", "nd", "rd", "th":
		return true
	}
	return false
}

// year reads a year of four digits or in words ("two thousand and ten",
// "nineteen eighty six", "nineteen hundred ninety three").
func (p *parser) year(i int) []reading {
	if n := p.num(i); n >= 0 {
		if t := p.toks[i]; len(t.text) == 4 && n >= 1000 && n <= 2999 && !p.inNumber(i) {
			return p.era(reading{n, i + 1})
		}
		return nil
	}
	rs := p.words(i)
	if len(rs) == 0 {
		return nil
	}
	head := rs[len(rs)-1]
	if p.text(head.end) == "thousand" && head.n >= 1 && head.n <= 2 {
		j := head.end + 1
		out := []reading{{head.n * 1000, j}}
		if p.text(j) == "and" {
			j++
		}
		for _, r := range p.words(j) {
			out = append(out, reading{head.n*1000 + r.n, r.end})
		}
		return longestFirst(out)
	}
	var out []reading
	for _, h := range rs {
		if h.n < 17 || h.n > 21 {
			continue
		}
		j := h.end
		if p.text(j) == "hundred" {
			out = append(out, reading{h.n * 100, j + 1})
			j++
			if p.text(j) == "and" {
				j++
			}
		}
		for _, r := range p.words(j) {
			if r.n >= 10 {
				out = append(out, reading{h.n*100 + r.n, r.end})
			}
		}
	}
	return longestFirst(out)
}

// era takes "AD" or "CE" after a year along.
func (p *parser) era(r reading) []reading {
	if end, ok := p.eraWord(r.end); ok {
		return []reading{{r.n, end}, r}
	}
	return []reading{r}
}

func (p *parser) eraWord(i int) (int, bool) {
	switch p.text(i) {
	case "ad", "ce":
		return i + 1, true
	case "a":
		if p.text(i+1) == "." && p.text(i+2) == "d" {
			if p.text(i+3) == "." {
				return i + 4, true
			}
			return i + 3, true
		}
	}
	return 0, false
}

func longestFirst(rs []reading) []reading {
	for i := 1; i < len(rs); i++ {
		for j := i; j > 0 && rs[j].end > rs[j-1].end; j-- {
			rs[j], rs[j-1] = rs[j-1], rs[j]
		}
	}
	return rs
}
