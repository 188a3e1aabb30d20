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

// Rule of the owner's says how urgent a notice is. The fields that are set must
// all fit; the first rule that fits decides.
type Rule struct {
	Causes, People, Words, Channels, Watchers []string
	Within                                    time.Duration
	Urgency                                   Urgency
}

func (r Rule) fits(a about, now time.Time) bool {
	any := func(list []string, fits func(string) bool) bool {
		return len(list) == 0 || slices.ContainsFunc(list, fits)
	}
	return any(r.Causes, func(s string) bool { return s == string(a.Cause) }) &&
		any(r.Channels, func(s string) bool { return strings.EqualFold(s, a.Channel) }) &&
		any(r.Watchers, func(s string) bool { return s == a.Watcher && s != "" || strings.EqualFold(s, a.Title) && s != "" }) &&
		any(r.People, func(s string) bool { return person(s, a) }) &&
		any(r.Words, func(s string) bool { return holds(a.Text, s) }) &&
		(r.Within == 0 || !a.At.IsZero() && !a.At.Before(now.Add(-time.Minute)) && a.At.Sub(now) <= r.Within)
}

// person reports whether one of those a notice is about is the one of a rule. What
// is written as an address or an id must be one, as a whole: whoever calls himself
// by it is somebody else. A name is looked for in both.
func person(want string, a about) bool {
	if want = strings.TrimSpace(want); strings.ContainsAny(want, "@:") {
		return slices.ContainsFunc(a.People, func(s string) bool { return strings.EqualFold(want, strings.TrimSpace(s)) })
	}
	is := func(s string) bool { return holds(s, want) }
	return slices.ContainsFunc(a.People, is) || slices.ContainsFunc(a.Names, is)
}

// holds reports whether words stand in a text, as a whole and in any case.
func holds(text, words string) bool {
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
		before, _ := utf8.DecodeLastRuneInString(text[:i]) // RuneError, no letter, where there is none
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

// judged is how urgent a notice is and what says so.
type judged struct {
	urgency Urgency
	why     string
	// ruled: a rule of the owner's decided; weighed: a model did.
	ruled, weighed bool
	// named: a rule that names its watcher decided, which also outweighs that the
	// owner chose the time.
	named bool
}

// urgent applies the owner's rules, then what is usual for the cause.
func (n *Notifier) urgent(a about, now time.Time) judged {
	for i, r := range n.o.Rules {
		if r.fits(a, now) {
			return judged{urgency: r.Urgency, why: fmt.Sprintf("your rule %d (%s)", i+1, r), ruled: true, named: len(r.Watchers) > 0}
		}
	}
	if a.Urgency != 0 {
		return judged{urgency: a.Urgency, why: "usual for " + called(a.Cause)}
	}
	usual := map[Cause]Urgency{Answer: High, Guest: High}
	return judged{urgency: cmp.Or(usual[a.Cause], Normal), why: "usual for " + called(a.Cause)}
}

// called words a cause.
func called(c Cause) string {
	switch c {
	case Answer:
		return "what you asked for"
	case Guest:
		return "what somebody else's message brings"
	case Plan:
		return "the plan of the day"
	case Own:
		return "news of my own"
	case Trouble:
		return "something that does not work"
	}
	return "a " + string(c)
}
