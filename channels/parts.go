package channels

import "strings"

// TextOrigin is the origin of a part of a message.
type TextOrigin string

// The origins. Every other value counts as untrusted.
const (
	Typed    TextOrigin = "typed"  // the user typed or spoke the text, or confirmed it as own text
	Pasted   TextOrigin = "pasted" // from the clipboard
	Piped    TextOrigin = "piped"  // from standard input
	FromFile TextOrigin = "file"   // content of a file
)

// MaxTyped is the longest paste, in characters, that a client that detects pastes may
// send as typed text.
const MaxTyped = 400

// TextPart is one part of a message's text.
type TextPart struct {
	Text   string     `json:"text"`
	Origin TextOrigin `json:"origin"`
	Name   string     `json:"name,omitempty" schema:"maxLength=200"` // a label that the client chose, such as a file name
}

// TextSource is the origin of an untrusted text of a message.
type TextSource struct {
	Origin TextOrigin `json:"origin"`
	Name   string     `json:"name,omitempty"`
}

// SetParts replaces the text of the message by parts. Typed parts become Text, one per line.
// Every other part becomes a separate untrusted text, so that no rule that reads the user's
// words finds it.
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
