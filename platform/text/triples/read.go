package triples

import (
	"slices"
	"strings"
)

// readClause reads one clause. elided is the subject of the previous clause.
func (r *reader) readClause(c clause, elided Subject) ([]Triple, Subject, bool) {
	left, right := c.toks[:c.verb.at], c.toks[c.verb.at+c.verb.n:]
	m, left := readManner(left)
	if c.verb.name == "" {
		return r.readToBe(c, m, left, right, elided)
	}
	flags := c.verb.flags
	if g, _ := readManner(append([]tok{{}}, c.verb.gap...)); len(c.verb.gap) > 0 {
		m.ended, m.now, m.sure = m.ended || g.ended, m.now || g.now, m.sure || g.sure
	}
	if len(left) == 0 && c.verb.impliesSubject() {
		elided = Subject{Owner: true, Key: Owner, Person: true}
	}
	since, left := r.readLeadingTime(left)
	s, ok := r.readSubject(left, elided)
	if !ok {
		return nil, s, false
	}
	var v value
	if swap := (value{toks: right}); c.verb.name == "replaced" {
		if !swap.readSwap() {
			return nil, s, false
		}
		v = r.valueOf(swap.toks)
		v.old, v.now = swap.old, true
	} else {
		v = r.valueOf(right)
	}
	if v.from.IsZero() && v.until.IsZero() {
		v.from, v.until = since.from, since.until
	}
	if flags["from"] && len(v.old) == 0 {
		return nil, s, false
	}
	st := Triple{
		Subject: s, Attr: c.verb.name, One: flags["one"] || flags["past"] && m.has, Past: flags["past"] && !(m.has && !v.from.IsZero()), More: m.more || v.more, Now: m.now || v.now || flags["now"],
		Sure: m.sure || v.sure, Ended: m.ended != flags["end"] || v.ended, From: v.from, Until: v.until,
		Value: r.spanText(v.toks), Old: r.spanText(v.old), Text: r.clauseText(c, left, s),
	}
	if v.ended && flags["end"] {
		st.Ended = false
	}
	if n := nounOf(left); len(left) > 0 && n.old && !n.bad && n.role == "" {
		st.Past = true
	}
	ok = r.isValidValue(&st, flags, v, left)
	if s.Role != "" && s.Name != "" {
		return r.withName(st, ok), s, true
	}
	return []Triple{st}, s, ok
}

// readLeadingTime removes a time at the start of a clause: "from Monday I work at ...".
func (r *reader) readLeadingTime(left []tok) (value, []tok) {
	if len(left) < 3 || !slices.Contains([]string{"from", "since", "until", "till", "starting", "as", "seit", "bis", "ab"}, left[0].w) {
		return value{}, left
	}
	for n := len(left) - 1; n > 1; n-- {
		v := value{toks: append([]tok{{}}, left[:n]...)}
		if v.readValidity(r); !v.from.IsZero() || !v.until.IsZero() {
			return v, left[n:]
		}
	}
	return value{}, left
}

// isValidValue reports whether v can be a value of the verb.
func (r *reader) isValidValue(st *Triple, flags map[string]bool, v value, left []tok) bool {
	class := r.classOf(v.toks)
	if st.Attr == "is_closed" {
		if v.ended || len(left) > 0 && st.Past {
			return false
		}
		st.Attr, st.Value, st.Ended, st.Sure = Any, "", true, true
		return !st.Subject.Owner
	}
	if len(v.toks) == 0 || len(v.toks) > maxValue {
		// in "I no longer work", the verb has no value, and the complete statement is no longer
		// true
		return len(v.toks) == 0 && st.Ended && st.Sure
	}
	first := v.toks[0].w
	switch {
	case flags["person"] && !st.Subject.Owner && !st.Subject.Person:
		if strings.HasPrefix(st.Attr, "lives") && flags["now"] { // "moved to three" is about the time of a meeting
			st.Attr, st.One = Where, true
			if class == Time || class == Number {
				st.Attr = When
			}
			return true
		}
		return st.Attr == "works_at" || st.Attr == "lives_in" || st.Attr == "likes" || st.Attr == "owns"
	case flags["time"] && class != Time && class != Number:
		return false
	case flags["thing"] && (slices.Contains(holding, first) || isListed("place", first) || first == "up" || first == "out"):
		return false
	case (st.Attr == "works_at" || st.Attr == "lives_in") && (class == Time || class == Number):
		return false
	case st.Attr == "lives_in" && flags["person"] && first == "the" && !flags["one"]:
		return false
	case st.Attr == "called":
		st.Attr = Called
		st.One = r.isSingular(left)
	case st.Attr == "prefers":
		r.readPreference(st, v)
	case (st.Attr == "likes" || st.Attr == "prefers") && (first == "to" && !st.Ended && len(v.toks) < 2 || first == "it" || first == "that" || first == "this"):
		return false
	}
	return true
}

