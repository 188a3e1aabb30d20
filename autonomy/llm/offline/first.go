package offline

// firstWords is the set of words with which a pattern can begin. open means that it can begin with
// any word, for example because it begins with a free text slot.
type firstWords struct {
	words map[string]bool
	open  bool
}

// allowsFirst reports whether a sentence whose first word is norm may match.
func (f firstWords) allowsFirst(norm string) bool { return f.open || f.words[norm] }

// firstsOf returns the words with which a pattern can begin.
func firstsOf(n node) firstWords {
	f := firstWords{words: map[string]bool{}}
	if f.collectFirst(n) {
		f.open = true
	}
	return f
}

// collectFirst adds the first words of n. It returns true if n may be empty.
func (f *firstWords) collectFirst(n node) bool {
	switch n := n.(type) {
	case literal:
		f.words[string(n)] = true
		return false
	case slot:
		f.open = true
		return false
	case named:
		return f.collectFirst(n.node)
	case maybe:
		f.collectFirst(n.node)
		return true
	case oneOf:
		empty := false
		for _, a := range n {
			empty = f.collectFirst(a) || empty
		}
		return empty
	case series:
		for _, p := range n {
			if !f.collectFirst(p) {
				return false
			}
		}
		return true
	}
	return true
}

// startsRequest reports whether a sentence begins like a request, which is with the first word of a
// common pattern or with a time.
func (g *grammar) startsRequest(s *sentence) bool {
	i := s.skipPunctuation(0)
	if i >= len(s.tokens) {
		return false
	}
	if s.spanAt(i) != nil {
		return true
	}
	return s.tokens[i].kind == word && g.starters[s.tokens[i].norm]
}
