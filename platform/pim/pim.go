// Package pim has what mail and calendars are to Hob, wherever they live: an
// Account and how its servers are reached, Message, Event and Calendar. The
// packages below it speak with the servers of an account: mailbox (IMAP), outgoing
// (SMTP), caldav.
//
// Nothing here is trusted that a server or a sender says: texts are bounded and
// freed of what controls a terminal, and a connection goes only to the hosts that
// the owner wrote down, always over TLS with a verified certificate (a CalDAV
// server on this machine may do without).
package pim

import (
	"errors"
	"strings"
	"time"

	"hob/platform/phrase"
)

// Errors that a caller can act on; what is returned wraps them.
var (
	// ErrSignIn: the server knows who asks, and says no. Asking again with the
	// same password does not help.
	ErrSignIn = errors.New("the server refused the sign-in")
	// ErrNoServer: the account has no server of this kind.
	ErrNoServer = errors.New("the account has no such server")
	// ErrNoFolder: there is no such folder or calendar.
	ErrNoFolder = errors.New("no such folder")
	// ErrRefused: the server answers, and says no to this one thing.
	ErrRefused = errors.New("the server refused the request")
	// ErrTooLarge: the server sent more than anybody asked for.
	ErrTooLarge = errors.New("the server sent more data than requested")
)

// Person is a name and an address as a mail or an event gives them.
type Person struct {
	Name    string `json:"name,omitempty"`
	Address string `json:"address,omitempty"` // lower case
}

// The longest that is shown of a name and of an address.
const (
	shownName    = 50
	shownAddress = 100
)

// String is "Ada Lovelace <ada@example.org>". A name is what somebody gives
// himself: it can neither pass for an address nor push the real one out of sight.
func (p Person) String() string {
	name := phrase.Cut(strings.NewReplacer("<", "", ">", "", "@", " at ").Replace(p.Name), shownName)
	address := p.Address
	if n := []rune(address); len(n) > shownAddress { // who it is of stands at its end
		address = string(n[:shownAddress/3]) + "…" + string(n[len(n)-shownAddress/2:])
	}
	switch {
	case name == "":
		return address
	case address == "":
		return name
	}
	return name + " <" + address + ">"
}

// Message is one mail. All texts are outside text.
type Message struct {
	Ref      string    // names it to the Mailer that returned it, "" elsewhere
	UID      uint32    // in its folder, for one UIDVALIDITY
	ID       string    // Message-ID without its brackets, "" when there is none
	From     []Person  //
	To       []Person  // To and Cc
	ReplyTo  []Person  // to whom answers go in place of From, when the sender says so
	Refers   []string  // the Message-IDs that it refers to, the oldest first
	Subject  string    // one line
	Date     time.Time // as the sender says, zero when unreadable
	Received time.Time // as the server says
	Size     int64     // in bytes
	Seen     bool
	Flagged  bool
	Text     string // what was read of its text
	Cut      bool   // whether there is more of it
	Files    []string
	Refused  string // why it could not be read, or its text; "" when it was
}

// Folder is one folder of a mailbox.
type Folder struct {
	Name string
	// Use is what it is for, "" or one of archive, drafts, junk, sent, trash, all.
	Use string
}

// Calendar is one calendar of an account.
type Calendar struct {
	Path  string `json:"path"` // its address on the server
	Name  string `json:"name"`
	Token string `json:"-"` // changes with its contents; "" when the server has none
	// Shared: the server says that others write there too, or may.
	Shared bool `json:"-"`
}

// Event is one occurrence of a calendar's event. All texts are outside text.
type Event struct {
	// Ref names it to the Calendars that returned it, "" elsewhere.
	Ref string `json:"ref,omitempty"`
	// UID names the event and Occurrence which of its occurrences it is: its
	// start as the rule has it, which a move does not change ("" for an event
	// that does not recur).
	UID        string    `json:"uid"`
	Occurrence string    `json:"occurrence,omitempty"`
	Title      string    `json:"title"`
	Place      string    `json:"place,omitempty"`
	Notes      string    `json:"notes,omitempty"`
	Start      time.Time `json:"start"` // in its own zone
	End        time.Time `json:"end"`
	AllDay     bool      `json:"all_day,omitempty"`
	Floating   bool      `json:"floating,omitempty"` // it goes where the owner goes: a whole day, or a time without a zone
	Cancelled  bool      `json:"cancelled,omitempty"`
	Open       bool      `json:"open,omitempty"` // it leaves the time free (TRANSP:TRANSPARENT)
	Organizer  Person    `json:"organizer,omitzero"`
	Guests     []Person  `json:"guests,omitempty"`
	Calendar   string    `json:"calendar,omitempty"`
	Version    string    `json:"version,omitempty"` // changes with what the server holds
}

// BusyError is a server's wish to be left alone until a time.
type BusyError struct {
	Until time.Time
	Err   error
}

// Error implements error.
func (e *BusyError) Error() string { return e.Err.Error() }

// Unwrap implements errors.Unwrap.
func (e *BusyError) Unwrap() error { return e.Err }