// isSingular reports whether the words identify exactly one person or item. "my wife" and "the
// boat" do; "my daughter" does not, because there may be several.
func (r *reader) isSingular(left []tok) bool {
	n := nounOf(left)
	switch {
	case len(left) == 0 || n.bad || n.name != "":
		return false
	case n.role != "":
		return n.one
	}
	return !slices.ContainsFunc(n.words, func(w string) bool { return isListed("role", w) })
}

// readPreference combines both sides of a preference into one value: "prefer tea to coffee".
func (r *reader) readPreference(st *Triple, v value) {
	for j := 1; j < len(v.toks)-1; j++ {
		if w := v.toks[j].w; w == "to" || w == "over" || w == "rather" || w == "than" {
			k := j + 1
			for k < len(v.toks)-1 && v.toks[k].w == "than" {
				k++
			}
			st.Value, st.Old = r.spanText(v.toks[:j]), r.spanText(v.toks[k:])
			return
		}
	}
}

// withName adds the statement that "my sister Ana" implies.
func (r *reader) withName(st Triple, ok bool) []Triple {
	var out []Triple
	if ok {
		out = append(out, st)
	}
	if st.Subject.Role == "" || st.Subject.Name == "" {
		return out
	}
	return append(out, Triple{
		Subject: Subject{Text: st.Subject.Role, Role: st.Subject.Role, Key: st.Subject.Role, Person: true}, Attr: Called, Value: st.Subject.Name, One: false, More: true,
		Text: st.Text,
	})
}

// readSubject parses the words before a verb. If there are none, it returns the subject of the
// previous clause.
func (r *reader) readSubject(left []tok, elided Subject) (Subject, bool) {
	if len(left) == 0 {
		return elided, elided.Key != ""
	}
	s, ok := subjectOf(left)
	if ok && s.Key == "" { // a pronoun such as "she"
		if elided.Key != "" && !elided.Owner {
			return elided, true
		}
		return r.last, r.last.Key != ""
	}
	s.Text = r.spanText(left)
	return s, ok
}

// clauseText returns the text of a clause as a separate sentence with its subject.
func (r *reader) clauseText(c clause, left []tok, s Subject) string {
	text := r.spanText(c.toks)
	pronoun := len(left) == 1 && isListed("he", left[0].w)
	if len(left) > 0 && !pronoun || s.Text == "" {
		return text
	}
	if pronoun {
		text = strings.TrimSpace(text[left[0].to-c.toks[0].from:])
	}
	return s.Text + " " + text
}

// readToBe reads a clause with a form of "to be".
func (r *reader) readToBe(c clause, m verbManner, left, right []tok, elided Subject) ([]Triple, Subject, bool) {
	v := r.valueOf(right)
	m.past = m.past || c.verb.was
	st := Triple{
		More: m.more || v.more, Now: m.now || v.now, Sure: m.sure || v.sure, Ended: m.ended || v.ended, From: v.from, Until: v.until,
		Value: r.spanText(v.toks), Old: r.spanText(v.old), Past: m.past,
	}
	if len(v.toks) == 0 || len(v.toks) > maxValue || len(left) == 0 {
		return nil, Subject{}, false
	}
	st.Text = r.clauseText(c, left, elided)
	if attr, n, ok := readAttributeNoun(left); ok {
		return r.readAttribute(st, attr, n, left)
	}
	if attr, n, ok := readAttributeNoun(v.toks); ok && n.known && len(left) <= 4 && !m.more {
		st.Value = r.spanText(left)
		st.From, st.Until = v.from, v.until
		return r.readAttribute(st, attr, n, v.toks)
	}
	s, ok := r.readSubject(left, elided)
	if !ok {
		if len(v.old) > 0 && len(left) == 1 && (isListed("he", left[0].w) || left[0].w == "that") { // "it is not X but Y" corrects a value without naming its subject
			return []Triple{{Value: st.Value, Old: st.Old, Sure: true, Text: st.Text}}, s, true
		}
		return nil, s, false
	}
	st.Subject = s
	return r.readCopula(st, v, left, s)
}

