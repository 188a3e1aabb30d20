package email

import (
	"slices"
	"strings"
	"unicode"
)

// text is one part of a mail that is read.
type text struct {
	words  string
	marked bool // it is HTML
	flowed bool // RFC 3676
	forms  int  // see entity
}

// split parts the sender's own words from what he quotes or passes on. What is in doubt
// is not his.
func split(all []text) (own, quoted string) {
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
	var b strings.Builder
	flowed, mixed := true, slices.ContainsFunc(all, func(t text) bool { return !t.marked })
	theirs := false // what comes before ends with what is not the sender's
	for _, t := range all {
		flowed = flowed && t.flowed
		words := t.words
		if t.marked && mixed {
			mine, passed, _ := splitHTML(words)
			theirs = theirs || passed != ""
			words = mine + "\n" + quote(passed)
		} else if theirs {
			words = quote(words)
		}
		b.WriteString(words + "\n")
	}
	if !mixed {
		own, quoted, _ = splitHTML(b.String())
		return own, quoted
	}
	own, quoted = splitPlain(clean(b.String()), flowed, flowed || twin.Len() > 0)
	if twin.Len() > 0 {
		return doubt(own, quoted, twin.String())
	}
	return own, quoted
}

// quote marks each line of a text.
func quote(s string) string {
	if s = strings.TrimSpace(s); s == "" {
		return ""
	}
	return "\n> " + strings.ReplaceAll(s, "\n", "\n> ")
}

// doubt moves lines to what is quoted which the same mail in HTML marks as quoted, or
// does not show: there the marks are the mail program's own, and no name or long line of
// somebody else's breaks them.
func doubt(own, quoted, twin string) (string, string) {
	mine, theirs, unseen := splitHTML(twin)
	if theirs+unseen == "" {
		return own, quoted
	}
	mine, theirs = lettersOf(mine), lettersOf(theirs)+"\n"+lettersOf(unseen)
	var keep, move []string
	for line := range strings.SplitSeq(own, "\n") {
		if k := lettersOf(line); k != "" && strings.Contains(theirs, k) && !strings.Contains(mine, k) {
			move = append(move, strings.TrimSpace(line))
			continue
		}
		keep = append(keep, line)
	}
	if len(move) == 0 {
		return own, quoted
	}
	return finish(keep), strings.TrimSpace(strings.Join(move, "\n") + "\n\n" + quoted)
}

// lettersOf is what two forms of a text have in common.
func lettersOf(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}
