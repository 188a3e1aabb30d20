package tools

import "unicode/utf8"

// lexicon contains the correctly spelled words that can replace a mistyped word.
type lexicon struct {
	words []string
	masks []uint32 // bit set of the letters of each word, to skip most words quickly
}

func (l *lexicon) addWord(w string) {
	l.words = append(l.words, w)
	l.masks = append(l.masks, letterMask(w))
}

func letterMask(w string) (m uint32) {
	for _, r := range w {
		m |= 1 << (uint32(r) % 32) //nolint:gosec // runes are not negative
	}
	return m
}

// allowedTypos returns the number of typing errors that a word of n letters may have.
func allowedTypos(n int) int {
	switch {
	case n < 4:
		return 0
	case n < 7:
		return 1
	}
	return 2
}

// nearestWords returns the words that differ from w by the fewest typing errors, and the number of
// errors. It returns no words if all of them have too many errors.
func (l *lexicon) nearestWords(w string) (found []string, errors int) {
	n := utf8.RuneCountInString(w)
	limit := allowedTypos(n)
	if limit == 0 {
		return nil, 0
	}
	mask := letterMask(w)
	var a, b [maxWord]rune
	x := boundedRunes(w, a[:0])
	for i, have := range l.words {
		if d := len(have) - len(w); d > 2*limit || d < -2*limit || countBits(mask^l.masks[i]) > 2*limit {
			continue
		}
		d := editDistance(x, boundedRunes(have, b[:0]), limit)
		switch {
		case d > limit:
		case d < limit || found == nil && d == limit:
			found, limit = append(found[:0], have), d
		default:
			found = append(found, have)
		}
	}
	return found, limit
}

func countBits(m uint32) (n int) {
	for ; m != 0; m &= m - 1 {
		n++
	}
	return n
}

// maxWord limits the letters of a word that are compared.
const maxWord = 32

func boundedRunes(w string, out []rune) []rune {
	for _, r := range w {
		if len(out) < maxWord {
			out = append(out, r)
		}
	}
	return out
}

// editDistance returns the number of typing errors between a and b: missing, extra, wrong or
// swapped letters (optimal string alignment). It stops counting above limit.
func editDistance(a, b []rune, limit int) int {
	var rows [3][maxWord + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			least = min(least, d)
		}
		if least > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
