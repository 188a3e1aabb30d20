package sources

import (
	"testing"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/pim"
)

func TestSources_UsesAccountsWithTheServer(t *testing.T) {
	accounts := []pim.Account{
		{Name: "reads", Servers: pim.Servers{pim.IMAP: "imap.example:993"}},
		{Name: "sends", Servers: pim.Servers{pim.SMTP: "smtp.example:465"}},
		{Name: "both", Servers: pim.Servers{pim.IMAP: "imap.example:993", pim.SMTP: "smtp.example:465"}},
		{Name: "calendar", Servers: pim.Servers{pim.CalDAV: "https://dav.example/"}},
	}
	s := New(Options{Accounts: func() []pim.Account { return accounts }, NotesFolder: t.TempDir(), Zone: func() *time.Location { return time.UTC }})
	var names []string
	for _, a := range s.WithServer(pim.IMAP) {
		names = append(names, a.Name)
	}
	if len(names) != 2 || names[0] != "reads" || names[1] != "both" {
		t.Errorf("accounts with IMAP = %q, want reads and both", names)
	}
	if got := s.Mailers(); len(got) != 3 {
		t.Errorf("%d mailers, want 3: each account once", len(got))
	}
	if n, m := len(s.Calendars()), len(s.Reminders()); n != 1 || m != 1 {
		t.Errorf("%d calendars and %d lists, want 1 of each", n, m)
	}
	if n, m := len(s.Contacts()), len(s.Notes()); n != 0 || m != 1 {
		t.Errorf("%d address books and %d notes, want 0 and 1", n, m)
	}
}

func TestSources_HasNothingWithoutAccountsAndApps(t *testing.T) {
	s := New(Options{})
	if len(s.Mailers())+len(s.Calendars())+len(s.Contacts())+len(s.Reminders())+len(s.Notes()) != 0 {
		t.Error("sources exist without accounts and apps")
	}
}

// The sources follow a user who switches between classic Outlook, which Hob supports, and the new
// Outlook.
func TestSources_FollowsTheAppsInUse(t *testing.T) {
	used := false
	s := New(Options{Apps: osrun.NewScripts(osrun.Options{}), AppsInUse: func() bool { return used }, Zone: func() *time.Location { return time.UTC }})
	if n := len(s.Mailers()) + len(s.Notes()); n != 0 {
		t.Errorf("%d sources of apps that are not in use, want 0", n)
	}
	used = true
	if n := len(s.Mailers()) + len(s.Notes()); n != 2 {
		t.Errorf("%d sources of apps in use, want 2", n)
	}
}
