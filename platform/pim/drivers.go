package pim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/sorting"
)

// A driver represents one account or one local program. It implements those of the five interfaces
// below that its account or program supports. Methods may be called concurrently.
//
// Reading: an empty list without an error means that nothing was found. For a partial result the
// error is a *PartialError.
//
// Writing: an error means that nothing changed. Otherwise the Receipt contains the outcome. Only
// the user may retry an Uncertain write.

// Outcome is the result of a write.
type Outcome string

// The outcomes. A Receipt never contains Failed, because a failed write returns an error.
const (
	Sent      Outcome = "sent"      // done, and the result was verified
	Pending   Outcome = "pending"   // a program will complete the write later
	Uncertain Outcome = "uncertain" // the write may have happened
	Failed    Outcome = "failed"
)

// Receipt describes a completed write.
type Receipt struct {
	Outcome Outcome
	// ID identifies the created or changed item in calls of the driver's other methods. It is "" if
	// there is no identifier.
	ID string
	// Why explains an uncertain or pending outcome, or contains another note for the user, such as
	// "not in the sent folder".
	Why string
	// Undo is the data for TakeBack. It is nil if the write cannot be undone.
	Undo []byte
}

// LastOne is the value of Why after the last occurrence was completed.
const LastOne = "it was the last occurrence"

// Known returns the error for the receipt of an undo: nil unless the outcome is unknown.
func (r Receipt) Known() error {
	if r.Outcome == Uncertain {
		return fmt.Errorf("undo: outcome unknown: %s; check the item before you retry", r.Why)
	}
	return nil
}

// Further errors that a caller can handle.
var (
	// ErrNotFound means that no item has the reference.
	ErrNotFound = errors.New("not found")
	// ErrChanged means that the item changed in the meantime. Nothing was written.
	ErrChanged = errors.New("the item changed in the meantime")
	// ErrInvalid means that the content cannot be written in this form.
	ErrInvalid = errors.New("invalid content")
)

// PartialError reports an incomplete result.
type PartialError struct{ Warnings []string }

// Error implements error.
func (e *PartialError) Error() string { return strings.Join(e.Warnings, "; ") }

// Partial returns a PartialError, or nil without warnings.
func Partial(warnings ...string) error {
	if len(warnings) == 0 {
		return nil
	}
	return &PartialError{warnings}
}

// TimeRange is the time range [From, To). Zone determines when days begin and how times without a
// zone are interpreted.
type TimeRange struct {
	From, To time.Time
	Zone     *time.Location
}

// Driver contains the methods that all drivers have.
type Driver interface {
	// Name returns the name that users give to the driver: the account's name, "apple" or
	// "outlook".
	Name() string
}

// Undoer undoes a write.
type Undoer interface {
	// TakeBack undoes the write with the given Undo data of a Receipt. If it would overwrite a
	// newer change, it changes nothing and returns ErrChanged.
	TakeBack(ctx context.Context, undo []byte) error
}

// MailQuery selects messages. The zero value selects the newest messages of the inbox.
type MailQuery struct {
	Folder        string // "" selects the inbox; sent, drafts, archive, junk, trash or a name
	Unseen        bool
	Flagged       bool
	Since, Before time.Time
	From, Subject string // words in these header fields
	Text          string // words anywhere
	Limit         int    // 1 to 50; 0 means 10
}

// Mailer is a mailbox.
type Mailer interface {
	Driver
	Undoer
	// From returns the sender of new messages. If it is zero, the driver chooses the sender.
	From() Person
	// FindMail returns the headers of messages, newest first. Their Ref is set.
	FindMail(ctx context.Context, q MailQuery) ([]Message, error)
	// ReadMail returns one message with at most 100,000 characters of its text. The message stays
	// unread.
	ReadMail(ctx context.Context, ref string) (Message, error)
	// SendMail sends a message. If possible, drivers treat two calls with the same ID as one
	// message.
	SendMail(ctx context.Context, l OutgoingMail) (Receipt, error)
	// DraftMail stores a message as a draft.
	DraftMail(ctx context.Context, l OutgoingMail) (Receipt, error)
	// MoveMail moves a message to a folder: archive, trash, inbox, junk or a name.
	MoveMail(ctx context.Context, ref, folder string) (Receipt, error)
}

