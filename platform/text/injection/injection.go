// Package injection detects signs of prompt injection in untrusted text. It reads the text as a
// model would: without invisible characters, with look-alike letters normalized, and also if it is
// spelled with digits, encoded, or hidden in comments and markup.
//
// It only marks text. Words prove nothing: many attacks look like ordinary requests, and harmless
// text discusses attacks. No decision may depend on the result. Approval requests show a mark to
// the user.
//
// classes.txt and rules.txt define the six families and their words in several languages: orders to
// ignore rules (override), impersonation or role changes (impersonation), data exfiltration
// (exfiltration), tool use (commands), secrecy from the user (secrecy), and urgency, authority or a
// hidden payload (pressure).
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

// maxText is the maximum number of bytes of a text that are scanned, half of them at the beginning
// and half at the end.
const maxText = 64 << 10

// Scan returns the families detected in a text, in alphabetical order, or nil if there are none. It
// runs in linear time.
func Scan(text string) []string {
	if len(text) > maxText {
		text = text[:maxText/2] + "\n" + text[len(text)-maxText/2:]
	}
	found := map[string]bool{}
	plain, unseen := Normal(text)
	if unseen != "" { // the text hides other text that only a model reads
		found[Pressure] = true
		matchWords(unseen, found)
	}
	matchWords(plain, found)
	findFrames(text, plain, found)
	hidden := map[string]bool{}
	for _, h := range hiddenTexts(text) {
		p, _ := Normal(h)
		matchWords(p, hidden)
		findFrames(h, p, hidden)
	}
	for _, d := range alternativeReadings(plain, text) {
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
