package knowledge

import (
	"slices"
	"strings"

	"hob/platform/phrase"
)

// single are things of which a person, a place or a thing has one at a time. A
// name is not among them: two daughters have two. Only statements about these
// correct each other; for all others both stay, and the newer comes first.
var single = map[string]bool{
	"birthday": true, "birthdate": true, "anniversary": true, "address": true, "password": true, "passcode": true, "passphrase": true,
	"pin": true, "combination": true, "age": true, "height": true, "weight": true, "salary": true, "deadline": true, "iban": true,
	"postcode": true, "zip": true, "timezone": true, "code": true, "number": true, "email": true, "phone": true, "mobile": true,
	"plate": true, "size": true, "rent": true, "employer": true, "hometown": true,
}

// favourite words make any noun a thing of which there is one.
var favourite = map[string]bool{"favourite": true, "favorite": true}

// determiners open the name of a thing that is known.
var determiners = []string{"my", "our", "the", "his", "her", "their", "your", "its"}

// hedges in a value say that it is no plain replacement of an older one.
var hedges = []string{"not", "also", "too", "maybe", "perhaps", "probably", "either", "or", "sometimes", "usually"}

// statement reads "<thing> is <value>" (or "<value> is <thing>") for things of
// which there is one, and returns the thing's telling words in alphabetical
// order with the value; "" when the text is anything else. It errs on the side
// of not understanding: a fact that is wrongly kept does less harm than one that
// is wrongly retired.
func statement(text string) (head, value string) {
	f := strings.Fields(strings.TrimRight(strings.TrimSpace(text), ".!"))
	at := -1
	for i, w := range f {
		switch strings.ToLower(w) {
		case "is", "are", "=":
			if at >= 0 {
				return "", ""
			}
			at = i
		case "was", "were", "but", "if", "when", "because", "unless", "until":
			return "", ""
		}
		if strings.ContainsAny(w, ";?\n") || (strings.HasSuffix(w, ".") && len(w) > 3) {
			return "", ""
		}
	}
	if at <= 0 || at == len(f)-1 {
		return "", ""
	}
	left, right := f[:at], f[at+1:]
	if h := thing(left); h != "" {
		return settled(h, plain(right))
	}
	if h := thing(right); h != "" && slices.Contains(determiners, strings.ToLower(right[0])) && len(left) <= 4 {
		return settled(h, plain(left))
	}
	return "", ""
}

// settled drops a statement whose value is hedged or has no words.
func settled(head, value string) (string, string) {
	f := strings.Fields(value)
	if len(f) == 0 || slices.ContainsFunc(f, func(s string) bool { return slices.Contains(hedges, s) }) {
		return "", ""
	}
	return head, value
}

// thing returns the sorted telling words of a noun phrase whose noun is single.
func thing(f []string) string {
	if len(f) == 0 || len(f) > 8 {
		return ""
	}
	w := phrase.Split(strings.Join(f, " "))
	// "the wifi password of the cabin": the noun stands before "of".
	noun := w
	if i := slices.Index(w, "of"); i > 0 {
		noun = w[:i]
	}
	if i := slices.Index(w, "for"); i > 0 && i < len(noun) {
		noun = w[:i]
	}
	if len(noun) == 0 || (!single[noun[len(noun)-1]] && !slices.ContainsFunc(noun, func(s string) bool { return favourite[s] })) {
		return ""
	}
	var out []string
	for _, s := range w {
		switch s {
		case "the", "a", "an", "of", "for", "s", "and":
		default:
			if favourite[s] {
				s = "favourite"
			}
			out = append(out, s)
		}
	}
	// One word alone ("the code") does not say whose.
	if slices.Contains(w, "and") || len(out) < 2 {
		return ""
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// plain returns the value's words without what may stand before them.
func plain(f []string) string {
	w := phrase.Split(strings.Join(f, " "))
	for len(w) > 1 && (w[0] == "now" || w[0] == "on" || w[0] == "actually") {
		w = w[1:]
	}
	return strings.Join(w, " ")
}
