package dateparse

// dayOfMonth reads "the 15th", "15th", "20 of this month".
func (p *parser) dayOfMonth(i int) []candidateParse {
	j := p.skipWord(i, "the")
	r, ok := p.dayNumber(j)
	if !ok {
		return nil
	}
	end := r.end
	if p.isWord(end, "day") && p.isWord(end+1, "of") && end > j+1 {
		end++
	}
	ordinal := p.tokenNumber(j) < 0 || r.end > j+1
	ofMonth := p.isWord(end, "of", "in") && p.ofMonth(end+1)
	if !ordinal && !ofMonth && j == i || p.isWord(r.end, "oclock", "past", "to") || p.isGlued(r.end) && p.isWord(r.end, ":", "/", "%") {
		return nil
	}
	if _, ok := weekdayName(p.tokenText(end)); ok {
		return nil // "first Monday" is not Monday the 1st
	}
	if !ofMonth && !p.meantDay(i, r.end, ordinal && p.tokenNumber(j) >= 0) {
		return nil
	}
	s := domSpec(r.n)
	s.weak = j == i || p.tokenNumber(j) < 0
	if e, ok := p.matchPhrase(end, "of", "the", "month"); ok {
		return []candidateParse{{e, domSpec(r.n)}}
	}
	return []candidateParse{{end, s}}
}

// meantDay distinguishes "on the 15th" from "on the 15th floor" and "at first".
func (p *parser) meantDay(i, end int, digits bool) bool {
	if _, isUnit := unitName(p.tokenText(end)); isUnit || p.isWord(end, "time", "times", "century", "floor", "place", "street", "avenue",
		"row", "page", "chapter", "item", "season", "inning", "grade", "person", "birthday", "anniversary", "edition", "version",
		"draft", "round", "game", "line", "one", "option", "attempt", "half", "step", "street", "class", "party", "world") {
		return false
	}
	if p.whole || p.isWord(i-1, "and", "to", "through", "-", "between", "from") {
		return true
	}
	if p.isWord(i-1, "in", "at") || !p.isWord(i, "the") && !digits {
		return false
	}
	return digits || p.isWord(i-1, "on", "by") && (!p.toks[min(end, len(p.toks)-1)].word || end >= len(p.toks) ||
		p.isWord(end, "at", "and", "of", "between", "from", "in", "to"))
}

// ofMonth reports whether "this month" or a similar phrase is at i.
func (p *parser) ofMonth(i int) bool {
	_, j, ok := p.parseQualifier(i)
	if !ok {
		j = p.skipWord(i, "the")
	}
	return p.isWord(j, "month") && j > i
}
