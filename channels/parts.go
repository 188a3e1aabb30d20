package channels

import "strings"

// TextOrigin says how a part of a message came about.
type TextOrigin string

// The origins. Every other value counts as untrusted.
const (
	Typed    TextOrigin = "typed"  // the user typed or spoke it, or vouched for it
	Pasted   TextOrigin = "pasted" // it came from the clipboard
	Piped    TextOrigin = "piped"  // it came from standard input
	FromFile TextOrigin = "file"   // it is the content of a file
)

// MaxTyped is the longest paste, in characters, that a client that detects pastes may
// send as typed text.
const MaxTyped = 400

// TextPart is one part of a message's text.
type TextPart struct {
	Text   string     `json:"text"`
	Origin TextOrigin `json:"origin"`
	Name   string     `json:"name,omitempty"` // a label of the client's choice, such as a file name
}

// TextSource says where an untrusted text of a message came from.
type TextSource struct {
	Origin TextOrigin `json:"origin"`
	Name   string     `json:"name,omitempty"`
}

// SetParts replaces the text of the message by parts. Typed parts become Text, one below
// the other. Every other part becomes an untrusted text of its own, so that no rule that
// looks at the user's words finds it there.
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
