package triples

import (
	"slices"
	"strings"

	"hob/platform/text/textnorm"
)

// subjectOf returns the person or item that toks name.
func subjectOf(toks []tok) (Subject, bool) {
	if len(toks) == 0 || len(toks) > 8 {
		return Subject{}, false
	}
	if len(toks) == 1 && isListed("i", toks[0].w) {
		return Subject{Owner: true, Key: Owner, Person: true}, true
	}
	if len(toks) == 1 && isListed("he", toks[0].w) {
		return Subject{}, true // the current subject
	}
	if len(toks) == 2 && toks[0].w == "the" && toks[1].w == "owner" {
		return Subject{Owner: true, Key: Owner, Person: true}, true
	}
	n := nounOf(toks)
	if n.bad || len(n.words) == 0 && !n.mine {
		return Subject{}, false
	}
	return n.toSubject(), true
}

// noun is a noun phrase: "my sister Ana", "the wifi of the cabin", "Dr Weiss".
type noun struct {
	words []string // the folded words that identify the subject, in order
	mine  bool
	his   bool // the phrase belongs to the current subject ("his", "her")
	old   bool // "my old ..."
	fresh bool // "my new ..."
	bad   bool // the words are not a noun phrase
	known bool // the phrase has a determiner or a name
	role  string
	name  string
	one   bool // at most one person has the role
}

// prepositions that join the parts of a noun phrase
var holding = []string{"of", "for", "at", "de", "du", "del", "della", "von", "vom", "fur", "pour", "para", "per", "d", "in", "to", "from", "on", "s"}

func nounOf(toks []tok) noun {
	n := noun{}
	joins := 0
	for i, t := range toks {
		first := i == 0 || slices.Contains(holding, toks[i-1].w) || joins > 0 && slices.Contains(joining, toks[i-1].w)
		switch {
		case isListed("mine", t.w):
			n.mine, n.known = n.mine || i == 0, true
			if !first {
				n.bad = true
			}
		case isListed("his", t.w):
			n.his, n.known = true, true
		case isListed("determiners", t.w):
			n.known = true
		case isListed("i", t.w), isListed("he", t.w), isListed("is", t.w), isListed("was", t.w), isListed("not", t.w), isListed("condition", t.w), t.w == "that", t.w == "there", t.w == "here":
			n.bad = true
		case slices.Contains(joining, t.w):
			if joins++; i == 0 || i == len(toks)-1 {
				n.bad = true
			}
		case slices.Contains(holding, t.w):
			if i == 0 || i == len(toks)-1 {
				n.bad = true
			}
		case t.w == "new" || t.w == "current" || t.w == "latest" || t.w == "neue" || t.w == "neuer" || t.w == "nouveau" || t.w == "nouvelle" || t.w == "nuevo" || t.w == "nueva":
			n.fresh = true
		default:
			if isListed("old", t.w) {
				n.old = true
			}
			n.known = n.known || t.capital
			n.words = append(n.words, t.w)
			n.addRoles(t, i, toks)
		}
		if t.after != 0 && i < len(toks)-1 && t.after != ',' {
			n.bad = true
		}
	}
	if n.role == "" && len(toks) > 0 && allCapital(toks) {
		n.name = strings.Join(n.words, " ")
	}
	n.bad = n.bad || !n.known
	return n
}

// addRoles records roles and the names that belong to them: "my sister Ana", "Ana, my sister".
func (n *noun) addRoles(t tok, i int, toks []tok) {
	role := isListed("role", t.w) || isListed("role one", t.w)
	switch {
	case role && !t.poss && n.role == "" && (n.mine || i > 0 && isListed("mine", toks[i-1].w)):
		n.role, n.one = t.w, isListed("role one", t.w)
		if i > 1 && isListed("mine", toks[i-1].w) && toks[i-2].after == ',' && allCapital(toks[:i-1]) { // "Ana, my sister"
			n.name, n.mine = strings.Join(tokenWords(toks[:i-1]), " "), true
		}
	case role && t.poss && n.role == "" && n.mine:
		n.role, n.one = t.w, isListed("role one", t.w)
	case n.role != "" && i > 0 && t.capital && (toks[i-1].w == n.role || n.name != "") && !toks[i-1].poss:
		n.name = strings.TrimSpace(n.name + " " + t.w)
	}
}

func allCapital(toks []tok) bool {
	return len(toks) > 0 && len(toks) <= 4 && !slices.ContainsFunc(toks, func(t tok) bool { return !t.capital || isListed("determiners", t.w) || isListed("mine", t.w) })
}

