package caldav_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/caldav"
	"hob/platform/pim/ics"
	"hob/platform/pim/pimtest"
)

func openClient(t *testing.T, a pim.Account) *caldav.Client {
	t.Helper()
	c, err := caldav.Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestRadicale(t *testing.T) {
	r := pimtest.StartRadicale(t)
	r.Make("Work")
	r.Make("Home")
	r.Put("Work", "e1", "SUMMARY:Standup\nDTSTART:20261102T090000Z\nDTEND:20261102T100000Z\nRRULE:FREQ=WEEKLY;COUNT=4", "SUMMARY:Standup\nRECURRENCE-ID:20261116T090000Z\nDTSTART:20261116T110000Z\nDTEND:20261116T120000Z")
	span := ics.Span{From: time.Date(2026, 11, 8, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), Zone: time.UTC}
	for name, url := range map[string]string{"server": r.URL, "folder": r.URL + "tester/", "well-known": r.URL + ".well-known/caldav"} {
		t.Run("found from the "+name, func(t *testing.T) {
			a := r.Account("tester")
			a = a.With(pim.CalDAV, url)
			c := openClient(t, a)
			list, err := c.Calendars(t.Context())
			if err != nil || len(list) != 2 {
				t.Fatalf("Calendars = %+v, %v", list, err)
			}
			for _, cal := range list {
				if cal.Token == "" {
					t.Errorf("%s has no token", cal.Name)
				}
				got, err := c.Events(t.Context(), cal, span)
				if err != nil {
					t.Fatal(err)
				}
				var at []string
				for _, e := range got {
					at = append(at, e.Start.UTC().Format("02T15"))
				}
				if want := map[string]string{"Work": "09T09 16T11", "Home": ""}[cal.Name]; strings.Join(at, " ") != want {
					t.Errorf("%s has %v", cal.Name, at)
				}
			}
		})
	}
	t.Run("a calendar's own address", func(t *testing.T) {
		a := r.Account("tester")
		a = a.With(pim.CalDAV, r.URL+"tester/Work/")
		if list, err := openClient(t, a).Calendars(t.Context()); err != nil || len(list) != 1 || list[0].Name != "Work" {
			t.Errorf("%+v, %v", list, err)
		}
	})
	t.Run("the token changes with the calendar", func(t *testing.T) {
		c := openClient(t, r.Account("tester"))
		token := func() (out string) {
			list, err := c.Calendars(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range list {
				if l.Name == "Home" {
					out = l.Token
				}
			}
			return out
		}
		before, again := token(), token()
		r.Put("Home", "e2", "SUMMARY:Dentist\nDTSTART:20261110T090000Z")
		if after := token(); before != again || after == before {
			t.Errorf("%q, %q, then %q", before, again, after)
		}
	})
	t.Run("wrong password", func(t *testing.T) {
		a := r.Account("tester")
		a.Secret = func(context.Context) (string, error) { return "hunter2", nil }
		if _, err := openClient(t, a).Calendars(t.Context()); !errors.Is(err, pim.ErrSignIn) || strings.Contains(err.Error(), "hunter2") {
			t.Error(err)
		}
	})
}

// TestHostileServers checks that no server can make the client send the password elsewhere or block
// it.
func TestHostileServers(t *testing.T) {
	asked := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer elsewhere.Close()
	multi := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusMultiStatus)
			fmt.Fprint(w, body)
		}
	}
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"redirects to another host", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }, "not the configured host"},
		{"redirects in a loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "redirect loop"},
		{"has its calendars on another host", multi(`<multistatus xmlns="DAV:"><response><href>/</href><propstat><status>HTTP/1.1 200 OK</status><prop><current-user-principal><href>` + elsewhere.URL + `/me</href></current-user-principal></prop></propstat></response></multistatus>`), "not the configured host"},
		{"is not a CalDAV server", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "200"},
		{"has no XML", multi("\x00"), "not valid XML"},
		{"has no end", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusMultiStatus)
			for range 20 << 10 {
				if _, err := w.Write(make([]byte, 1024)); err != nil {
					return
				}
			}
		}, "the data exceeds a limit"},
		{"nests deeply", multi(strings.Repeat("<a>", 1<<20)), "not valid XML"},
		{"has no calendars", multi(`<multistatus xmlns="DAV:"/>`), "no calendars"},
		{"is busy", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, "503"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewServer(tt.answer)
			defer s.Close()
			a := pim.Account{Name: "home", Servers: pim.Servers{pim.CalDAV: s.URL}, User: "x", Secret: func(context.Context) (string, error) { return "hunter2", nil }}
			_, err := openClient(t, a).Calendars(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Error(err)
			}
			if b, is := errors.AsType[*pim.BusyError](err); tt.name == "is busy" && (!is || time.Until(b.Until) < 9*time.Minute) {
				t.Error("the error has no retry time")
			}
		})
	}
	if asked != 0 {
		t.Errorf("another host received %d requests", asked)
	}
}

// TestSchedules checks that a calendar is queried for whether the server invites guests, because
// the root of the server does not have to report this.
func TestSchedules(t *testing.T) {
	const head, tail = `<multistatus xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><response><href>%s</href><propstat><status>HTTP/1.1 200 OK</status><prop>`, `</prop></propstat></response></multistatus>`
	tests := []struct {
		name, says string
		status     int
		want, sure bool
	}{
		{"the server notifies guests", "1, calendar-access, calendar-auto-schedule", http.StatusOK, true, true},
		{"the server does not notify guests", "1, calendar-access", http.StatusNoContent, false, true},
		{"a proxy answers", "", http.StatusOK, false, false},
		{"the server refuses", "1, calendar-access", http.StatusForbidden, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/" && r.Method == http.MethodOptions:
					w.WriteHeader(http.StatusOK)
				case r.URL.Path == "/":
					w.WriteHeader(http.StatusMethodNotAllowed)
				case r.URL.Path == "/.well-known/caldav":
					http.Redirect(w, r, "/dav/", http.StatusMovedPermanently)
				case r.URL.Path == "/dav/cal/" && r.Method == http.MethodOptions:
					w.Header().Set("DAV", tt.says)
					w.WriteHeader(tt.status)
				case r.Header.Get("Depth") == "1":
					w.WriteHeader(http.StatusMultiStatus)
					fmt.Fprintf(w, head+`<resourcetype><c:calendar/></resourcetype>`+tail, "/dav/cal/")
				default:
					w.WriteHeader(http.StatusMultiStatus)
					fmt.Fprintf(w, head+`<c:calendar-home-set><href>/dav/</href></c:calendar-home-set>`+tail, "/dav/")
				}
			}))
			defer s.Close()
			a := pim.Account{Name: "home", Servers: pim.Servers{pim.CalDAV: s.URL}, User: "x", Secret: func(context.Context) (string, error) { return "x", nil }}
			if got, err := openClient(t, a).Schedules(t.Context()); got != tt.want || (err == nil) != tt.sure {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}
