package knowledge

import "hob/platform/terms"

// Weights are the weights of title and speaker words, relative to 1 for a word of the text.
type Weights struct{ Title, Speaker int }

// TermsOf returns the index terms of a document: the words of its text, title and speaker, and its
// day and month as "2026-03-09" and "2026-03".
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
