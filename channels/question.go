package channels

import (
	"strings"

	"hob/platform/text/markup"
)

// Markdown returns the text for the renderers in platform/text/markup. A question is shown
// literally: a model chose its arguments, and markup such as a link or a spoiler must not hide any
// of them.
func (d Delivery) Markdown() string {
	if d.Kind == Question {
		return markup.Escape(d.Text)
	}
	return d.Text
}

// splitQuestion splits a question into parts within the platform's limits, at the end of a line or
// word if possible. Nothing is omitted, and the last part ends with how to answer. Half of the
// limit is reserved for the markup that shows text literally.
func splitQuestion(text string, lim Limits) (parts []string) {
	limit := lim.MaxText / 2
	if limit <= 0 {
		return []string{text}
	}
	lim.MaxText = limit
	for Length(text, lim) > limit {
		cut := fittingBytes(text, lim)
		head := text[:cut]
		if i := strings.LastIndexByte(head, '\n'); i > cut/2 {
			cut = i + 1
		} else if i := strings.LastIndexByte(head, ' '); i > cut/2 {
			cut = i + 1
		}
		parts = append(parts, strings.TrimSuffix(text[:cut], "\n"))
		text = text[cut:]
	}
	return append(parts, text)
}

// fittingBytes returns how many bytes of text fit within the limit. It includes at least one
// character.
func fittingBytes(text string, lim Limits) int {
	n := 0
	for i, r := range text {
		size := 1
		if lim.UTF16 && r > 0xFFFF {
			size = 2
		}
		if n += size; n > lim.MaxText && i > 0 {
			return i
		}
	}
	return len(text)
}
