package email

import (
	"slices"
	"strings"
	"unicode"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/readability"
)

// textPart is one text part of an email.
type textPart struct {
	words  string
	marked bool // whether the text is HTML
	flowed bool // whether the text has the format of RFC 3676
	forms  int  // see mime.Part
}

// splitOwnText separates the sender's own text from quoted and forwarded text. In doubt, text does
// not count as the sender's. answer reports whether the email is a reply or forward.
func splitOwnText(all []textPart, answer bool) splitMail {
	all = slices.DeleteFunc(all, func(t textPart) bool { return strings.TrimSpace(t.words) == "" })
	plain := map[int]bool{}
	for _, t := range all {
		plain[t.forms] = plain[t.forms] || t.forms > 0 && !t.marked
	}
	var twin strings.Builder // HTML version of the text
	all = slices.DeleteFunc(all, func(t textPart) bool {
		twice := t.marked && plain[t.forms]
		if twice {
			twin.WriteString(t.words + "\n")
		}
		return twice
	})
	p := splitParts(all, answer)
	if twin.Len() > 0 {
		p = subtractQuoted(p, twin.String(), answer)
	}
	return p.limitOwnText(answer)
}

// splitParts splits consecutive text parts. All text after the first boundary is quoted.
func splitParts(all []textPart, answer bool) splitMail {
	var b, quoted strings.Builder
	flowed, marked, bounded := true, "", false
	if !slices.ContainsFunc(all, func(t textPart) bool { return !t.marked }) {
		for _, t := range all {
			marked += t.words + "\n"
		}
		p, _ := splitHTML(marked, answer)
		return p
	}
	for _, t := range all {
		flowed = flowed && t.flowed
		mine := splitMail{own: t.words}
		if t.marked && !bounded {
			mine, _ = splitHTML(t.words, answer)
			mine.own += "\n"
		}
		if bounded {
			mine = splitMail{quoted: cleanText(readability.Words(t.words))}
		}
		bounded = bounded || mine.bounded
		b.WriteString(mine.own + "\n")
		quoted.WriteString(mine.quoted + "\n")
	}
	p := splitPlain(cleanText(b.String()), flowed, answer)
	p.quoted, p.bounded = joinTexts(p.quoted, quoted.String()), p.bounded || bounded
	return p
}

// maxLines is the maximum number of lines that are compared between the text and HTML forms of an
// email.
const maxLines = 2000

// subtractQuoted removes from the sender's text the parts that the HTML version twin hides or marks
// as quoted. In HTML, mail programs mark quotations, and a long name or line cannot break the
// marks.
func subtractQuoted(p splitMail, twin string, answer bool) splitMail {
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
		p.own, _ = cutSignature(keep)
		p.quoted = joinTexts(clipText(strings.Join(move, "\n")), p.quoted)
	}
	return p
}

// foundOnlyIn returns a function that reports whether a line occurs in the text in but not in the
// text notIn. It compares letters only.
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

// address matches the addresses that mail programs write next to a link, a picture or a name.
var address = lazyregexp.New(`<[^<>\n]*>|\[[^\[\]\n]*\]|\S+://\S+|\S+@\S+`)

// lettersOf returns the letters of s in lower case, because only they are the same in the text and
// HTML forms of an email. If bare is set, it omits the addresses next to links, pictures and names.
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
