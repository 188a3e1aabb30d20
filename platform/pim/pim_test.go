package pim

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

func TestParseServer(t *testing.T) {
	for in, want := range map[string]Server{
		"imap.example.org":              {"imap.example.org", "993", true},
		"imap.example.org:993":          {"imap.example.org", "993", true},
		"imap.example.org:143":          {"imap.example.org", "143", false},
		"imap://imap.example.org":       {"imap.example.org", "143", false},
		"imap://127.0.0.1:1143":         {"127.0.0.1", "1143", false},
		"imaps://imap.example.org:1993": {"imap.example.org", "1993", true},
		"[::1]:993":                     {"::1", "993", true},
	} {
		if got, err := ParseServer(IMAP, in); err != nil || got != want {
			t.Errorf("%q: ParseServer = %+v, %v", in, got, err)
		}
	}
	if got, err := ParseServer(SMTP, "smtps://smtp.example.org"); err != nil || got != (Server{"smtp.example.org", "465", true}) {
		t.Errorf("implicit TLS: %+v, %v", got, err)
	}
	if got, err := ParseServer(SMTP, "smtp.example.org"); err != nil || got != (Server{"smtp.example.org", "587", false}) {
		t.Errorf("ParseServer = %+v, %v", got, err)
	}
	for _, bad := range []string{"", "http://x", "smtp://x", "a b", "x:0", "x:99999", "x:y", "ada@x", "x/y", "imaps://", "x:1:2", "u:p@h:993"} {
		if got, err := ParseServer(IMAP, bad); err == nil {
			t.Errorf("%q was accepted: %+v", bad, got)
		}
	}
}

func TestParseURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://dav.example.org":      "https://dav.example.org/",
		"dav.example.org/cal/":         "https://dav.example.org/cal/",
		"http://127.0.0.1:5232/":       "http://127.0.0.1:5232/",
		"https://dav.example.org:8443": "https://dav.example.org:8443/",
	} {
		if got, err := ParseURL(in); err != nil || got.String() != want {
			t.Errorf("%q: ParseURL = %v, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "http://dav.example.org/", "ftp://x/", "https://u:p@x/", "https://x/?a=b", "https://x/#a", "https:///x", "https://a b/"} {
		if got, err := ParseURL(bad); err == nil {
			t.Errorf("%q was accepted: %v", bad, got)
		}
	}
}

func TestSanitizeLine(t *testing.T) {
	if got := SanitizeLine("a\r\nb\x1b[31m \u202ec\x00\xff", 100); got != "a b[31m c\uFFFD" {
		t.Errorf("SanitizeLine = %q", got)
	}
}

func TestBounded(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	go func() {
		defer b.Close()
		_, _ = io.WriteString(b, strings.Repeat("x", 100))
	}()
	c := Bound(a, 10)
	got, err := io.ReadAll(c)
	if len(got) != 10 || !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	c.Allow(5)
	if n, err := io.ReadFull(c, make([]byte, 5)); n != 5 || err != nil {
		t.Errorf("ReadFull = %d, %v", n, err)
	}
}

func TestPerson(t *testing.T) {
	for _, tc := range []struct{ name, address, want string }{
		{"Ada Lovelace", "ada@example.org", "Ada Lovelace <ada@example.org>"},
		{"", "ada@example.org", "ada@example.org"},
		{"Ada", "", "Ada"},
		{"ada@example.org", "x@evil.example", "ada at example.org <x@evil.example>"},
		{"Ada <ada@example.org>", "x@evil.example", "Ada ada at example.org <x@evil.example>"},
		{strings.Repeat("A", 120), "x@evil.example", strings.Repeat("A", 49) + "… <x@evil.example>"},
		{"", "ada@example.org." + strings.Repeat("a", 150) + ".evil.example", "ada@example.org." + strings.Repeat("a", 17) + "…" + strings.Repeat("a", 37) + ".evil.example"},
	} {
		if got := (Person{tc.name, tc.address}).String(); got != tc.want {
			t.Errorf("%s: %s", tc.want, got)
		}
	}
}
