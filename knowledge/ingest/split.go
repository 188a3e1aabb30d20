package ingest

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/document"
)

// Kinds of split points after an atom, starting with the preferred kind.
const (
	atWord = iota
	atSentence
	atLine
	atParagraph
)

// atom is an indivisible piece of text, including trailing whitespace.
type atom struct {
	text string
	n    int // length in characters
	cut  int
}

// Split splits a section into chunks of at most size characters. Each chunk repeats at most overlap
// characters of the previous one. It splits between paragraphs if the chunks are then at least half
// full, otherwise between lines, sentences or words, but never within a grapheme cluster. It does
// not split table rows, and repeats the table header before them.
func Split(s document.Section, size, overlap int) []string {
	switch {
	case len(s.Rows) > 0:
		return chunkTable(s, size, overlap)
	case s.Code:
		return packAtoms(splitCode(s.Text, size), size, overlap)
	}
	return packAtoms(splitAtoms(s.Text, size), size, overlap)
}

// chunkTable packs the rows of a table below their header.
func chunkTable(s document.Section, size, overlap int) []string {
	head := ""
	if s.Header != "" {
		head = s.Header + "\n"
	}
	room := max(size-utf8.RuneCountInString(head), size/2)
	var out []string
	var b strings.Builder
	n := 0
	flush := func() {
		if n > 0 {
			out = append(out, head+strings.TrimSuffix(b.String(), "\n"))
		}
		b.Reset()
		n = 0
	}
	for _, r := range s.Rows {
		k := utf8.RuneCountInString(r) + 1
		if n > 0 && n+k > room {
			flush()
		}
		if k > room {
			for _, part := range packAtoms(splitAtoms(r, room), room, min(overlap, room/4)) {
				out = append(out, head+part)
			}
			continue
		}
		b.WriteString(r + "\n")
		n += k
	}
	flush()
	return out
}

// packAtoms joins atoms into chunks.
func packAtoms(list []atom, size, overlap int) []string {
	var out []string
	for from := 0; from < len(list); {
		to, n := from, 0
		for to < len(list) && (to == from || n+list[to].n <= size) {
			n += list[to].n
			to++
		}
		if to < len(list) {
			to = bestCut(list, from, to, size)
		}
		if text := strings.Trim(joinAtoms(list[from:to]), "\n"); strings.TrimSpace(text) != "" {
			out = append(out, strings.TrimRight(text, " \t\n"))
		}
		if to == len(list) {
			break
		}
		next := to
		for shared := list[to].n; next-1 > from && fitsOverlap(list, next-1, to, overlap) && shared+list[next-1].n <= size; next-- {
			shared += list[next-1].n
		}
		from = next
	}
	return out
}

func fitsOverlap(list []atom, from, to, overlap int) bool {
	n := 0
	for _, a := range list[from:to] {
		n += a.n
	}
	return n <= overlap
}

// bestCut returns the position at which to split: the last split point of the best kind in the
// second half.
func bestCut(list []atom, from, to, size int) int {
	n, at, kind := 0, to, -1
	for i := from; i < to; i++ {
		n += list[i].n
		if n*2 >= size && list[i].cut >= kind {
			at, kind = i+1, list[i].cut
		}
	}
	return at
}

func joinAtoms(list []atom) string {
	var b strings.Builder
	for _, a := range list {
		b.WriteString(a.text)
	}
	return b.String()
}

// splitAtoms splits s into sentences.
func splitAtoms(s string, size int) []atom {
	var out []atom
	for l := range strings.SplitAfterSeq(s, "\n") {
		if strings.TrimSpace(l) == "" {
			if len(out) > 0 && l != "" {
				last := &out[len(out)-1]
				last.text, last.n, last.cut = strings.TrimRight(last.text, "\n")+"\n\n", last.n+1, atParagraph
			}
			continue
		}
		parts := splitSentences(l)
		for i, p := range parts {
			kind := atSentence
			if i == len(parts)-1 && strings.HasSuffix(l, "\n") {
				kind = atLine
			}
			out = append(out, splitLongSentence(p, kind, size)...)
		}
	}
	return out
}

// splitSentences splits a line after punctuation that ends a sentence.
func splitSentences(l string) []string {
	var out []string
	from := 0
	ended := false
	for i, r := range l {
		switch {
		case strings.ContainsRune("。！？", r):
			j := i + utf8.RuneLen(r)
			out, from, ended = append(out, l[from:j]), j, false
		case strings.ContainsRune(".!?…", r):
			ended = true
		case ended && strings.ContainsRune(`"'”’»)]`, r):
		case ended && unicode.IsSpace(r):
			j := i + utf8.RuneLen(r)
			out, from, ended = append(out, l[from:j]), j, false
		default:
			ended = false
		}
	}
	if from < len(l) {
		out = append(out, l[from:])
	}
	return out
}

// wordRun is the target length in characters of the pieces of a long sentence.
const wordRun = 100

// splitLongSentence splits a sentence that is longer than half a chunk.
func splitLongSentence(s string, kind, size int) []atom {
	n := utf8.RuneCountInString(s)
	if n*2 <= size {
		return []atom{{s, n, kind}}
	}
	most := min(wordRun, size/2)
	var out []atom
	from, count, blank := 0, 0, -1
	var before rune
	for i, r := range s {
		if count >= most {
			switch {
			case blank > from:
				out = append(out, atom{s[from:blank], utf8.RuneCountInString(s[from:blank]), atWord})
				count = utf8.RuneCountInString(s[blank:i])
				from = blank
			case !isSameGrapheme(before, r) || count > 4*most:
				out = append(out, atom{s[from:i], count, atWord})
				from, count = i, 0
			}
		}
		if unicode.IsSpace(r) {
			blank = i + utf8.RuneLen(r)
		}
		count++
		before = r
	}
	if from < len(s) {
		out = append(out, atom{s[from:], utf8.RuneCountInString(s[from:]), kind})
	}
	return out
}

// isSameGrapheme reports whether two code points belong to one grapheme cluster: marks, joiners, flags and
// skin tones (UAX #29, without its tables).
func isSameGrapheme(a, b rune) bool {
	switch {
	case unicode.In(b, unicode.Mn, unicode.Me, unicode.Mc), b == 0x200d, a == 0x200d, b >= 0xfe00 && b <= 0xfe0f, b >= 0x1f3fb && b <= 0x1f3ff:
		return true
	case a >= 0x1f1e6 && a <= 0x1f1ff && b >= 0x1f1e6 && b <= 0x1f1ff:
		return true
	case a >= 0x1100 && a <= 0x115f && b >= 0x1160 && b <= 0x11ff: // decomposed Hangul
		return true
	}
	return false
}

// splitCode splits source code before an unindented line that follows an empty one, where functions
// usually start, or else at empty lines.
func splitCode(s string, size int) []atom {
	var out []atom
	all := strings.SplitAfter(s, "\n")
	for i, l := range all {
		kind := atSentence
		if i+1 < len(all) && strings.TrimSpace(l) == "" {
			kind = atLine
			if next := all[i+1]; next != "" && !unicode.IsSpace(rune(next[0])) && next[0] != '}' {
				kind = atParagraph
			}
		}
		if l != "" {
			out = append(out, splitLongSentence(l, kind, size)...)
		}
	}
	return out
}
