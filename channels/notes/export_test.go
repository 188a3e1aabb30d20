package notes

import "hob/platform/pim"

// Question is what a note says to Hob.
func Question(title, text string) (string, bool) {
	return questionText(pim.Note{Title: title, Text: text})
}
