package all

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"

	"hob/platform/pim"
	"hob/platform/pim/pimtest"
)

// testAccounts returns a mail account and a calendar account on local test servers.
func testAccounts(t *testing.T) (mails, calendars func() []pim.Account) {
	t.Helper()
	secret := func(context.Context) (string, error) { return pimtest.Secret, nil }
	return sync.OnceValue(func() []pim.Account {
			at, ca := mailServer(t)
			out := pimtest.StartSMTP(t)
			return []pim.Account{{Name: "work", Servers: pim.Servers{pim.IMAP: "imaps://" + at, pim.SMTP: out.URL}, Address: "me@example.org", User: "me", CA: pimtest.Both(t, ca, out.CA), Secret: secret}}
		}), sync.OnceValue(func() []pim.Account {
			return []pim.Account{{Name: "home", Servers: pim.Servers{pim.CalDAV: calendarServer(t) + "/me/"}, Address: "me@example.org", User: "me", Secret: secret}}
		})
}

// book is an address book with one person in it.
type book struct{}

func (book) Name() string { return "home" }

func (book) FindContacts(context.Context, string, int) ([]pim.Contact, error) {
	return []pim.Contact{{Name: "Ada", Addresses: []string{"ada@example.org"}}}, nil
}

// serverData returns the server data that a tool changes.
func serverData(t *testing.T, d Deps, tool string) (out []string) {
	t.Helper()
	if strings.HasSuffix(tool, "_calendar_event") || strings.HasPrefix(tool, "answer_") || tool == "schedule_meeting" {
		list, err := d.Calendar.Calendars()[0].FindEvents(context.WithoutCancel(t.Context()), pim.TimeRange{From: now, To: now.AddDate(0, 1, 0), Zone: now.Location()})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			s, ok := d.Calendar.Calendars()[0].(pim.Scheduling)
			if !ok {
				t.Fatal("the calendar does not support guests")
			}
			text, err := s.Message(context.WithoutCancel(t.Context()), "REQUEST", e, true)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprint(e.Title, e.Place, e.Start, e.End, strings.Contains(text, "PARTSTAT=DECLINED")))
		}
		return out
	}
	if tool == "create_reminder" || tool == "complete_reminder" {
		list, err := d.Lists()[0].FindReminders(context.WithoutCancel(t.Context()), true)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			out = append(out, fmt.Sprint(r.Title, r.Due, r.Done))
		}
		return out
	}
	if tool == "create_note" {
		list, err := d.Notes()[0].FindNotes(context.WithoutCancel(t.Context()), "", 50)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range list {
			out = append(out, n.Title+n.Text)
		}
		return out
	}
	if tool != "draft_email" && tool != "edit_draft" && tool != "move_email" {
		return nil
	}
	for _, folder := range []string{"inbox", "drafts", "archive"} {
		list, err := d.Mail.Mailers()[0].FindMail(context.WithoutCancel(t.Context()), pim.MailQuery{Folder: folder})
		if err != nil && !errors.Is(err, pim.ErrNoFolder) {
			t.Fatal(err)
		}
		for _, m := range list {
			whole, err := d.Mail.Mailers()[0].ReadMail(context.WithoutCancel(t.Context()), m.Ref)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, folder+": "+m.Subject+": "+whole.Text)
		}
	}
	slices.Sort(out) // a message that was moved back is the newest one
	return out
}

