package desktop

import (
	"errors"
	"strings"
	"unicode"

	"hob/platform/desktop/session"
)

// Urgency is how much a note asks for attention.
type Urgency uint8

// The urgencies, with the values of the specification.
const (
	Low Urgency = iota
	Normal
	Critical // most servers keep it until it is closed
)

// Default is the key of a click on the note itself rather than on a button.
const Default = "default"

// Action is something that can be pressed. Where buttons cannot come back to
// this process (Windows) those with a URL are shown only.
type Action struct {
	Key   string // comes back in Event; Default is the note itself
	Label string
	URL   string // what the press opens, where the system opens it by itself
}

// Note is one notification. Its texts are plain: nothing in them is markup.
type Note struct {
	// ID is the caller's, and comes back in Event. A note with the id of one that
	// is still shown takes its place.
	ID      string
	Title   string
	Body    string
	Urgency Urgency
	Actions []Action
	// Transient notes are not kept in a list of past ones.
	Transient bool
}

// Event is what became of a note. Exactly one of Pressed and Closed is set.
type Event struct {
	Note    string // its ID
	Pressed string // the key of the action
	Closed  Reason
}

// Reason is why a note is not shown any more.
type Reason uint8

// The reasons; the first three have the values of the specification.
const (
	Expired   Reason = iota + 1
	Dismissed        // by the user
	Withdrawn        // by us
	Gone             // nobody knows: the server or the session ended
)

// Server is what shows the notes.
type Server struct {
	Name string
	// Actions: buttons are shown, and presses come back.
	Actions bool
	// Sure: an error-free Notify means that the note was taken to be shown.
	Sure bool
}

// The errors of a Notifier. Their text names the remedy.
var (
	// ErrNoSession: this process has no desktop, or none yet.
	ErrNoSession = session.ErrNone
	// ErrNoServer: there is a session, and nothing in it that shows notes.
	ErrNoServer = errors.New("nothing shows notifications in this session")
	// ErrRefused: the server does not take this note, now or ever.
	ErrRefused = errors.New("the notification server does not take this")
	// ErrUnsure: the note may have been shown all the same.
	ErrUnsure = errors.New("whether the notification was shown is not known")
)

// clean makes a text safe to hand to another program: valid UTF-8 (a bus closes
// the connection of whoever sends other bytes), no control characters, and none
// that turn the direction of what follows. Lines stay.
func clean(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r >= 0xE0000 && r <= 0xE007F:
			return '\uFFFD'
		}
		return r
	}, s)
	if most > 0 {
		n := 0
		for i := range s {
			if n == most-1 && len([]rune(s[i:])) > 1 {
				return s[:i] + "…"
			}
			n++
		}
	}
	return s
}

// Bounds of what is handed over; callers cut earlier, where they can say so.
const (
	maxTitle   = 200
	maxBody    = 4000
	maxLabel   = 60
	maxActions = 4
)

// cleaned is the note as it may be handed over.
func (n Note) cleaned() Note {
	n.Title = strings.Join(strings.Fields(clean(n.Title, maxTitle)), " ")
	n.Body = clean(n.Body, maxBody)
	actions := make([]Action, 0, len(n.Actions))
	for _, a := range n.Actions {
		if a.Key != "" && len(actions) < maxActions {
			a.Label = clean(a.Label, maxLabel)
			actions = append(actions, a)
		}
	}
	n.Actions = actions
	n.Urgency = min(n.Urgency, Critical)
	return n
}

// escapeMarkup keeps a text from being read as the markup of the specification.
func escapeMarkup(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
