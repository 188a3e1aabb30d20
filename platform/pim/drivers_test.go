package pim

import (
	"errors"
	"strings"
	"testing"
)

// TestOutgoingMail_Check checks that no header value from a model or an email can end its line or hide
// text.
func TestOutgoingMail_Check(t *testing.T) {
	ada := Person{Name: "Ada", Address: "ada@example.org"}
	for name, tc := range map[string]struct {
		l    OutgoingMail
		good bool
	}{
		"plain":               {OutgoingMail{To: []Person{ada}, Subject: "Grüße 👩‍👩‍👧", Text: "a\nb"}, true},
		"of this machine":     {OutgoingMail{To: []Person{{Address: "root@localhost"}}}, true},
		"a line in subject":   {OutgoingMail{To: []Person{ada}, Subject: "x\r\nBcc: eve@example.org"}, false},
		"a turn in subject":   {OutgoingMail{To: []Person{ada}, Subject: "x\u202ey"}, false},
		"two addresses":       {OutgoingMail{To: []Person{{Address: "ada@example.org, eve@example.org"}}}, false},
		"a line in address":   {OutgoingMail{To: []Person{{Address: "ada@example.org\nBcc:eve@x.org"}}}, false},
		"a command":           {OutgoingMail{Bcc: []Person{{Address: "a> RCPT TO:<b@x.org"}}}, false},
		"no host":             {OutgoingMail{To: []Person{{Address: "ada"}}}, false},
		"a line in a name":    {OutgoingMail{Cc: []Person{{Name: "A\nB", Address: ada.Address}}}, false},
		"a line in an answer": {OutgoingMail{To: []Person{ada}, Answers: "x>\r\nBcc: <y"}, false},
		"a path":              {OutgoingMail{To: []Person{ada}, Files: []Attachment{{Name: "../x"}}}, false},
		"too many":            {OutgoingMail{To: make([]Person, 0), Bcc: makePeople(MaxRecipients + 1)}, false},
		"too long":            {OutgoingMail{To: []Person{ada}, Text: strings.Repeat("x", MaxLetter+1)}, false},
	} {
		if err := tc.l.Check(); (err == nil) != tc.good || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: Check = %v", name, err)
		}
	}
}

func makePeople(n int) (out []Person) {
	for range n {
		out = append(out, Person{Address: "a@example.org"})
	}
	return out
}
