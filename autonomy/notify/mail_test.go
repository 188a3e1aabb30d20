package notify

import (
	"testing"
	"time"
)

func TestMail(t *testing.T) {
	rules := []Rule{
		{Channels: []string{"telegram"}, Words: []string{"invoice"}, Urgency: Critical}, // not about mail
		{Within: time.Hour, People: []string{"Ada"}, Urgency: Critical},
		{Causes: []string{"reminder"}, Words: []string{"invoice"}, Urgency: Critical},
		{People: []string{"shop@example.org"}, Urgency: Low},
		{Causes: []string{"watcher"}, Words: []string{"invoice"}, Urgency: High},
		{People: []string{"Ada"}, Urgency: High},
	}
	for _, tc := range []struct {
		name, from, address, subject string
		want                         Urgency
		why                          string
	}{
		{"words", "Bob", "bob@example.org", "Your Invoice 4", High, "your rule 5"},
		{"somebody", "Ada Lovelace", "ada@example.org", "Hello", High, "your rule 6"},
		{"the first rule decides", "Shop", "shop@example.org", "invoice", Low, "your rule 4"},
		{"an address as a name", "shop@example.org", "x@evil.example", "Hello", 0, ""},
		{"none", "Bob", "bob@example.org", "Hello", 0, ""},
	} {
		if u, why := RateMail(rules, []string{tc.address}, []string{tc.from}, tc.subject); u != tc.want || why != tc.why {
			t.Errorf("%s: RateMail = %s %q", tc.name, u, why)
		}
	}
}
