package notes

import "hob/platform/pim"

// Question returns the message in a note to Hob.
func Question(title, text string) (string, bool) {
	return questionText(pim.Note{Title: title, Text: text})
}
