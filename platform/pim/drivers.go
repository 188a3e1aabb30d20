package pim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// What a driver may be: the five interfaces below. A driver stands for one
// account, or for one program on this machine; each interface is implemented only
// by those that have such a thing. Methods may be called concurrently.
//
// Reading: an empty list without an error means that there is nothing. What could
// be read in part comes with a *PartialError.
//
// Writing: an error means that nothing was changed. A Receipt says what became of
// it otherwise; what is Uncertain is never tried again by anybody but the owner.

// Outcome is what became of a write.
type Outcome string

// The outcomes. Failed is never in a Receipt: that is an error.
const (
	Sent      Outcome = "sent"      // done, and it was seen to be done
	Pending   Outcome = "pending"   // taken over by a program that does it later
	Uncertain Outcome = "uncertain" // it may have happened
	Failed    Outcome = "failed"
)

// Receipt is what a write left behind.
type Receipt struct {
	Outcome Outcome
	// ID names what was made or changed, for the driver's other methods. "" when it
	// cannot be named.
	ID string
	// Why says in a few words what is uncertain or pending, or what else the owner
	// should know: "it is not in the folder of sent mails".
	Why string
	// Undo is for TakeBack, nil when there is no way back.
	Undo []byte
}

// LastOne is Why when what comes again was done for the last time.
const LastOne = "it was the last occurrence"

// Known is the error of taking something back that left a receipt: nil unless nobody
// knows what became of it.
func (r Receipt) Known() error {
	if r.Outcome == Uncertain {
		return fmt.Errorf("undo: outcome unknown: %s; check the item before you retry", r.Why)
	}
	return nil
}

// Further errors that a caller can act on.
var (
	// ErrNotFound: there is nothing of that name.
	ErrNotFound = errors.New("not found")
	// ErrChanged: it changed meanwhile, and nothing was written.
	ErrChanged = errors.New("it changed in the meantime")
	// ErrInvalid: it cannot be written like that.
	ErrInvalid = errors.New("invalid content")
)

// PartialError says that what was returned is not all.
type PartialError struct{ Warnings []string }

// Error implements error.
func (e *PartialError) Error() string { return strings.Join(e.Warnings, "; ") }

// Partial makes a PartialError, nil of no warnings.
func Partial(warnings ...string) error {
	if len(warnings) == 0 {
		return nil
	}
	return &PartialError{warnings}
}

// Span is what to look at: what lies in [From, To), seen from Zone, in which
// days begin and times without a zone are meant.
type Span struct {
	From, To time.Time
	Zone     *time.Location
}

// Driver is common to all.
type Driver interface {
	// Name is what the owner calls it: the account's name, or "apple", "outlook".
	Name() string
}

// TakeBacker takes a write back.
type TakeBacker interface {
	// TakeBack gets the Undo of a Receipt. ErrChanged: something newer would be lost,
	// and nothing was done.
	TakeBack(ctx context.Context, undo []byte) error
}

// MailQuery says which mails to find; the zero value is the newest of the inbox.
type MailQuery struct {
	Folder        string // "" the inbox; sent, drafts, archive, junk, trash or a name
	Unseen        bool
	Flagged       bool
	Since, Before time.Time
	From, Subject string // words in these
	Text          string // words anywhere
	Limit         int    // 1 to 50, 0 is 10
}

// Mailer is a mailbox.
type Mailer interface {
	Driver
	TakeBacker
	// From is who a mail is from, zero when the driver decides.
	From() Person
	// FindMail returns the heads of mails, the newest first; their Ref is set.
	FindMail(ctx context.Context, q MailQuery) ([]Message, error)
	// ReadMail returns one mail with its text, at most 100,000 characters of it. It
	// stays unread.
	ReadMail(ctx context.Context, ref string) (Message, error)
	// SendMail sends. Two calls with letters of the same ID are one mail to who can
	// tell.
	SendMail(ctx context.Context, l Letter) (Receipt, error)
	// DraftMail keeps a letter among the drafts.
	DraftMail(ctx context.Context, l Letter) (Receipt, error)
	// MoveMail moves to a folder: archive, trash, inbox, junk or a name.
	MoveMail(ctx context.Context, ref, folder string) (Receipt, error)
}

// Letter is a mail to be written. Check it before it is shown to anybody.
type Letter struct {
	ID          string // Message-ID without its brackets; "" lets the driver choose
	To, Cc, Bcc []Person
	Subject     string
	Text        string
	// Answers is the mail that is answered, "" none: its Message-ID, and those that
	// it refers to, the oldest first.
	Answers    string
	References []string
	Files      []Attachment
	Date       time.Time
	// Invite is iCalendar data with a METHOD that goes along (RFC 6047), "" none.
	Invite string
}

