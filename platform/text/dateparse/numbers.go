package dateparse

import "strings"

// numberReading is one way to read a number: its value and the token after it.
type numberReading struct {
	n, end int
}

// digitWord reads zero to nineteen in words.
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

// parseNumberWords reads a number below 100 in words, longest reading first.
func (p *parser) parseNumberWords(i int) []numberReading {
	if n, ok := digitWord(p.tokenText(i)); ok {
		return []numberReading{{n, i + 1}}
	}
	tens, ok := tensWord(p.tokenText(i))
	if !ok {
		return nil
	}
	j := i + 1
	if p.tokenText(j) == "-" && p.isGlued(j) && p.isGlued(j+1) {
		j++
	}
	if n, ok := digitWord(p.tokenText(j)); ok && n >= 1 && n <= 9 {
		return []numberReading{{tens + n, j + 1}, {tens, i + 1}}
	}
	return []numberReading{{tens, i + 1}}
}

// parseCardinal reads a whole number in digits or words (below 1000 in words).
func (p *parser) parseCardinal(i int) []numberReading {
	if n := p.tokenNumber(i); n >= 0 {
		return []numberReading{{n, i + 1}}
	}
	rs := p.parseNumberWords(i)
	hundred := 0
	if p.tokenText(i) == "a" && p.tokenText(i+1) == "hundred" {
		hundred = 1
	} else if len(rs) > 0 && p.tokenText(rs[0].end) == "hundred" && rs[0].n < 10 {
		hundred = rs[0].n
	}
	if hundred == 0 {
		return rs
	}
	j := i + 2
	out := []numberReading{{hundred * 100, j}}
	if p.tokenText(j) == "and" {
		j++
	}
	for _, r := range p.parseNumberWords(j) {
		out = append([]numberReading{{hundred*100 + r.n, r.end}}, out...)
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

// parseOrdinal reads "1st", "twenty-third", "third".
func (p *parser) parseOrdinal(i int) (numberReading, bool) {
	if n := p.tokenNumber(i); n >= 0 {
		if p.isGlued(i+1) && isOrdinalSuffix(p.tokenText(i+1)) {
			return numberReading{n, i + 2}, true
		}
		return numberReading{}, false
	}
	if n, ok := ordinalWord(p.tokenText(i)); ok {
		return numberReading{n, i + 1}, true
	}
	tens, ok := tensWord(p.tokenText(i))
	if !ok {
		return numberReading{}, false
	}
	j := i + 1
	if p.tokenText(j) == "-" {
		j++
	}
	if n, ok := ordinalWord(p.tokenText(j)); ok && n < 10 {
		return numberReading{tens + n, j + 1}, true
	}
	return numberReading{}, false
}

func isOrdinalSuffix(w string) bool {
	switch w {
	case "st", "nd", "rd", "th":
		return true
	}
	return false
}

// parseYear reads a year of four digits or in words ("two thousand and ten",
// "nineteen eighty six", "nineteen hundred ninety three").
func (p *parser) parseYear(i int) []numberReading {
	if n := p.tokenNumber(i); n >= 0 {
		if t := p.toks[i]; len(t.text) == 4 && n >= 1000 && n <= 2999 && !p.inNumber(i) {
			return p.parseEra(numberReading{n, i + 1})
		}
		return nil
	}
	rs := p.parseNumberWords(i)
	if len(rs) == 0 {
		return nil
	}
	head := rs[len(rs)-1]
	if p.tokenText(head.end) == "thousand" && head.n >= 1 && head.n <= 2 {
		j := head.end + 1
		out := []numberReading{{head.n * 1000, j}}
		if p.tokenText(j) == "and" {
			j++
		}
		for _, r := range p.parseNumberWords(j) {
			out = append(out, numberReading{head.n*1000 + r.n, r.end})
		}
		return longestFirst(out)
	}
	var out []numberReading
	for _, h := range rs {
		if h.n < 17 || h.n > 21 {
			continue
		}
		j := h.end
		if p.tokenText(j) == "hundred" {
			out = append(out, numberReading{h.n * 100, j + 1})
			j++
			if p.tokenText(j) == "and" {
				j++
			}
		}
		for _, r := range p.parseNumberWords(j) {
			if r.n >= 10 {
				out = append(out, numberReading{h.n*100 + r.n, r.end})
			}
		}
	}
	return longestFirst(out)
}

// parseEra also skips "AD" or "CE" after a year.
func (p *parser) parseEra(r numberReading) []numberReading {
	if end, ok := p.eraWord(r.end); ok {
		return []numberReading{{r.n, end}, r}
	}
	return []numberReading{r}
}

func (p *parser) eraWord(i int) (int, bool) {
	switch p.tokenText(i) {
	case "ad", "ce":
		return i + 1, true
	case "a":
		if p.tokenText(i+1) == "." && p.tokenText(i+2) == "d" {
			if p.tokenText(i+3) == "." {
				return i + 4, true
			}
			return i + 3, true
		}
	}
	return 0, false
}

func longestFirst(rs []numberReading) []numberReading {
	for i := 1; i < len(rs); i++ {
		for j := i; j > 0 && rs[j].end > rs[j-1].end; j-- {
			rs[j], rs[j-1] = rs[j-1], rs[j]
		}
	}
	return rs
}
