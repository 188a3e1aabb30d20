// Package injection looks for the signs of an attack on a language model in a
// text from outside. It reads the text as a model would: without characters
// that cannot be seen, with look-alike letters as what they look like, also
// where it is spelled with digits, encoded, or hidden in comments and markup.
//
// It only marks. Words prove nothing: many attacks look like any request, and
// honest texts speak about attacks. So no decision may rest on what it finds or
// does not find; a mark is shown to the owner where he is asked.
//
// The six families, and in how many languages each is known, are those of
// classes.txt and rules.txt: orders to drop the rules (override), somebody else
// spoken for or a role forced on the model (impersonation), data to be carried
// out (exfiltration), tools to be used (commands), secrecy toward the owner
// (secrecy), and urgency, authority or a hidden payload (pressure).
package injection

import (
	"slices"
	"sort"
)

// The families.
const (
	Override      = "override"
	Impersonation = "impersonation"
	Exfiltration  = "exfiltration"
	Commands      = "commands"
	Secrecy       = "secrecy"
	Pressure      = "pressure"
)

// maxText is how much of a text is read: its beginning and its end.
const maxText = 64 << 10

// Scan returns the families whose signs a text shows, in alphabetical order;
// nil when there are none. It takes time in proportion to the text.
func Scan(text string) []string {
	if len(text) > maxText {
		text = text[:maxText/2] + "\n" + text[len(text)-maxText/2:]
	}
	found := map[string]bool{}
	plain, unseen := Normal(text)
	if unseen != "" { // a text within the text that only a model reads
		found[Pressure] = true
		matchWords(unseen, found)
	}
	matchWords(plain, found)
	frames(text, plain, found)
	hidden := map[string]bool{}
	for _, h := range buried(text) {
		p, _ := Normal(h)
		matchWords(p, hidden)
		frames(h, p, hidden)
	}
	for _, d := range unwrapped(plain, text) {
		matchWords(d, hidden)
	}
	for f := range hidden {
		found[f], found[Pressure] = true, true
	}
	if len(found) == 0 {
		return nil
	}
	out := make([]string, 0, len(found))
	for f := range found {
		out = append(out, f)
	}
	sort.Strings(out)
	return slices.Clip(out)
}