// Attachment is a file that goes with a letter.
type Attachment struct {
	Name string
	Data []byte
}

// Calendars are the calendars of one place.
type Calendars interface {
	Driver
	TakeBacker
	ListCalendars(ctx context.Context) ([]Calendar, error)
	// FindEvents returns the occurrences in the span, in order; their Ref is set.
	FindEvents(ctx context.Context, s Span) ([]Event, error)
	// CreateEvent makes an event in the calendar of that name or path ("": the usual
	// one). Guests are written into it: a
	// server or program that invites by itself does.
	CreateEvent(ctx context.Context, calendar string, e NewEvent) (Receipt, error)
	// ChangeEvent changes an event as FindEvents returned it: with whole all of its
	// occurrences, else that one.
	ChangeEvent(ctx context.Context, e Event, c EventChange, whole bool) (Receipt, error)
	DeleteEvent(ctx context.Context, e Event, whole bool) (Receipt, error)
}

// NewEvent is an event to be made.
type NewEvent struct {
	UID                 string // "" lets the driver choose
	Title, Place, Notes string
	Start, End          time.Time // End is after Start; of a whole day, midnights
	AllDay              bool
	Rule                string   // RRULE without its name, "" once
	Alarm               *Alarm   // nil none
	Guests              []Person // see CreateEvent
}

// Alarm is how long before an event its owner is told.
type Alarm struct{ Before time.Duration }

// EventChange is what becomes different; nil stays.
type EventChange struct {
	Title, Place, Notes *string
	Start, End          *time.Time
}

// Answer is what a guest says to an invitation (RFC 5545, 3.2.12).
type Answer string

// The answers.
const (
	Accepted  Answer = "ACCEPTED"
	Declined  Answer = "DECLINED"
	Tentative Answer = "TENTATIVE"
)

// Scheduling are calendars that do not tell guests and organizers by themselves, or may
// not: what is to be mailed to them is had here (iTIP, RFC 5546).
type Scheduling interface {
	Calendars
	// Schedules reports whether the server tells people itself.
	Schedules(ctx context.Context) (bool, error)
	// Message is the event as a message to its guests with that method.
	Message(ctx context.Context, method string, e Event, whole bool) (string, error)
	// AnswerEvent notes the owner's answer to an invitation, and returns it as a message
	// to who invited.
	AnswerEvent(ctx context.Context, e Event, a Answer, comment string, whole bool) (r Receipt, message string, err error)
}

// Reminder is something to do in a list of the owner's: a to-do of a CalDAV
// server, an entry of the Reminders app, a task of Outlook.
type Reminder struct {
	Ref    string    `json:"ref"`
	Title  string    `json:"title"`
	Notes  string    `json:"notes,omitempty"`
	Due    time.Time `json:"due,omitzero"`
	AllDay bool      `json:"all_day,omitempty"` // the day of Due is meant
	Done   bool      `json:"done,omitempty"`
	List   string    `json:"list,omitempty"`
	Repeat bool      `json:"repeat,omitempty"` // it comes again when it is done
	// Priority is 1, the highest, to 9 (RFC 5545, 3.8.1.9); 0 none.
	Priority int `json:"priority,omitempty"`
	// UID is what a new one is called where it is kept; "" lets the driver choose. A
	// second one of that name is not made by who can tell.
	UID string `json:"-"`
	// ListID names the list to its driver, whatever the owner calls it; "" where it has
	// no other name. Shared: the driver knows that others write there too.
	ListID string `json:"-"`
	Shared bool   `json:"-"`
}

// Reminders are the owner's lists of things to do.
type Reminders interface {
	Driver
	TakeBacker
	// FindReminders returns the open ones, or with done all, at most 1,000, those
	// that are due first.
	FindReminders(ctx context.Context, done bool) ([]Reminder, error)
	// CreateReminder adds one to the list of that name ("": the usual one).
	CreateReminder(ctx context.Context, r Reminder) (Receipt, error)
	CompleteReminder(ctx context.Context, ref string) (Receipt, error)
}

// Lists are Reminders with lists of the owner's own making, each by its name.
type Lists interface {
	Reminders
	// FindInList is FindReminders in the lists of that name, whatever their case.
	// ErrNoFolder: there is none.
	FindInList(ctx context.Context, list string, done bool) ([]Reminder, error)
}

// Note is one of the owner's notes.
type Note struct {
	Ref     string    `json:"ref"`
	Title   string    `json:"title"`
	Text    string    `json:"text,omitempty"` // its beginning in a list
	Cut     bool      `json:"cut,omitempty"`
	Changed time.Time `json:"changed"`
	Folder  string    `json:"folder,omitempty"`
	// FolderID and Shared are as in Reminder.
	FolderID string `json:"-"`
	Shared   bool   `json:"-"`
}

