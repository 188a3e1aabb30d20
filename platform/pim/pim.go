// Package pim defines the types of mail, calendars, tasks, notes and contacts for all drivers:
// Account and how to connect to its servers, Message, Event and Calendar. Subpackages implement the
// protocols of an account: imapmail (IMAP), smtpmail (SMTP), and caldav (CalDAV and CardDAV).
//
// Data from servers and senders is untrusted: texts are bounded and stripped of terminal control
// characters. Connections go only to the configured hosts, always over TLS with a verified
// certificate; a CalDAV server on this machine may be unencrypted.
package pim

import (
	"errors"
	"strings"
	"time"

	"hob/platform/text/textnorm"
)

// Errors that a caller can handle; returned errors wrap them.
var (
	// ErrSignIn: the server rejects the credentials. A retry with the same password does not help.
	ErrSignIn = errors.New("the server refused the sign-in")
	// ErrNoServer: the account has no server of this kind.
	ErrNoServer = errors.New("the account has no such server")
	// ErrNoFolder: there is no such folder or calendar.
	ErrNoFolder = errors.New("no such folder")
	// ErrRefused: the server works but rejects this request.
	ErrRefused = errors.New("the server refused the request")
	// ErrTooLarge: the server sent more data than requested.
	ErrTooLarge = errors.New("the server sent more data than requested")
)

// Person is a name and an address, as a mail or an event contains them.
type Person struct {
	Name    string `json:"name,omitempty"`
	Address string `json:"address,omitempty"` // lower case
}

// The maximum lengths at which a name and an address are shown, in characters.
const (
	shownName    = 50
	shownAddress = 100
)

// String returns "Ada Lovelace <ada@example.org>". Senders choose their names, so String changes
// names that look like an address or could hide the real one.
func (p Person) String() string {
	name := textnorm.Ellipsize(strings.NewReplacer("<", "", ">", "", "@", " at ").Replace(p.Name), shownName)
	address := p.Address
	if n := []rune(address); len(n) > shownAddress { // the domain is at the end
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

// Message is one mail. All its texts are untrusted.
type Message struct {
	Ref      string    // names it to the Mailer that returned it, "" elsewhere
	UID      uint32    // in its folder, for one UIDVALIDITY
	ID       string    // Message-ID without brackets, "" if missing
	From     []Person  //
	To       []Person  // To and Cc
	ReplyTo  []Person  // reply addresses set by the sender, used instead of From
	Refers   []string  // the Message-IDs that it refers to, the oldest first
	Subject  string    // one line
	Date     time.Time // as the sender states it, zero if invalid
	Received time.Time // time reported by the server
	Size     int64     // in bytes
	Seen     bool
	Flagged  bool
	Text     string // the part of its text that was read
	Cut      bool   // whether there is more of it
	Files    []string
	Refused  string // why it could not be read, or its text; "" when it was
}

// Folder is one folder of a mailbox.
type Folder struct {
	Name string
	// Use is the folder's purpose: "" or one of archive, drafts, junk, sent,
	// trash, all.
	Use string
}

// Calendar is one calendar of an account.
type Calendar struct {
	Path  string `json:"path"` // address of the calendar on the server
	Name  string `json:"name"`
	Token string `json:"-"` // changes with the contents of the calendar; "" if the server has none
	// Shared: the server reports that other people can write to it.
	Shared bool `json:"-"`
}

// Event is one occurrence of a calendar event. All its texts are untrusted.
type Event struct {
	// Ref identifies the event to the Calendars that returned it, "" elsewhere.
	Ref string `json:"ref,omitempty"`
	// UID identifies the event and Occurrence the occurrence: its original start
	// by the rule, which does not change when the occurrence moves ("" for an
	// event that does not recur).
	UID        string    `json:"uid"`
	Occurrence string    `json:"occurrence,omitempty"`
	Title      string    `json:"title"`
	Place      string    `json:"place,omitempty"`
	Notes      string    `json:"notes,omitempty"`
	Start      time.Time `json:"start"` // in its own zone
	End        time.Time `json:"end"`
	AllDay     bool      `json:"all_day,omitempty"`
	Floating   bool      `json:"floating,omitempty"` // all day, or a time without a zone: it follows the user's time zone
	Cancelled  bool      `json:"cancelled,omitempty"`
	Open       bool      `json:"open,omitempty"` // the event leaves the time free (TRANSP:TRANSPARENT)
	Organizer  Person    `json:"organizer,omitzero"`
	Guests     []Person  `json:"guests,omitempty"`
	Calendar   string    `json:"calendar,omitempty"`
	Version    string    `json:"version,omitempty"` // changes with the server's copy
}

// BusyError carries the time before which a server asked not to be called again.
type BusyError struct {
	Until time.Time
	Err   error
}

// Error implements error.
func (e *BusyError) Error() string { return e.Err.Error() }

// Unwrap implements errors.Unwrap.
func (e *BusyError) Unwrap() error { return e.Err }
