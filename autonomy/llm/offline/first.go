package offline

// firsts is the set of words with which a pattern can begin; open if it can begin with any
// word, such as a free slot.
type firsts struct {
	words map[string]bool
	open  bool
}

// allows reports whether a sentence whose first word is norm may match.
func (f firsts) allows(norm string) bool { return f.open || f.words[norm] }

// firstsOf computes the firsts of a pattern.
func firstsOf(n node) firsts {
	f := firsts{words: map[string]bool{}}
	if f.collect(n) {
		f.open = true
	}
	return f
}

// collect adds the first words of n; true means that n may be empty.
func (f *firsts) collect(n node) bool {
	switch n := n.(type) {
	case literal:
		f.words[string(n)] = true
		return false
	case slot:
		f.open = true
		return false
	case named:
		return f.collect(n.node)
	case maybe:
		f.collect(n.node)
		return true
	case oneOf:
		empty := false
		for _, a := range n {
			empty = f.collect(a) || empty
		}
		return empty
	case series:
		for _, p := range n {
			if !f.collect(p) {
				return false
			}
		}
		return true
	}
	return true
}

// starts reports whether a sentence begins like a request: with the first word of a common
// pattern, or with a time.
func (g *grammar) starts(s *sentence) bool {
	i := s.skip(0)
	if i >= len(s.tokens) {
		return false
	}
	if s.spanAt(i) != nil {
		return true
	}
	return s.tokens[i].kind == word && g.starters[s.tokens[i].norm]
}
