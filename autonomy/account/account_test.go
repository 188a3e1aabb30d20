package account

import (
	"errors"
	"strings"
	"testing"

	"hob/autonomy/config"
	"hob/platform/pim"
	"hob/platform/pim/pimtest"
)

// A server that was found, but that the user did not name, is omitted if it does not work. A server
// that the user named must work.
func TestTry(t *testing.T) {
	d, r := pimtest.StartDovecot(t, ""), pimtest.StartRadicale(t)
	r.Make("Work")
	fresh := func(caldav string, given ...string) *New {
		return &New{Account: config.Account{Account: pim.Account{Name: "x", Servers: pim.Servers{pim.IMAP: d.IMAPS, pim.CalDAV: caldav}, Address: "tester@test.local", User: "tester", CA: d.CA}}, Given: given}
	}
	n := fresh(r.URL)
	if said, err := n.Try(t.Context(), pimtest.Secret); err != nil || len(said) != 2 || !strings.Contains(said[1], "calendars: Work") {
		t.Errorf("Try = %q %v", said, err)
	}
	n = fresh("http://127.0.0.1:1/")
	if said, err := n.Try(t.Context(), pimtest.Secret); err != nil || n.Server(pim.CalDAV) != "" || !strings.Contains(said[1], "skipped") {
		t.Errorf("%q %v %+v", said, err, n)
	}
	if _, err := fresh("http://127.0.0.1:1/", "caldav").Try(t.Context(), pimtest.Secret); err == nil {
		t.Error("Try returned no error for a configured server that does not work")
	}
	if _, err := fresh(r.URL).Try(t.Context(), "hunter2"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
	if got := Name("ada@own.example", "", []config.Account{{Account: pim.Account{Name: "own"}}}); got != "own-2" {
		t.Error(got)
	}
}

// A mistyped password does not remove servers that were found.
func TestTry_Again(t *testing.T) {
	d, r := pimtest.StartDovecot(t, ""), pimtest.StartRadicale(t)
	r.Make("Work")
	n := &New{Account: config.Account{Account: pim.Account{Name: "x", Servers: pim.Servers{pim.IMAP: d.IMAPS, pim.CalDAV: r.URL}, Address: "tester@test.local", User: "tester", CA: d.CA}}}
	if _, err := n.Try(t.Context(), "hunter2"); err == nil {
		t.Error("a wrong password works")
	}
	if said, err := n.Try(t.Context(), pimtest.Secret); err != nil || len(said) != 2 || n.Server(pim.CalDAV) == "" {
		t.Errorf("Try = %q %v", said, err)
	}
	n = &New{Account: config.Account{Account: pim.Account{Name: "x", Servers: pim.Servers{pim.CalDAV: r.URL}, Address: "tester@test.local", User: "tester"}}}
	if _, err := n.Try(t.Context(), "hunter2"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if _, err := n.Try(t.Context(), pimtest.Secret); err != nil {
		t.Error(err)
	}
}

// Most people write a server as host:port and do not know when it starts TLS.
func TestTry_FindsOutWhenAServerStartsTLS(t *testing.T) {
	d := pimtest.StartDovecot(t, "")
	try := func(server, ca, secret string) (string, error) {
		n := &New{Account: config.Account{Account: pim.Account{Name: "x", Servers: pim.Servers{pim.IMAP: server}, Address: "tester@test.local", User: "tester", CA: ca}}, Given: []string{pim.IMAP}}
		_, err := n.Try(t.Context(), secret)
		return n.Server(pim.IMAP), err
	}
	bareTLS, bare := strings.TrimPrefix(d.IMAPS, "imaps://"), strings.TrimPrefix(d.IMAP, "imap://")
	if server, err := try(bareTLS, d.CA, pimtest.Secret); err != nil || server != d.IMAPS {
		t.Errorf("Try(%q): server %q, %v; want %q, which the configuration keeps", bareTLS, server, err, d.IMAPS)
	}
	if server, err := try(bare, d.CA, pimtest.Secret); err != nil || server != bare {
		t.Errorf("Try(%q), which needs STARTTLS: server %q, %v; want it unchanged", bare, server, err)
	}
	for name, c := range map[string]struct{ server, ca, secret, remedy string }{
		"unknown certificate": {bareTLS, "", pimtest.Secret, "--ca FILE"},
		"wrong password":      {bareTLS, d.CA, "wrong", "check the password"},
		"nothing listens":     {"127.0.0.1:1", d.CA, pimtest.Secret, "check the name and the port"},
	} {
		if _, err := try(c.server, c.ca, c.secret); err == nil || !strings.Contains(Remedy(err, ""), c.remedy) {
			t.Errorf("%s: Try = %v, remedy %q, want %q", name, err, Remedy(err, ""), c.remedy)
		}
	}
}