// toSubject converts the phrase to a subject. A role with a name is identified by the name.
func (n noun) toSubject() Subject {
	s := Subject{Role: n.role, Name: n.name, Person: n.role != "" || n.name != "" || slices.ContainsFunc(n.words, anyRole)}
	words := slices.Clone(n.words)
	if n.role != "" && n.name != "" {
		words = slices.DeleteFunc(words, func(w string) bool { return w == n.role })
	}
	s.Key = keyOf(words)
	if s.Key == "" && n.mine {
		s.Owner, s.Key, s.Person = true, Owner, true
	}
	return s
}

func anyRole(w string) bool { return isListed("role", w) || isListed("role one", w) }

func keyOf(words []string) string {
	w := slices.Clone(words)
	slices.Sort(w)
	return strings.Join(slices.Compact(w), " ")
}

// readAttributeNoun parses a noun with a single value and its owner: "my sister's birthday", "the
// wifi password of the cabin".
func readAttributeNoun(toks []tok) (attr string, n noun, ok bool) {
	n = nounOf(toks)
	if n.bad || len(n.words) == 0 || len(n.words) > 7 {
		return "", n, false
	}
	for i, t := range toks {
		if t.poss && n.role == "" && i < 4 && allCapital(toks[:i+1]) {
			n.name = strings.Join(tokenWords(toks[:i+1]), " ")
		}
	}
	// the attribute is the last word before "of"
	at := -1
	for i, t := range toks {
		if i > 0 && slices.Contains(holding, t.w) {
			break
		}
		if !slices.Contains(holding, t.w) && !t.poss && !isListed("determiners", t.w) && !isListed("mine", t.w) && !isListed("his", t.w) {
			at = i
		}
	}
	if at < 0 {
		return "", n, false
	}
	w := toks[at].w
	favourite := slices.ContainsFunc(toks[:at], func(t tok) bool {
		return t.w == "favourite" || t.w == "favorite" || strings.HasPrefix(t.w, "liebling")
	})
	if favourite {
		n.words = slices.DeleteFunc(n.words, func(s string) bool { return s == "favorite" || s == "favourite" })
		return "favourite " + canonicalNoun(w), n.withoutWord(w), true
	}
	name := w == "name" || w == "nom" || w == "nombre" || w == "nome" || w == "vardas" || w == "imie"
	if !isListed("one", w) && !(name && (n.role != "" || len(n.words) > 1)) {
		return "", n, false
	}
	if name {
		w = "name"
	}
	return canonicalNoun(w), n.withoutWord(toks[at].w), true
}

// canonicalNoun returns the same word for all nouns with the same meaning.
func canonicalNoun(w string) string {
	switch w {
	case "color":
		return "colour"
	case "birthdate", "geburtstag", "anniversaire", "cumpleanos", "compleanno", "gimtadienis", "urodziny":
		return "birthday"
	case "adresse", "direccion", "indirizzo", "adresas", "adres":
		return "address"
	case "passcode", "passphrase", "passwort", "kennwort", "motdepasse", "contrasena", "slaptazodis", "haslo":
		return "password"
	case "mobile", "telefonnummer", "handynummer", "telefono":
		return "phone"
	case "zip", "postleitzahl":
		return "postcode"
	case "profession", "occupation", "job":
		return "job"
	}
	return w
}

// withoutWord returns n without the word w.
func (n noun) withoutWord(w string) noun {
	for i := len(n.words) - 1; i >= 0; i-- {
		if n.words[i] == w {
			n.words = slices.Delete(slices.Clone(n.words), i, i+1)
			break
		}
	}
	return n
}

// Mine reports whether a folded word expresses possession by the speaker.
func Mine(w string) bool { return isListed("mine", w) }

// Tells reports whether Read may find a statement in text. It is a fast check that may return true
// for other text.
func Tells(text string) bool {
	w := textnorm.FoldedWords(truncateText(text))
	for i, x := range w[:min(len(w), 200)] {
		if isListed("mine", x) || isListed("i", x) || isListed("is", x) || len(known().verbs[x]) > 0 && (i > 0 || isListed("dropped", x)) {
			return len(w) > 1
		}
	}
	return false
}

// Reported reports whether a sentence is reported speech, a question or a negated
// claim.
func Reported(text string) bool {
	for _, toks := range splitSentences(blankQuotes(truncateText(text))) {
		if !readOpening(toks).skip {
			return false
		}
	}
	return true
}