// OutgoingMail is an email message to be sent. Call Check before it is shown to the user.
type OutgoingMail struct {
	ID          string // Message-ID without its brackets; if it is "", the driver chooses one
	To, Cc, Bcc []Person
	Subject     string
	Text        string
	// HTML is the text as HTML; "" for none. Only a PartReader supports it.
	HTML string
	// Answers lists the Message-IDs of the answered message and of its references, oldest first. It
	// is empty for a new message.
	Answers    string
	References []string
	Files      []Attachment
	Date       time.Time
	// Auto is the keyword of Auto-Submitted (RFC 3834), such as "auto-replied"; "" for a message that a
	// person sends. Only an AutoMarker supports it.
	Auto string
	// Invite is iCalendar data with a METHOD (RFC 6047) that is attached; "" for none.
	Invite string
	// SendHooks are called by a LateCommitter.
	SendHooks
}

// SendHooks are called while a message is sent that cannot be recalled. A nil function does
// nothing. If Reserve or Commit returns an error, nothing is sent.
type SendHooks struct {
	// Reserve is called before the transfer starts. It may wait for another send.
	Reserve func() error `json:"-"`
	// Commit is called right before the first request that may reach another person.
	Commit func() error `json:"-"`
	// Accepted is called when it is certain that everything was sent, before slower work such as
	// saving a copy in the folder of sent emails.
	Accepted func() `json:"-"`
}

// WithDefaults replaces nil functions.
func (h SendHooks) WithDefaults() SendHooks {
	if h.Reserve == nil {
		h.Reserve = func() error { return nil }
	}
	if h.Commit == nil {
		h.Commit = func() error { return nil }
	}
	if h.Accepted == nil {
		h.Accepted = func() {}
	}
	return h
}

// LateCommitter is implemented by mailers that call the SendHooks, and that can find out whether
// they sent an email.
type LateCommitter interface {
	Mailer
	// WasSent reports whether the message with this Message-ID is in the folder for sent messages.
	// False does not prove that the message was not sent.
	WasSent(ctx context.Context, id string) (bool, error)
}

// PartReader is implemented by mailers that can read the attached files of a message.
type PartReader interface {
	Mailer
	// ReadParts decodes the parts of a message for which want is true, in order. want gets them
	// without their data. ErrTooLarge means that one of them has more than limit bytes.
	ReadParts(ctx context.Context, ref string, limit int64, want func(MailPart) bool) ([]MailPart, error)
}

// MailPart is a part of a message: its text, an attached file, or an invitation. Name and Kind are
// claims of the sender.
type MailPart struct {
	Name     string // name of the file; "" if it has none
	Kind     string // media type, such as "text/calendar"
	Method   string // method of an invitation (RFC 6047), such as "REQUEST"
	Attached bool   // the part is a file
	Data     []byte // HTML text is UTF-8
}

// AutoMarker is a Mailer that can mark a message as automatic (see OutgoingMail.Auto).
type AutoMarker interface {
	Mailer
	// MarksAuto does nothing. It tells the drivers apart.
	MarksAuto()
}

// Attachment is a file attached to a message.
type Attachment struct {
	Name string
	Data []byte
}

// Calendars are the calendars of one account or program.
type Calendars interface {
	Driver
	Undoer
	ListCalendars(ctx context.Context) ([]Calendar, error)
	// FindEvents returns the occurrences in the range, in order. Their Ref is set.
	FindEvents(ctx context.Context, s TimeRange) ([]Event, error)
	// CreateEvent creates an event in the calendar with the given name or path; "" selects the
	// default. Guests are added to the event. They get an invitation only if the server or program
	// itself sends one.
	CreateEvent(ctx context.Context, calendar string, e NewEvent) (Receipt, error)
	// ChangeEvent changes an event that FindEvents returned: all occurrences if whole is set,
	// otherwise only the occurrence e.
	ChangeEvent(ctx context.Context, e Event, c EventChange, whole bool) (Receipt, error)
	DeleteEvent(ctx context.Context, e Event, whole bool) (Receipt, error)
}

// EventReader is a calendar that can only be read, such as a subscription.
type EventReader interface {
	Driver
	// FindEvents returns the occurrences in the range, in order.
	FindEvents(ctx context.Context, s TimeRange) ([]Event, error)
}

// NewEvent is an event to be created.
type NewEvent struct {
	UID                 string // "" lets the driver choose
	Title, Place, Notes string
	Start, End          time.Time // End is after Start; for an all-day event, both are at midnight
	AllDay              bool
	Rule                string   // RRULE without its name; "" if the event does not recur
	Alarm               *Alarm   // nil for none
	Guests              []Person // see CreateEvent
}

// Alarm is a reminder some time before an event.
type Alarm struct{ Before time.Duration }

// EventChange contains the changed fields. A nil field is not changed.
type EventChange struct {
	Title, Place, Notes *string
	Start, End          *time.Time
}

// Answer is a guest's response to an invitation (RFC 5545, 3.2.12).
type Answer string

