package knowledge

import "hob/platform/terms"

// Weights are how much a word counts beside one of the text, which counts 1.
type Weights struct{ Title, Speaker int }

// TermsOf are the terms by which a row is found: the words of its text, its
// title and who said it, and the day and month of it as "2026-03-09" and
// "2026-03".
func TermsOf(d Doc, w Weights) terms.Doc {
	parts := make([]terms.Part, 1, 3)
	parts[0] = terms.Part{Text: d.Text, Weight: 1}
	if d.Title != "" && w.Title > 0 {
		parts = append(parts, terms.Part{Text: d.Title, Weight: w.Title})
	}
	if d.Speaker != "" && d.Speaker != "owner" && d.Speaker != "hob" && w.Speaker > 0 {
		parts = append(parts, terms.Part{Text: d.Speaker, Weight: w.Speaker})
	}
	t := terms.Of(parts...)
	if !d.At.IsZero() {
		for _, form := range []string{"2006-01-02", "2006-01"} {
			t.Freq[d.At.UTC().Format(form)]++
		}
	}
	return t
}