// readAttribute returns the triple for a noun that has a single value, such as "birthday".
func (r *reader) readAttribute(st Triple, attr string, n noun, toks []tok) ([]Triple, Subject, bool) {
	if n.his {
		if r.last.Key == "" {
			return nil, Subject{}, false
		}
		n.words = append(n.words, strings.Fields(r.last.Key)...)
		n.role, n.name = r.last.Role, r.last.Name
	}
	words := n.words
	if n.fresh {
		st.Now = true
	}
	if n.old {
		st.Past = true
	}
	s := Subject{Text: r.spanText(toks), Role: n.role, Name: n.name, Person: n.role != "" || n.name != ""}
	if n.role != "" && n.name != "" {
		words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == n.role })
	}
	s.Key = keyOf(words)
	if s.Key == "" && n.mine {
		s.Owner, s.Key = true, Owner
	}
	if s.Key == "" {
		return nil, Subject{}, false
	}
	st.Subject, st.Attr, st.One = s, attr, true
	if attr == "name" {
		st.Attr = Called
		st.One = n.one || n.role == "" && s.Owner || !slices.ContainsFunc(n.words, func(w string) bool { return isListed("role", w) })
	}
	if strings.HasPrefix(attr, "favourite ") && s.Key == Owner {
		st.One = true
	}
	if len(toks) == 0 {
		return nil, s, false
	}
	return r.withName(st, true), s, true
}

// readCopula returns the triple for "X is Y" if X is not a noun with a single value.
func (r *reader) readCopula(st Triple, v value, left []tok, s Subject) ([]Triple, Subject, bool) {
	toks := v.toks
	last := toks[len(toks)-1].w
	n := nounOf(toks)
	switch {
	case s.Name != "" && s.Role == "" && n.role != "" && n.mine && n.name == "" && len(n.words) == 1: // "Ana is my sister"
		return []Triple{r.newNameTriple(st, n.role, n.one, r.spanText(left))}, s, true
	case s.Role != "" && s.Name == "" && allCapital(toks) && len(strings.Fields(s.Key)) == 1: // "my sister is Ana"
		return []Triple{r.newNameTriple(st, s.Role, isListed("role one", s.Role), r.spanText(toks))}, s, true
	case hasDigit(toks[0].w) && (last == "old" && len(toks) <= 3 || len(toks) == 1 && (s.Person || s.Owner)):
		st.Attr, st.One = "age", true
	case hasDigit(toks[0].w) && (last == "tall" || last == "high") && len(toks) <= 4:
		st.Attr, st.One, st.Value = "height", true, r.spanText(toks[:len(toks)-1])
	case hasDigit(toks[0].w) && (last == "heavy") && len(toks) <= 4:
		st.Attr, st.One, st.Value = "weight", true, r.spanText(toks[:len(toks)-1])
	default:
		r.readContext(&st, toks, left)
	}
	if nn := nounOf(left); nn.fresh {
		st.Now = true
	} else if nn.old && !nn.bad && s.Role == "" && s.Name == "" {
		st.Past = true
	}
	return r.withName(st, true), s, true
}

// readContext reads the time, the location and other context of a statement.
func (r *reader) readContext(st *Triple, toks, left []tok) {
	switch r.classOf(toks) {
	case Time:
		st.Attr = When
		st.One = st.Subject.Role == "" && st.Subject.Name == "" && !st.Subject.Owner
	case Place:
		st.Attr = Where
		words := nounOf(left).words
		st.One = len(words) > 0 && isListed("movable", words[len(words)-1]) || len(words) > 0 && slices.ContainsFunc(words, func(w string) bool { return w == "key" || w == "keys" })
	default:
		st.Attr = Is
	}
}

// newNameTriple returns the triple that names the holder of a role.
func (r *reader) newNameTriple(st Triple, role string, one bool, name string) Triple {
	st.Subject = Subject{Text: role, Role: role, Key: role, Person: true}
	st.Attr, st.Value, st.One = Called, name, one
	return st
}
