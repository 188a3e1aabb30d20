package channels

import "strings"

// TextOrigin is the origin of a message part.
type TextOrigin string

// The origins. Every other value counts as untrusted.
const (
	Typed    TextOrigin = "typed"  // the user typed or spoke the text, or confirmed that they wrote it
	Pasted   TextOrigin = "pasted" // text from the clipboard
	Piped    TextOrigin = "piped"  // text from standard input
	FromFile TextOrigin = "file"   // content of a file
)

// MaxTyped is the maximum length in characters of a paste that may be sent as typed text by a
// client that detects pastes.
const MaxTyped = 400

// TextPart is one part of the text in a message.
type TextPart struct {
	Text   string     `json:"text"`
	Origin TextOrigin `json:"origin"`
	Name   string     `json:"name,omitempty" schema:"maxLength=200"` // a label chosen by the client, such as a file name
}

// TextSource is the origin of untrusted text in a message.
type TextSource struct {
	Origin TextOrigin `json:"origin"`
	Name   string     `json:"name,omitempty"`
}

// SetParts replaces the text of the message with parts. Typed parts become Text, one per line.
// Every other part becomes a separate entry of Outside, so that rules that read the user's words
// ignore it.
func (in *Inbound) SetParts(parts []TextPart) {
	var typed []string
	in.Outside, in.OutsideFrom = nil, nil
	for _, p := range parts {
		if p.Origin == Typed {
			typed = append(typed, p.Text)
			continue
		}
		in.Outside = append(in.Outside, p.Text)
		in.OutsideFrom = append(in.OutsideFrom, TextSource{Origin: p.Origin, Name: p.Name})
	}
	in.Text = strings.Join(typed, "\n")
}
