package desktop

import (
	"errors"
	"strings"
	"unicode"

	"hob/platform/host/desktop/session"
)

// Urgency is the importance of a notification.
type Urgency uint8

// Urgencies, with the values of the specification.
const (
	Low Urgency = iota
	Normal
	Critical // most servers show it until it is closed
)

// Default is the key of an action that is triggered by a click on the notification itself.
const Default = "default"

// Action is a button. On Windows, where presses are not reported to this process, only buttons with
// a URL are shown.
type Action struct {
	Key   string // key that Event reports; Default means a click on the notification
	Label string
	URL   string // address that the system opens when the button is pressed
}

// Notification is the content of a notification. Its text is plain: markup in it is escaped.
type Notification struct {
	// ID is chosen by the caller and reported in Event. A new notification replaces a shown one
	// with the same ID.
	ID      string
	Title   string
	Body    string
	Urgency Urgency
	Actions []Action
	// Transient notifications are not kept in the list of past notifications.
	Transient bool
}

// Event is a user's reaction to a notification. Exactly one of Pressed and Closed is set.
type Event struct {
	Note    string // ID of the notification
	Pressed string // the key of the action
	Closed  Reason
}

// Reason is the reason why a notification is no longer shown.
type Reason uint8

// Reasons; the first three have the values of the specification.
const (
	Expired   Reason = iota + 1
	Dismissed        // the user dismissed it
	Withdrawn        // closed by Hob
	Gone             // unknown: the server or the session ended
)

// Server describes the program that shows notifications.
type Server struct {
	Name string
	// Actions is true if buttons are shown and presses are reported.
	Actions bool
	// Sure is true if a Notify without an error guarantees delivery to the server.
	Sure bool
}

// Errors of a NotificationClient. Wrapping errors name the remedy.
var (
	// ErrNoSession means that this process has no desktop, or none yet.
	ErrNoSession = session.ErrNone
	// ErrNoServer means that notifications cannot be shown, because there is no notification server
	// or the system does not let Hob use it.
	ErrNoServer = errors.New("notifications cannot be shown")
	// ErrRefused means that the server rejected the notification permanently.
	ErrRefused = errors.New("notification server rejected the notification")
	// ErrUnsure means that the notification may have been shown despite the error.
	ErrUnsure = errors.New("unknown whether the notification was shown")
)

// sanitizeText makes s safe for other programs. The result is valid UTF-8 (a bus disconnects
// senders of invalid bytes) without control characters, except line breaks and tabs, and without
// characters that change the text direction. If most is not 0, it limits the length of the result
// in characters.
func sanitizeText(s string, most int) string {
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

// Limits of a notification. A caller that can tell the user that text is missing should truncate
// the text itself.
const (
	maxTitle   = 200
	maxBody    = 4000
	maxLabel   = 60
	maxActions = 4
)

// sanitized returns a copy of the notification that complies with the limits.
func (n Notification) sanitized() Notification {
	n.Title = strings.Join(strings.Fields(sanitizeText(n.Title, maxTitle)), " ")
	n.Body = sanitizeText(n.Body, maxBody)
	actions := make([]Action, 0, len(n.Actions))
	for _, a := range n.Actions {
		if a.Key != "" && len(actions) < maxActions {
			a.Label = sanitizeText(a.Label, maxLabel)
			actions = append(actions, a)
		}
	}
	n.Actions = actions
	n.Urgency = min(n.Urgency, Critical)
	return n
}

// escapeMarkup escapes the markup that the specification defines.
func escapeMarkup(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
