package offline

import "iter"

// firstWords is the set of words with which a pattern can begin. open means that it can begin with
// any word, for example because it begins with a free text slot.
type firstWords struct {
	words map[string]bool
	open  bool
}

// allowsFirst reports whether a sentence whose first word is norm may match.
func (f firstWords) allowsFirst(norm string) bool { return f.open || f.words[norm] }

// firstIndex finds the patterns of an intent that can begin with a word.
type firstIndex struct {
	open  []uint16            // the patterns that can begin with any word
	words map[string][]uint16 // the others, by each first word that a pattern names
}

// namesFirst reports whether a pattern names this word as its first.
func (f firstIndex) namesFirst(word string) bool {
	_, ok := f.words[word]
	return ok
}

// addPattern adds a pattern at the end of an intent.
func (in *intent) addPattern(n node) firstWords {
	f, at := firstsOf(n), uint16(len(in.patterns))
	in.patterns = append(in.patterns, n)
	if f.open {
		in.byFirst.open = append(in.byFirst.open, at)
	}
	if in.byFirst.words == nil {
		in.byFirst.words = map[string][]uint16{}
	}
	for w := range f.words {
		list := in.byFirst.words[w]
		if !f.open {
			list = append(list, at)
		}
		in.byFirst.words[w] = list
	}
	return f
}

// candidatesFor yields the patterns that may match a sentence with this first word, in order. A word
// with a typo may stand for any other, so that loose yields all of them.
func (in *intent) candidatesFor(first string, loose bool) iter.Seq[node] {
	return func(yield func(node) bool) {
		if loose {
			for _, n := range in.patterns {
				if !yield(n) {
					return
				}
			}
			return
		}
		open, with := in.byFirst.open, in.byFirst.words[first]
		for len(open)+len(with) > 0 {
			from := &with
			if len(with) == 0 || len(open) > 0 && open[0] < with[0] {
				from = &open
			}
			n := in.patterns[(*from)[0]]
			*from = (*from)[1:]
			if !yield(n) {
				return
			}
		}
	}
}

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
