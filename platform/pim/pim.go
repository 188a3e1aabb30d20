// Package pim defines the types of email, calendars, tasks, notes and contacts for all drivers:
// Account and how to connect to its servers, Message, Event and Calendar. Subpackages implement the
// protocols of an account: imapmail (IMAP), smtpmail (SMTP), and caldav (CalDAV and CardDAV).
//
// Data from servers and senders is untrusted: the length of text is limited, and terminal control
// characters are removed. Connections are opened only to the configured hosts, always over TLS with
// a verified certificate. The connection to a CalDAV server on this machine may be unencrypted.
package pim

import (
	"errors"
	"slices"
	"strings"
	"time"

	"hob/platform/text/textnorm"
)

// Errors that a caller can handle; returned errors wrap them.
var (
	// ErrSignIn means that the server rejected the credentials. Retrying with the same password
	// does not help.
	ErrSignIn = errors.New("the server refused the sign-in")
	// ErrNoAccount means that the user has no account of the requested kind.
	ErrNoAccount = errors.New("no account is configured")
	// ErrNoServer means that the account has no server of this kind.
	ErrNoServer = errors.New("the account has no such server")
	// ErrNoFolder means that the folder or calendar does not exist.
	ErrNoFolder = errors.New("no such folder")
	// ErrRefused means that the server is reachable but rejected this request.
	ErrRefused = errors.New("the server refused the request")
	// ErrTooLarge means that data exceeds a limit, such as an answer longer than requested.
	ErrTooLarge = errors.New("the data exceeds a limit")
)

// Person is a name with an address, as in a message or an event.
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
	if n := []rune(address); len(n) > shownAddress { // keep the end, because it contains the domain
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

// Matches reports whether who names the person: an address ("ada@example.org"), a domain
// ("example.org" or "@example.org") or words of the name ("Ada").
func (p Person) Matches(who string) bool {
	who = strings.ToLower(strings.TrimSpace(who))
	local, domain, _ := strings.Cut(p.Address, "@")
	if !strings.ContainsAny(who, " \t") {
		if before, after, ok := strings.Cut(who, "@"); ok && before != "" {
			return p.Address == who
		} else if ok {
			return isInDomain(domain, after)
		}
		if strings.Contains(who, ".") && isInDomain(domain, who) {
			return true
		}
	}
	have := textnorm.FoldedWords(p.Name + " " + local)
	want := textnorm.FoldedWords(who)
	for _, w := range want {
		if !slices.Contains(have, w) {
			return false
		}
	}
	return len(want) > 0
}

// isInDomain reports whether domain equals of or is one of its subdomains.
func isInDomain(domain, of string) bool {
	return of != "" && (domain == of || strings.HasSuffix(domain, "."+of))
}

// Message is one email message. All its text is untrusted.
type Message struct {
	Ref      string    // identifies the message to the Mailer that returned it; "" elsewhere
	UID      uint32    // UID in the folder, valid for one UIDVALIDITY
	ID       string    // Message-ID without brackets; "" if it is missing
	From     []Person  //
	To       []Person  // To and Cc
	Cc       []Person  // those in To that get a copy
	Bcc      []Person  // recipients of blind copies, in the sender's own messages
	ReplyTo  []Person  // reply addresses set by the sender, used instead of From
	Refers   []string  // Message-IDs to which the message refers, oldest first; from References, else from In-Reply-To
	Subject  string    // one line
	Date     time.Time // date that the sender states; zero if it is invalid
	Received time.Time // time reported by the server
	Size     int64     // in bytes
	Seen     bool
	Flagged  bool
	Text     string // the part of the text that was read
	Cut      bool   // the text is longer than Text
	Files    []string
	Refused  string // reason why the message or its text could not be read; "" if it was read
	Sending
}

// Sending describes how a message was sent: its header fields about mailing lists, programs and
// importance. They are claims of the sender.
type Sending struct {
	List        string   // identifier of the mailing list in List-Id (RFC 2919)
	Unsubscribe []string // addresses in List-Unsubscribe (RFC 2369), in order
	OneClick    bool     // the sender accepts the request of RFC 8058
	Precedence  string   // in lower case: "bulk", "list", "junk"
	// Auto is the keyword of Auto-Submitted (RFC 3834) in lower case, such as "auto-replied". It is
	// "" for a message written by a person.
	Auto   string
	Urgent bool // marked as important
}

// IsBulk reports whether a message went to a mailing list or to many people.
func (s Sending) IsBulk() bool {
	return s.List != "" || len(s.Unsubscribe) > 0 || s.Precedence == "bulk" || s.Precedence == "list" || s.Precedence == "junk"
}

// Folder is a folder of a mailbox.
type Folder struct {
	Name string
	// Use is the role of the folder: "", archive, drafts, junk, sent, trash or all.
	Use string
}

// Calendar is a calendar of an account.
type Calendar struct {
	Path  string `json:"path"` // address of the calendar on the server
	Name  string `json:"name"`
	Token string `json:"-"` // changes when the contents of the calendar change; "" if the server does not provide it
	// Shared is true if the server reports that other people can write to the calendar.
	Shared bool `json:"-"`
}

// Event is one occurrence of a calendar event. All its text is untrusted.
type Event struct {
	// Ref identifies the event to the Calendars that returned it; "" elsewhere.
	Ref string `json:"ref,omitempty"`
	// UID identifies the event. Occurrence identifies the occurrence: it is its original start
	// according to the rule, which does not change when the occurrence is moved. It is "" for an
	// event that does not recur.
	UID        string    `json:"uid"`
	Occurrence string    `json:"occurrence,omitempty"`
	Title      string    `json:"title"`
	Place      string    `json:"place,omitempty"`
	Notes      string    `json:"notes,omitempty"`
	Start      time.Time `json:"start"` // start in the event's own zone
	End        time.Time `json:"end"`
	AllDay     bool      `json:"all_day,omitempty"`
	Floating   bool      `json:"floating,omitempty"` // an all-day event, or an event whose time has no zone and therefore follows the user's time zone
	Cancelled  bool      `json:"cancelled,omitempty"`
	Open       bool      `json:"open,omitempty"` // the event leaves the time free (TRANSP:TRANSPARENT)
	Organizer  Person    `json:"organizer,omitzero"`
	Guests     []Person  `json:"guests,omitempty"`
	Calendar   string    `json:"calendar,omitempty"`
	Version    string    `json:"version,omitempty"` // changes when the server's copy changes
	// Doubt states why Start and End may be wrong, such as a zone that the data defines
	// differently; "" if they are certain. Readings are the other possible starts.
	Doubt    string      `json:"doubt,omitempty"`
	Readings []time.Time `json:"-"`
}

// BusyError contains the time before which the server must not be called again.
type BusyError struct {
	Until time.Time
	Err   error
}

// Error implements error.
func (e *BusyError) Error() string { return e.Err.Error() }

// Unwrap implements errors.Unwrap.
func (e *BusyError) Unwrap() error { return e.Err }
