package all

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"

	"hob/platform/pim"
	"hob/platform/pim/pimtest"
)

// accounts are one with mail and one with a calendar, at servers of a test's own.
func accounts(t *testing.T) (mails, calendars func() []pim.Account) {
	t.Helper()
	secret := func(context.Context) (string, error) { return pimtest.Secret, nil }
	return sync.OnceValue(func() []pim.Account {
			at, ca := mailServer(t)
			return []pim.Account{{Name: "work", IMAP: "imaps://" + at, User: "me", CA: ca, Secret: secret}}
		}), sync.OnceValue(func() []pim.Account {
			return []pim.Account{{Name: "home", CalDAV: calendarServer(t) + "/me/", User: "me", Secret: secret}}
		})
}

func mailServer(t *testing.T) (address, ca string) {
	t.Helper()
	user := imapmemserver.NewUser("me", pimtest.Secret)
	if err := user.Create("INBOX", nil); err != nil {
		t.Fatal(err)
	}
	mail := []byte("From: Ada <ada@example.org>\r\nSubject: The invoice\r\n\r\nPay 99.\r\n")
	if _, err := user.Append("INBOX", bytes.NewReader(mail), &imap.AppendOptions{Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	mem := imapmemserver.New()
	mem.AddUser(user)
	ca, conf := pimtest.Certificate(t)
	s := imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return mem.NewSession(), nil, nil
		},
	})
	l, err := tls.Listen("tcp", "127.0.0.1:0", conf)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	return l.Addr().String(), ca
}

func calendarServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		prop := `<resourcetype><collection/><C:calendar/></resourcetype><displayname>Home</displayname>`
		if r.Method == "REPORT" {
			prop = fmt.Sprintf("<getetag>\"1\"</getetag><C:calendar-data>BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20940101T000000Z\r\nDTSTART:%s\r\nDURATION:PT1H\r\nSUMMARY:Dentist\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n</C:calendar-data>",
				now.AddDate(0, 0, 3).UTC().Format("20060102T150405Z"))
		}
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusMultiStatus)
		fmt.Fprintf(w, `<multistatus xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><response><href>/me/1.ics</href><propstat><prop>%s</prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>`, prop)
	}))
	t.Cleanup(s.Close)
	return s.URL
}