// The answers.
const (
	Accepted  Answer = "ACCEPTED"
	Declined  Answer = "DECLINED"
	Tentative Answer = "TENTATIVE"
)

// Scheduling is implemented by calendars that do not, or may not, notify guests and organizers
// themselves. It returns the messages to email (iTIP, RFC 5546).
type Scheduling interface {
	Calendars
	// Schedules reports whether the server notifies guests itself.
	Schedules(ctx context.Context) (bool, error)
	// Message returns the event as a message to its guests with the given method.
	Message(ctx context.Context, method string, e Event, whole bool) (string, error)
	// AnswerEvent records the user's answer to an invitation and returns it as a
	// message to the organizer.
	AnswerEvent(ctx context.Context, e Event, a Answer, comment string, whole bool) (r Receipt, message string, err error)
}

// Reminder is an item of one of the user's lists: a to-do of a CalDAV server, an entry of the
// Reminders app, or a task of Outlook.
type Reminder struct {
	Ref    string    `json:"ref"`
	Title  string    `json:"title"`
	Notes  string    `json:"notes,omitempty"`
	Due    time.Time `json:"due,omitzero"`
	AllDay bool      `json:"all_day,omitempty"` // Due is a date without a time
	Done   bool      `json:"done,omitempty"`
	List   string    `json:"list,omitempty"`
	Repeat bool      `json:"repeat,omitempty"` // the item recurs after it is done
	// Priority is 1 (highest) to 9 (RFC 5545, 3.8.1.9), or 0 for none.
	Priority int `json:"priority,omitempty"`
	// UID is the identifier of a new task in its store. If it is "", the driver chooses one.
	// Drivers that can detect a duplicate do not create a second task with the same UID.
	UID string `json:"-"`
	// ListID identifies the list to its driver, independently of its title. It is "" if the driver
	// knows only titles. Shared is true if the driver knows that other people can write to the
	// list.
	ListID string `json:"-"`
	Shared bool   `json:"-"`
}

// Reminders is implemented by task lists.
type Reminders interface {
	Driver
	Undoer
	// FindReminders returns the open tasks, or all if done is set: at most 1,000,
	// earliest due first.
	FindReminders(ctx context.Context, done bool) ([]Reminder, error)
	// CreateReminder creates a reminder in the list with the name in r.List; "" selects the default
	// list.
	CreateReminder(ctx context.Context, r Reminder) (Receipt, error)
	CompleteReminder(ctx context.Context, ref string) (Receipt, error)
}

// Lists is implemented by Reminders whose lists can be selected by name.
type Lists interface {
	Reminders
	// FindInList works like FindReminders, for the lists with the given name, ignoring case.
	// ErrNoFolder means that there is no such list.
	FindInList(ctx context.Context, list string, done bool) ([]Reminder, error)
}

// Note is one of the user's notes.
type Note struct {
	Ref     string    `json:"ref"`
	Title   string    `json:"title"`
	Text    string    `json:"text,omitempty"` // only the beginning if the note is in a list
	Cut     bool      `json:"cut,omitempty"`
	Changed time.Time `json:"changed"`
	Folder  string    `json:"folder,omitempty"`
	// FolderID and Shared have the same meaning as in Reminder.
	FolderID string `json:"-"`
	Shared   bool   `json:"-"`
}

// Notes is implemented by note stores.
type Notes interface {
	Driver
	Undoer
	// FindNotes returns at most limit notes that contain all words, newest first;
	// without words, all notes.
	FindNotes(ctx context.Context, words string, limit int) ([]Note, error)
	ReadNote(ctx context.Context, ref string) (Note, error)
	CreateNote(ctx context.Context, n Note) (Receipt, error)
}

// Folders is implemented by Notes whose folders can be selected by name.
type Folders interface {
	Notes
	// FindInFolder works like FindNotes, for one folder. ErrNoFolder means that there is no such
	// folder.
	FindInFolder(ctx context.Context, folder, words string, limit int) ([]Note, error)
}

// Contact is an entry of an address book.
type Contact struct {
	Ref       string   `json:"ref"`
	Name      string   `json:"name"`
	Company   string   `json:"company,omitempty"`
	Addresses []string `json:"addresses,omitempty"` // email addresses in lower case
	Phones    []string `json:"phones,omitempty"`
	Birthday  string   `json:"birthday,omitempty"` // 1990-12-31 or --12-31
	Notes     string   `json:"notes,omitempty"`
}

// Contacts is an address book.
type Contacts interface {
	Driver
	// FindContacts returns at most limit contacts whose names, companies, addresses or numbers
	// contain all words.
	FindContacts(ctx context.Context, words string, limit int) ([]Contact, error)
}