func mailServer(t *testing.T) (address, ca string) {
	t.Helper()
	user := imapmemserver.NewUser("me", pimtest.Secret)
	if err := user.Create("INBOX", nil); err != nil {
		t.Fatal(err)
	}
	mail := []byte("From: Ada <ada@example.org>\r\nSubject: The invoice\r\n\r\nPay 99.\r\n")
	if _, err := user.Append("INBOX", bytes.NewReader(mail), &imap.AppendOptions{Time: now.Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	party := strings.ReplaceAll("From: Bob <bob@example.org>\nSubject: Party\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain; name=menu.txt\nContent-Disposition: attachment\n\nCake\n--b\nContent-Type: text/calendar; method=REQUEST\n\n"+
		"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\nMETHOD:REQUEST\nBEGIN:VEVENT\nUID:party\nDTSTAMP:20940101T000000Z\nDTSTART:20940320T180000Z\nDURATION:PT2H\nSUMMARY:Party\nORGANIZER:mailto:bob@example.org\nATTENDEE:mailto:me@example.org\nEND:VEVENT\nEND:VCALENDAR\n--b--\n", "\n", "\r\n")
	if _, err := user.Append("INBOX", strings.NewReader(party), &imap.AppendOptions{Time: now.Add(-200 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	mem := imapmemserver.New()
	mem.AddUser(user)
	ca, conf := pimtest.Certificate(t)
	s := imapserver.New(&imapserver.Options{
		Caps: imap.CapSet{imap.CapIMAP4rev1: {}, imap.CapIMAP4rev2: {}},
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

// shelf is a server with one calendar.
type shelf struct {
	mu   sync.Mutex
	all  map[string]string // events keyed by path
	tags map[string]string
	n    int
}

func (s *shelf) putFile(path, data string) {
	s.n++
	s.all[path], s.tags[path] = data, fmt.Sprintf("%q", strconv.Itoa(s.n))
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tag, there := s.tags[r.URL.Path]
	if want := r.Header.Get("If-Match"); want != "" && want != tag || r.Header.Get("If-None-Match") == "*" && there {
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	switch r.Method {
	case http.MethodPut:
		b, _ := io.ReadAll(r.Body)
		s.putFile(r.URL.Path, string(b))
		w.Header().Set("ETag", s.tags[r.URL.Path])
		w.WriteHeader(http.StatusCreated)
		return
	case http.MethodGet, http.MethodDelete:
		if !there {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("ETag", tag)
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, s.all[r.URL.Path])
			return
		}
		delete(s.all, r.URL.Path)
		delete(s.tags, r.URL.Path)
		return
	case http.MethodOptions:
		return
	}
	answer := `<response><href>/me/</href><propstat><prop><resourcetype><collection/><C:calendar/></resourcetype><displayname>Home</displayname></prop><status>HTTP/1.1 200 OK</status></propstat></response>`
	if r.Method == "REPORT" {
		answer = ""
		for path, data := range s.all {
			answer += fmt.Sprintf(`<response><href>%s</href><propstat><prop><getetag>%s</getetag><C:calendar-data>%s</C:calendar-data></prop><status>HTTP/1.1 200 OK</status></propstat></response>`, path, html.EscapeString(s.tags[path]), html.EscapeString(data))
		}
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusMultiStatus)
	fmt.Fprintf(w, `<multistatus xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">%s</multistatus>`, answer)
}

func calendarServer(t *testing.T) string {
	t.Helper()
	s := &shelf{all: map[string]string{}, tags: map[string]string{}}
	s.putFile("/me/1.ics", fmt.Sprintf("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20940101T000000Z\r\nDTSTART:%s\r\nDURATION:PT1H\r\nSUMMARY:Dentist\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
		now.AddDate(0, 0, 3).UTC().Format("20060102T150405Z")))
	s.putFile("/me/3.ics", fmt.Sprintf("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:3\r\nDTSTAMP:20940101T000000Z\r\nDTSTART:%s\r\nDURATION:PT1H\r\nSUMMARY:Review\r\nORGANIZER:mailto:ada@example.org\r\nATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:me@example.org\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
		now.AddDate(0, 0, 20).UTC().Format("20060102T150405Z")))
	s.putFile("/me/2.ics", fmt.Sprintf("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VTODO\r\nUID:2\r\nDTSTAMP:20940101T000000Z\r\nDUE;VALUE=DATE:%s\r\nPRIORITY:1\r\nSUMMARY:Pay rent\r\nEND:VTODO\r\nEND:VCALENDAR\r\n",
		now.AddDate(0, 0, 1).Format("20060102")))
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}
