package notify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Rule is a rule by the user that sets the urgency of notices. A rule matches if all of its set
// fields match. The first matching rule decides.
type Rule struct {
	Causes, People, Words, Channels, Watchers []string
	Within                                    time.Duration
	Urgency                                   Urgency
}

func (r Rule) matchesNotice(a noticeContext, now time.Time) bool {
	any := func(list []string, fits func(string) bool) bool {
		return len(list) == 0 || slices.ContainsFunc(list, fits)
	}
	return any(r.Causes, func(s string) bool { return s == string(a.Cause) }) &&
		any(r.Channels, func(s string) bool { return strings.EqualFold(s, a.Channel) }) &&
		any(r.Watchers, func(s string) bool { return s == a.Watcher && s != "" || strings.EqualFold(s, a.Title) && s != "" }) &&
		any(r.People, func(s string) bool { return matchesPerson(s, a) }) &&
		any(r.Words, func(s string) bool { return containsWords(a.Text, s) }) &&
		(r.Within == 0 || !a.At.IsZero() && !a.At.Before(now.Add(-time.Minute)) && a.At.Sub(now) <= r.Within)
}

// matchesPerson reports whether a notice concerns the person in a rule. An address or an id must
// match completely, and it never matches a display name, because anyone can choose a display name.
// A name is searched for in addresses, ids and display names.
func matchesPerson(want string, a noticeContext) bool {
	if want = strings.TrimSpace(want); strings.ContainsAny(want, "@:") {
		return slices.ContainsFunc(a.People, func(s string) bool { return strings.EqualFold(want, strings.TrimSpace(s)) })
	}
	is := func(s string) bool { return containsWords(s, want) }
	return slices.ContainsFunc(a.People, is) || slices.ContainsFunc(a.Names, is)
}

// containsWords reports whether text contains words as whole words, ignoring case.
func containsWords(text, words string) bool {
	text, words = strings.ToLower(text), strings.ToLower(strings.TrimSpace(words))
	if words == "" {
		return false
	}
	letter := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for from := 0; ; {
		i := strings.Index(text[from:], words)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i]) // at the start of the text this is RuneError, which is not a letter
		after, _ := utf8.DecodeRuneInString(text[i+len(words):])
		first, _ := utf8.DecodeRuneInString(words)
		last, _ := utf8.DecodeLastRuneInString(words)
		if !(letter(before) && letter(first)) && !(letter(after) && letter(last)) {
			return true
		}
		from = i + len(words)
	}
}

func (r Rule) String() string {
	var parts []string
	for _, p := range []struct {
		name string
		list []string
	}{{"causes", r.Causes}, {"people", r.People}, {"words", r.Words}, {"channels", r.Channels}, {"watchers", r.Watchers}} {
		if len(p.list) > 0 {
			parts = append(parts, p.name+" "+strings.Join(p.list, ", "))
		}
	}
	if r.Within > 0 {
		parts = append(parts, "within "+r.Within.String())
	}
	return strings.Join(parts, "; ")
}

// ratedUrgency is the urgency of a notice and the reason for it.
type ratedUrgency struct {
	urgency Urgency
	why     string
	// ruled reports whether one of the user's rules determined the urgency, and weighed whether a
	// model did.
	ruled, weighed bool
	// named reports whether the deciding rule names the watcher. Such a rule takes precedence over
	// a time that the owner chose.
	named bool
}

// defaultUrgency applies the user's rules, and then the default for the cause.
func (n *Notifier) defaultUrgency(a noticeContext, now time.Time) ratedUrgency {
	for i, r := range n.o.Rules {
		if r.matchesNotice(a, now) {
			return ratedUrgency{urgency: r.Urgency, why: fmt.Sprintf("your rule %d (%s)", i+1, r), ruled: true, named: len(r.Watchers) > 0}
		}
	}
	if a.Urgency != 0 {
		return ratedUrgency{urgency: a.Urgency, why: "the default for " + describeCause(a.Cause)}
	}
	usual := map[Cause]Urgency{Answer: High, Guest: High}
	return ratedUrgency{urgency: cmp.Or(usual[a.Cause], Normal), why: "the default for " + describeCause(a.Cause)}
}

// describeCause returns a description of a cause.
func describeCause(c Cause) string {
	switch c {
	case Answer:
		return "an answer to you"
	case Guest:
		return "a message from another person"
	case Plan:
		return "the plan of the day"
	case Own:
		return "a message from Hob"
	case Trouble:
		return "an error"
	}
	return "a " + string(c)
}
