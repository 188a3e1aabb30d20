package imapmail_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/pim/pimtest"
)

const invoice = `From: "Ada Lovelace" <Ada@example.org>
To: tester@test.local
Subject: =?utf-8?q?Rechnung_f=C3=BCr_M=C3=A4rz?=
Date: Fri, 06 Nov 2026 10:00:00 +0100
Message-ID: <one@example.org>
Content-Type: text/plain; charset=utf-8

The invoice is attached.
`

func openConn(t *testing.T, a pim.Account) *imapmail.Conn {
	t.Helper()
	c, err := imapmail.Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestDovecot(t *testing.T) {
	d := pimtest.StartDovecot(t, "")
	for _, way := range []string{d.IMAPS, d.IMAP} {
		t.Run(strings.SplitN(way, ":", 2)[0], func(t *testing.T) {
			a := d.Account("tester")
			a = a.With(pim.IMAP, way)
			c := openConn(t, a)
			s, err := c.Select(t.Context(), "INBOX")
			if err != nil || s.Validity == 0 || s.Next == 0 {
				t.Fatalf("Select = %+v, %v", s, err)
			}
			came := time.Date(2026, 11, 6, 9, 0, 1, 0, time.UTC)
			d.Deliver("tester", "INBOX", invoice, came)
			if err := c.Wait(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			uids, err := c.After(t.Context(), s.Next)
			if err != nil || len(uids) != 1 {
				t.Fatalf("After = %v, %v", uids, err)
			}
			list, err := c.Headers(t.Context(), uids)
			if err != nil || len(list) != 1 {
				t.Fatalf("Headers = %v, %v", list, err)
			}
			x := list[0]
			if x.ID != "one@example.org" || x.Subject != "Rechnung für März" || x.From[0].String() != "Ada Lovelace <ada@example.org>" ||
				!x.Received.Equal(came) || x.Seen || x.To[0].Address != "tester@test.local" {
				t.Errorf("%+v", x)
			}
			if err := c.Text(t.Context(), &x); err != nil || x.Text != "The invoice is attached." || x.Cut {
				t.Errorf("%+v, %v", x, err)
			}
			if again, err := c.Headers(t.Context(), uids); err != nil || again[0].Seen {
				t.Errorf("a read mail was marked as seen: %+v, %v", again, err)
			}
			if none, err := c.After(t.Context(), uids[0]+1); err != nil || len(none) != 0 {
				t.Errorf("UIDs after the newest: %v, %v", none, err)
			}
			if found, err := c.Since(t.Context(), came); err != nil || len(found) == 0 {
				t.Errorf("UIDs since a date: %v, %v", found, err)
			}
		})
	}
	t.Run("folders by their use", func(t *testing.T) {
		c := openConn(t, d.Account("tester"))
		if _, err := c.Select(t.Context(), "sent"); err != nil {
			t.Error(err)
		}
		_, err := c.Select(t.Context(), "Nonsense")
		if !errors.Is(err, pim.ErrNoFolder) || !strings.Contains(err.Error(), "Gesendet") {
			t.Error(err)
		}
	})
	t.Run("no IDLE", func(t *testing.T) {
		d := pimtest.StartDovecot(t, "IMAP4rev1 SASL-IR AUTH=PLAIN")
		c := openConn(t, d.Account("tester"))
		s, err := c.Select(t.Context(), "INBOX")
		if err != nil {
			t.Fatal(err)
		}
		d.Deliver("tester", "INBOX", invoice, time.Time{})
		wake := make(chan struct{}, 1)
		wake <- struct{}{}
		if err := c.Wait(t.Context(), wake); err != nil {
			t.Fatal(err)
		}
		if uids, err := c.After(t.Context(), s.Next); err != nil || len(uids) != 1 {
			t.Errorf("After = %v, %v", uids, err)
		}
	})
}

func TestRefusals(t *testing.T) {
	d := pimtest.StartDovecot(t, "")
	wrong := d.Account("tester")
	wrong.Secret = func(context.Context) (string, error) { return "hunter2", nil }
	stranger := d.Account("tester")
	stranger.CA = ""
	other := d.Account("tester")
	other.CA, _ = pimtest.Certificate(t)
	none := d.Account("tester")
	none = none.With(pim.IMAP, "")
	gone := d.Account("tester")
	gone = gone.With(pim.IMAP, "imaps://127.0.0.1:1")
	for name, x := range map[string]struct {
		a    pim.Account
		want string
		is   error
	}{
		"wrong password":         {wrong, "refused the sign-in", pim.ErrSignIn},
		"untrusted certificate":  {stranger, "certificate", nil},
		"certificate of another": {other, "certificate", nil},
		"no server":              {none, "imap is not set", pim.ErrNoServer},
		"no listener":            {gone, "refused", nil},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := imapmail.Open(t.Context(), x.a)
			if err == nil {
				_ = c.Close()
				t.Fatal("Open succeeded")
			}
			if !strings.Contains(err.Error(), x.want) || x.is != nil && !errors.Is(err, x.is) || strings.Contains(err.Error(), "hunter2") {
				t.Error(err)
			}
		})
	}
}
