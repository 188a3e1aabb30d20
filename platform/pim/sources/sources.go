// Package sources opens the user's mailboxes, calendars, address books, task lists and notes, from
// network accounts and from apps on this machine (macOS apps, or classic Outlook on Windows).
// Email, calendars and contacts of apps are used only if no account provides them.
package sources

import (
	"runtime"
	"slices"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/apple"
	"hob/platform/pim/markdown"
	"hob/platform/pim/netaccount"
	"hob/platform/pim/outlook"
)

// Options of Sources.
type Options struct {
	// Accounts returns the complete accounts. It may be nil.
	Accounts func() []pim.Account
	// Apps runs scripts of the apps on this machine. If it is nil, apps are not used.
	Apps osrun.Runner
	// AppsInUse reports whether the user currently uses the apps. If it is nil, the apps count as
	// used.
	AppsInUse func() bool
	// NotesFolder is a folder of Markdown files; "" if there is none.
	NotesFolder string
	// Feeds are the calendar subscriptions.
	Feeds []pim.EventReader
	// Zone returns the user's time zone.
	Zone func() *time.Location
}

// Sources opens the user's data sources on each call. It may be used concurrently.
type Sources struct{ o Options }

// New returns the sources. It opens nothing.
func New(o Options) *Sources { return &Sources{o} }

// SupportedAppsInUse reports whether the user uses the apps that Hob supports (on Windows, only
// classic Outlook). It checks the system at each call, because users may switch to other apps.
func SupportedAppsInUse() bool {
	return runtime.GOOS != "windows" || outlook.InUse()
}

// apps returns the runner for the apps, or nil if the user does not use them.
func (s *Sources) apps() osrun.Runner {
	if s.o.AppsInUse != nil && !s.o.AppsInUse() {
		return nil
	}
	return s.o.Apps
}

// WithServer returns the accounts that have a server of the given kind, such as pim.IMAP.
func (s *Sources) WithServer(server string) (out []pim.Account) {
	if s.o.Accounts == nil {
		return nil
	}
	for _, a := range s.o.Accounts() {
		if a.HasServer(server) {
			out = append(out, a)
		}
	}
	return out
}

// Mailers returns the mailboxes. Those that can send come first.
func (s *Sources) Mailers() (out []pim.Mailer) {
	accounts := s.WithServer(pim.SMTP)
	accounts = append(accounts, slices.DeleteFunc(s.WithServer(pim.IMAP), func(a pim.Account) bool { return a.HasServer(pim.SMTP) })...)
	for _, a := range accounts {
		out = append(out, netaccount.NewMail(a))
	}
	apps := s.apps()
	switch {
	case len(out) > 0 || apps == nil:
		return out
	case runtime.GOOS == "windows":
		return []pim.Mailer{outlook.NewMail(apps)}
	}
	return []pim.Mailer{apple.NewMail(apps)}
}

// Calendars returns the calendars of accounts or, if there are none, those of an app.
func (s *Sources) Calendars() (out []pim.Calendars) {
	for _, a := range s.WithServer(pim.CalDAV) {
		out = append(out, netaccount.NewCalendars(a))
	}
	if len(out) == 0 {
		out = s.AppCalendars()
	}
	return out
}

// AppCalendars returns the calendars of an app.
func (s *Sources) AppCalendars() []pim.Calendars {
	apps := s.apps()
	switch {
	case apps == nil:
		return nil
	case runtime.GOOS == "windows":
		return []pim.Calendars{outlook.NewCalendar(apps)}
	}
	return []pim.Calendars{apple.NewCalendar(apps)}
}

// Feeds returns the calendar subscriptions.
func (s *Sources) Feeds() []pim.EventReader { return s.o.Feeds }

// Contacts returns the address books of accounts or, if there are none, that of an app.
func (s *Sources) Contacts() (out []pim.Contacts) {
	for _, a := range s.WithServer(pim.CardDAV) {
		out = append(out, netaccount.NewContacts(a))
	}
	apps := s.apps()
	switch {
	case len(out) > 0 || apps == nil:
		return out
	case runtime.GOOS == "windows":
		return []pim.Contacts{outlook.NewContacts(apps)}
	}
	return []pim.Contacts{apple.NewContacts(apps)}
}

// Reminders returns the task lists of accounts and of an app.
func (s *Sources) Reminders() (out []pim.Reminders) {
	for _, a := range s.WithServer(pim.CalDAV) {
		out = append(out, netaccount.NewReminders(a, s.o.Zone()))
	}
	apps := s.apps()
	switch {
	case apps == nil:
	case runtime.GOOS == "windows":
		out = append(out, outlook.NewReminders(apps, s.o.Zone()))
	default:
		out = append(out, apple.NewReminders(apps, s.o.Zone()))
	}
	return out
}

// Notes returns the folder of notes and the notes of an app.
func (s *Sources) Notes() (out []pim.Notes) {
	if s.o.NotesFolder != "" {
		out = append(out, markdown.New(s.o.NotesFolder))
	}
	apps := s.apps()
	switch {
	case apps == nil:
	case runtime.GOOS == "windows":
		out = append(out, outlook.NewNotes(apps))
	default:
		out = append(out, apple.NewNotes(apps))
	}
	return out
}
