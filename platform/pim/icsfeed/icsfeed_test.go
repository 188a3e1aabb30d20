package icsfeed

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"hob/platform/net/safehttp"
	"hob/platform/net/safehttp/safehttptest"
	"hob/platform/pim"
)

const holidays = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//EN\r\nBEGIN:VEVENT\r\nUID:a\r\nDTSTAMP:20260101T000000Z\r\nSUMMARY:Ferry festival\r\nDTSTART:20261110T120000Z\r\nDTEND:20261110T130000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"

func clientOf(t *testing.T, net *safehttptest.Internet) func() *safehttp.Client {
	t.Helper()
	c := net.Client(t)
	return func() *safehttp.Client { return c }
}

func TestFeed_RequestsOnlyChanges(t *testing.T) {
	status, body := http.StatusOK, holidays
	net := safehttptest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if status == http.StatusOK && r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	now := time.Date(2026, 11, 10, 8, 0, 0, 0, time.UTC)
	f, err := New("Ferry webcal://cal.example.com/secret-token.ics", Options{Network: clientOf(t, net), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	read := func() (string, error) {
		list, err := f.FindEvents(t.Context(), pim.TimeRange{From: now, To: now.AddDate(0, 0, 1), Zone: time.UTC})
		var out []string
		for _, e := range list {
			out = append(out, e.Calendar+": "+e.Title)
		}
		return strings.Join(out, ", "), err
	}
	const want = "Ferry: Ferry festival"
	for i, step := range []struct {
		after    time.Duration
		status   int
		body     string
		requests int
		events   string
		err      string
	}{
		{0, 200, holidays, 1, want, ""},
		{time.Minute, 200, holidays, 1, want, ""},
		{20 * time.Minute, 200, holidays, 2, want, ""},
		{20 * time.Minute, 500, "", 3, want, "calendar subscription Ferry: the server answered with HTTP status 500; showing the copy of Tue 10 Nov 08:21"},
		{20 * time.Minute, 404, "<html>Sign in</html>", 4, want, "HTTP status 404"},
		{8 * 24 * time.Hour, 429, "", 5, "", "HTTP status 429"},
	} {
		now, status, body = now.Add(step.after), step.status, step.body
		got, err := read()
		if got != step.events || len(net.Heard()) != step.requests || (err == nil) != (step.err == "") || err != nil && !strings.Contains(err.Error(), step.err) {
			t.Errorf("%d: %q %v, %d requests", i, got, err, len(net.Heard()))
		}
		if err != nil && strings.Contains(err.Error(), "secret-token") {
			t.Errorf("the error contains the address: %v", err)
		}
	}
}

func TestFeed_BadAnswers(t *testing.T) {
	for body, want := range map[string]string{"<html>Sign in</html>": "did not return a calendar", "": "did not return a calendar", "BEGIN:VCALENDAR\r\nrubbish": "incomplete calendar"} {
		net := safehttptest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		f, err := New("Team keychain:team", Options{Network: clientOf(t, net), Secret: func(context.Context, string) (string, error) { return "https://cal.example.com/x", nil }})
		if err != nil {
			t.Fatal(err)
		}
		if list, err := f.FindEvents(t.Context(), pim.TimeRange{From: time.Now(), To: time.Now().AddDate(0, 0, 1), Zone: time.UTC}); err == nil || len(list) > 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v %v", body, list, err)
		}
	}
}

func TestParse(t *testing.T) {
	for entry, want := range map[string]string{"https://cal.example.com/x.ics": "cal.example.com", "Public holidays webcal://x.example/y": "Public holidays", "Team keychain:team": "Team"} {
		if name, _, err := Parse(entry); err != nil || name != want {
			t.Errorf("Parse(%q) = %q, %v", entry, name, err)
		}
	}
	for _, entry := range []string{"", "http://cal.example.com/x.ics", "keychain:team", "ftp://x.example/", "https://user:pw@x.example/"} {
		if name, _, err := Parse(entry); err == nil {
			t.Errorf("Parse(%q) = %q", entry, name)
		}
	}
}