// Notes are the owner's notes.
type Notes interface {
	Driver
	TakeBacker
	// FindNotes returns those that have all of the words, the newest first; with no
	// words all. At most limit.
	FindNotes(ctx context.Context, words string, limit int) ([]Note, error)
	ReadNote(ctx context.Context, ref string) (Note, error)
	CreateNote(ctx context.Context, n Note) (Receipt, error)
}

// Folders are Notes with folders of the owner's own making, each by its name.
type Folders interface {
	Notes
	// FindInFolder is FindNotes in the folder of that name alone. ErrNoFolder: there is
	// none.
	FindInFolder(ctx context.Context, folder, words string, limit int) ([]Note, error)
}

// Contact is somebody in an address book.
type Contact struct {
	Ref       string   `json:"ref"`
	Name      string   `json:"name"`
	Company   string   `json:"company,omitempty"`
	Addresses []string `json:"addresses,omitempty"` // of mail, lower case
	Phones    []string `json:"phones,omitempty"`
	Birthday  string   `json:"birthday,omitempty"` // 1990-12-31 or --12-31
	Notes     string   `json:"notes,omitempty"`
}

// Contacts is an address book.
type Contacts interface {
	Driver
	// FindContacts returns those in whose names, companies, addresses or numbers all
	// words are found; at most limit.
	FindContacts(ctx context.Context, words string, limit int) ([]Contact, error)
}

// The bounds of a letter.
const (
	MaxRecipients = 20
	MaxLetter     = 100_000  // characters of its text
	MaxFiles      = 10       //
	MaxFileBytes  = 18 << 20 // of all its files; servers take some 25 MB encoded
	maxHeadText   = 300      // characters of a subject
)

// Everybody is who a letter reaches.
func (l Letter) Everybody() []Person {
	return append(append(append([]Person{}, l.To...), l.Cc...), l.Bcc...)
}

// Check reports why a letter cannot be written as it stands: nothing in a header
// may end its line, and nobody is reached whom the owner is not shown.
func (l Letter) Check() error {
	all := l.Everybody()
	for _, p := range all {
		if err := CheckPerson(p); err != nil {
			return err
		}
	}
	size := 0
	for _, f := range l.Files {
		size += len(f.Data)
		if f.Name == "" || bends(f.Name) || strings.ContainsAny(f.Name, `/\`) {
			return fmt.Errorf("%w: a file name contains invalid characters", ErrInvalid)
		}
	}
	for _, id := range append([]string{l.ID, l.Answers}, l.References...) {
		if id != "" && !GoodID(id) {
			return fmt.Errorf("%w: the Message-ID contains invalid characters", ErrInvalid)
		}
	}
	switch {
	case len(all) > MaxRecipients:
		return fmt.Errorf("%w: %d recipients; at most %d are allowed", ErrInvalid, len(all), MaxRecipients)
	case bends(l.Subject):
		return fmt.Errorf("%w: the subject contains a line break or an invisible character", ErrInvalid)
	case len([]rune(l.Subject)) > maxHeadText:
		return fmt.Errorf("%w: the subject is longer than %d characters", ErrInvalid, maxHeadText)
	case len([]rune(l.Text)) > MaxLetter:
		return fmt.Errorf("%w: the text is longer than %d characters", ErrInvalid, MaxLetter)
	case len(l.Files) > MaxFiles || size > MaxFileBytes:
		return fmt.Errorf("%w: too many or too large attachments; at most %d files with a total of %d MB", ErrInvalid, MaxFiles, MaxFileBytes>>20)
	}
	return nil
}

// GoodID reports whether the name of a mail (its Message-ID without brackets) can
// stand in a header.
func GoodID(id string) bool {
	return id != "" && !strings.ContainsAny(id, "<> ") && !bends(id) && len(id) <= 900
}

// Seen is a text without what cannot be seen or bends it, for a header.
func Seen(s string) string {
	return strings.Map(func(r rune) rune {
		if bends(string(r)) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// CheckPerson reports why an address cannot be written to.
func CheckPerson(p Person) error {
	local, host, ok := strings.Cut(p.Address, "@")
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),:;<>@[\]`, r) }
	if !ok || local == "" || len(p.Address) > 254 || strings.ContainsFunc(local, odd) || !validHost(host) || !strings.Contains(host, ".") && !ThisMachine(host) {
		return fmt.Errorf("%w: %q is not an email address", ErrInvalid, Line(p.Address, 100))
	}
	if bends(p.Name) || len([]rune(p.Name)) > 120 {
		return fmt.Errorf("%w: the name of %s contains invalid characters", ErrInvalid, p.Address)
	}
	return nil
}

// bends reports characters that end a line, cannot be seen, or turn the direction
// of writing.
func bends(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfeff || r == 0x200b
	})
}
