package email

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"hob/platform/readable"
)

// text is one part of a mail that is read.
type text struct {
	words  string
	marked bool // it is HTML
	flowed bool // RFC 3676
	forms  int  // see mime.Part
}

// split parts the sender's own words from what he quotes or passes on. What is in doubt
// is not his. answer: the mail replies or forwards.
func split(all []text, answer bool) parted {
	all = slices.DeleteFunc(all, func(t text) bool { return strings.TrimSpace(t.words) == "" })
	plain := map[int]bool{}
	for _, t := range all {
		plain[t.forms] = plain[t.forms] || t.forms > 0 && !t.marked
	}
	var twin strings.Builder // the same in HTML
	all = slices.DeleteFunc(all, func(t text) bool {
		twice := t.marked && plain[t.forms]
		if twice {
			twin.WriteString(t.words + "\n")
		}
		return twice
	})
	p := splitParts(all, answer)
	if twin.Len() > 0 {
		p = doubt(p, twin.String(), answer)
	}
	return p.limited(answer)
}

// splitParts parts texts that follow each other: from the first boundary on all of them
// are quoted.
func splitParts(all []text, answer bool) parted {
	var b, quoted strings.Builder
	flowed, marked, bounded := true, "", false
	if !slices.ContainsFunc(all, func(t text) bool { return !t.marked }) {
		for _, t := range all {
			marked += t.words + "\n"
		}
		p, _ := splitHTML(marked, answer)
		return p
	}
	for _, t := range all {
		flowed = flowed && t.flowed
		mine := parted{own: t.words}
		if t.marked && !bounded {
			mine, _ = splitHTML(t.words, answer)
			mine.own += "\n"
		}
		if bounded {
			mine = parted{quoted: clean(readable.Words(t.words))}
		}
		bounded = bounded || mine.bounded
		b.WriteString(mine.own + "\n")
		quoted.WriteString(mine.quoted + "\n")
	}
	p := splitPlain(clean(b.String()), flowed, answer)
	p.quoted, p.bounded = joinTexts(p.quoted, quoted.String()), p.bounded || bounded
	return p
}

// maxLines is how many lines of a mail are looked for in its other form.
const maxLines = 2000

// doubt takes from the sender's words what the same mail in HTML marks as quoted, or does
// not show: there the marks are the mail program's own, and no name or long line of
// somebody else's breaks them.
func doubt(p parted, twin string, answer bool) parted {
	html, unseen := splitHTML(twin, answer)
	switch {
	case strings.TrimSpace(html.quoted+unseen) == "":
		return p
	case strings.Count(p.own, "\n") > maxLines:
		return html
	}
	theirs, hidden := foundOnlyIn(html.quoted, html.own), foundOnlyIn(unseen, html.own+"\n"+html.quoted)
	lines := strings.Split(p.own, "\n")
	var keep, move []string
	for i, line := range lines {
		if theirs(line) {
			move = append(move, lines[i:]...)
			p.bounded = true
			break
		}
		if hidden(line) {
			move = append(move, line)
			continue
		}
		keep = append(keep, line)
	}
	if len(move) > 0 {
		p.own, _ = finish(keep)
		p.quoted = joinTexts(clipText(strings.Join(move, "\n")), p.quoted)
	}
	return p
}

// foundOnlyIn returns a test whether a line stands in one text and not in the other, by
// its letters.
func foundOnlyIn(in, notIn string) func(line string) bool {
	var here, there [2]string
	for i, bare := range [2]bool{false, true} {
		here[i], there[i] = lettersOf(in, bare), lettersOf(notIn, bare)
	}
	return func(line string) bool {
		for i, bare := range [2]bool{false, true} {
			if k := lettersOf(line, bare); k != "" && strings.Contains(here[i], k) && !strings.Contains(there[i], k) {
				return true
			}
		}
		return false
	}
}

// address is what programs write beside a link, a picture or a name.
var address = regexp.MustCompile(`<[^<>\n]*>|\[[^\[\]\n]*\]|\S+://\S+|\S+@\S+`)

// lettersOf is what two forms of a text have in common, bare without what stands beside
// links, pictures and names in one of them.
func lettersOf(s string, bare bool) string {
	if bare {
		s = address.ReplaceAllString(s, " ")
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}
