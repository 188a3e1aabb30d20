package config_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hob/autonomy/config"
	"hob/platform/pim"
)

const accounts = `
[accounts.work]
imap = "imap.example.org"
smtp = "smtp.example.org"
address = "ada@example.org"
password = "keychain:work"

[accounts.home]
imap = "imap.example.net"
caldav = "https://dav.example.net/"
address = "ada@example.net"
password = "keychain:home"

[accounts.unfinished]
imap = "imap.example.com"
address = "ada@example.com"
`

// accountSet returns an AccountSet with the accounts above. Each password is "secret of REFERENCE".
func accountSet(t *testing.T) config.AccountSet {
	t.Helper()
	c, err := config.Parse("c.toml", []byte(accounts))
	if err != nil {
		t.Fatal(err)
	}
	return config.AccountSet{Config: c, Secret: func(_ context.Context, ref string) (string, error) { return "secret of " + ref, nil }}
}

// TestAccountSet_Find: a tool that names no account gets the only matching account, and an error if
// several match.
func TestAccountSet_Find(t *testing.T) {
	s := accountSet(t)
	for _, tt := range []struct{ name, account, server, want, err string }{
		{"by name", "work", pim.IMAP, "work", ""},
		{"the only one with a calendar", "", pim.CalDAV, "home", ""},
		{"several mailboxes", "", pim.IMAP, "", "name one: work, home, unfinished"},
		{"a name without that server", "work", pim.CalDAV, "", "use one of: home"},
		{"an unknown name", "school", pim.IMAP, "", "use one of: work, home, unfinished"},
		{"a server without an account", "", pim.CardDAV, "", "hob account add"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Find(tt.account, tt.server)
			if got.Name != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Find(%q, %q) = %q, %v; want %q, %q", tt.account, tt.server, got.Name, err, tt.want, tt.err)
			}
		})
	}
}

// TestAccountSet_ResolvesPasswordAtSignIn: a locked keychain delays the sign-in, not Hob's start, and a
// changed password needs no restart.
func TestAccountSet_ResolvesPasswordAtSignIn(t *testing.T) {
	s := accountSet(t)
	locked := errors.New("the keychain is locked")
	asked := 0
	s.Secret = func(_ context.Context, ref string) (string, error) {
		if asked++; asked == 1 {
			return "", locked
		}
		return "secret of " + ref, nil
	}
	a, err := s.Find("work", pim.IMAP)
	if err != nil || asked != 0 {
		t.Fatalf("Find = %v, with %d passwords read", err, asked)
	}
	if _, err := a.Secret(t.Context()); !errors.Is(err, locked) {
		t.Errorf("Secret = %v, want %v", err, locked)
	}
	if got, err := a.Secret(t.Context()); got != "secret of keychain:work" || err != nil {
		t.Errorf("Secret = %q, %v", got, err)
	}
}

// TestAccountSet_CompleteLeavesOutUnfinishedAccounts: an account without a password causes no failed
// sign-ins; the doctor reports it.
func TestAccountSet_CompleteLeavesOutUnfinishedAccounts(t *testing.T) {
	s := accountSet(t)
	s.Change = func(a pim.Account) pim.Account { return a.With(pim.IMAP, "imaps://simulated.invalid:993") }
	var names []string
	for _, a := range s.Complete() {
		names = append(names, a.Name)
		if got := a.Server(pim.IMAP); got != "imaps://simulated.invalid:993" {
			t.Errorf("the account %s reaches %q, want the changed server", a.Name, got)
		}
	}
	if got := strings.Join(names, " "); got != "work home" {
		t.Errorf("Complete = %q, want the accounts with a password", got)
	}
	if a, _ := s.Config.Account("work", func(config.Account) bool { return true }); a.Server(pim.IMAP) != "imap.example.org" {
		t.Error("the change reached the configuration")
	}
}