// Limits of an outgoing message.
const (
	MaxRecipients = 20
	MaxLetter     = 100_000  // maximum characters of the text
	MaxFiles      = 10       //
	MaxFileBytes  = 18 << 20 // total size of all files; servers accept about 25 MB encoded
	maxHeadText   = 300      // characters of a subject
)

// Recipients returns all recipients of the message.
func (l OutgoingMail) Recipients() []Person {
	return append(append(append([]Person{}, l.To...), l.Cc...), l.Bcc...)
}

// Check returns the reason why a message must not be written: header values must not contain line
// breaks, and all recipients must be visible to the user.
func (l OutgoingMail) Check() error {
	all := l.Recipients()
	for _, p := range all {
		if err := CheckPerson(p); err != nil {
			return err
		}
	}
	size := len(l.HTML)
	for _, f := range l.Files {
		size += len(f.Data)
		if f.Name == "" || hasUnsafeRunes(f.Name) || strings.ContainsAny(f.Name, `/\`) {
			return fmt.Errorf("%w: the file name %q contains invalid characters", ErrInvalid, SanitizeLine(f.Name, 100))
		}
	}
	for _, id := range append([]string{l.ID, l.Answers}, l.References...) {
		if id != "" && !ValidMessageID(id) {
			return fmt.Errorf("%w: the Message-ID %q contains invalid characters", ErrInvalid, SanitizeLine(id, 100))
		}
	}
	switch {
	case len(all) > MaxRecipients:
		return fmt.Errorf("%w: %d recipients; at most %d are allowed", ErrInvalid, len(all), MaxRecipients)
	case hasUnsafeRunes(l.Subject):
		return fmt.Errorf("%w: the subject contains a line break or an invisible character", ErrInvalid)
	case len([]rune(l.Subject)) > maxHeadText:
		return fmt.Errorf("%w: the subject is longer than %d characters", ErrInvalid, maxHeadText)
	case len([]rune(l.Text)) > MaxLetter:
		return fmt.Errorf("%w: the text is longer than %d characters", ErrInvalid, MaxLetter)
	case len(l.Files) > MaxFiles || size > MaxFileBytes:
		return fmt.Errorf("%w: too many or too large attachments; attach at most %d files with a total of %d MB", ErrInvalid, MaxFiles, MaxFileBytes>>20)
	}
	return nil
}

// ValidMessageID reports whether a Message-ID without brackets is safe in a header.
func ValidMessageID(id string) bool {
	return id != "" && !strings.ContainsAny(id, "<> ") && !hasUnsafeRunes(id) && len(id) <= 900
}

// StripInvisible removes invisible and bidi characters from the text of a header field.
func StripInvisible(s string) string {
	return strings.Map(func(r rune) rune {
		if hasUnsafeRunes(string(r)) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// CheckPerson returns the reason why no message can be sent to an address.
func CheckPerson(p Person) error {
	local, host, ok := strings.Cut(p.Address, "@")
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),:;<>@[\]`, r) }
	if !ok || local == "" || len(p.Address) > 254 || strings.ContainsFunc(local, odd) || !validHost(host) || !strings.Contains(host, ".") && !ThisMachine(host) {
		return fmt.Errorf("%w: %q is not an email address", ErrInvalid, SanitizeLine(p.Address, 100))
	}
	if hasUnsafeRunes(p.Name) {
		return fmt.Errorf("%w: the name of %s contains a line break or an invisible character", ErrInvalid, p.Address)
	}
	if len([]rune(p.Name)) > 120 {
		return fmt.Errorf("%w: the name of %s is longer than 120 characters", ErrInvalid, p.Address)
	}
	return nil
}

// hasUnsafeRunes reports whether s contains characters that end a line, are invisible, or change
// the text direction.
func hasUnsafeRunes(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfeff || r == 0x200b
	})
}

// ByDue sorts reminders by due time. Those without a due time come last. A date without a time is
// sorted by its start.
func ByDue(list []Reminder) { sorting.StableByFunc(list, CompareDue) }

// CompareDue compares two reminders in the order of ByDue.
func CompareDue(a, b Reminder) int {
	if a.Due.IsZero() != b.Due.IsZero() {
		return cmp.Compare(b.Due.Unix(), a.Due.Unix()) // the zero time would be the smallest
	}
	return a.Due.Compare(b.Due)
}

// Overdue reports whether a reminder should have been completed before now.
func (r Reminder) Overdue(now time.Time) bool {
	switch {
	case r.Done || r.Due.IsZero():
		return false
	case r.AllDay:
		return !r.Due.AddDate(0, 0, 1).After(now)
	}
	return r.Due.Before(now)
}
