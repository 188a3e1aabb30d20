package knowledge

import "hob/platform/text/analyzer"

// Weights are the weights of title and speaker words, relative to 1 for a word of the text.
type Weights struct{ Title, Speaker int }

// AnalyzeDoc returns the index terms of a document: the words of its text, title and speaker, and its
// day and month as "2026-03-09" and "2026-03".
func AnalyzeDoc(d Doc, w Weights) analyzer.Doc {
	parts := make([]analyzer.Part, 1, 3)
	parts[0] = analyzer.Part{Text: d.Text, Weight: 1}
	if d.Title != "" && w.Title > 0 {
		parts = append(parts, analyzer.Part{Text: d.Title, Weight: w.Title})
	}
	if d.Speaker != "" && d.Speaker != "owner" && d.Speaker != "hob" && w.Speaker > 0 {
		parts = append(parts, analyzer.Part{Text: d.Speaker, Weight: w.Speaker})
	}
	t := analyzer.Of(parts...)
	if !d.At.IsZero() {
		for _, form := range []string{"2006-01-02", "2006-01"} {
			t.Freq[d.At.UTC().Format(form)]++
		}
	}
	return t
}
