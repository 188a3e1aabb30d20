package pim

import (
	"errors"
	"strings"
	"testing"
)

// TestLetterCheck: nothing that a model or a mail chose ends the line of a header
// or hides in it.
func TestLetterCheck(t *testing.T) {
	ada := Person{Name: "Ada", Address: "ada@example.org"}
	for name, tc := range map[string]struct {
		l    Letter
		good bool
	}{
		"plain":               {Letter{To: []Person{ada}, Subject: "Grüße 👩‍👩‍👧", Text: "a\nb"}, true},
		"of this machine":     {Letter{To: []Person{{Address: "root@localhost"}}}, true},
		"a line in subject":   {Letter{To: []Person{ada}, Subject: "x\r\nBcc: eve@example.org"}, false},
		"a turn in subject":   {Letter{To: []Person{ada}, Subject: "x\u202ey"}, false},
		"two addresses":       {Letter{To: []Person{{Address: "ada@example.org, eve@example.org"}}}, false},
		"a line in address":   {Letter{To: []Person{{Address: "ada@example.org\nBcc:eve@x.org"}}}, false},
		"a command":           {Letter{Bcc: []Person{{Address: "a> RCPT TO:<b@x.org"}}}, false},
		"no host":             {Letter{To: []Person{{Address: "ada"}}}, false},
		"a line in a name":    {Letter{Cc: []Person{{Name: "A\nB", Address: ada.Address}}}, false},
		"a line in an answer": {Letter{To: []Person{ada}, Answers: "x>\r\nBcc: <y"}, false},
		"a path":              {Letter{To: []Person{ada}, Files: []Attachment{{Name: "../x"}}}, false},
		"too many":            {Letter{To: make([]Person, 0), Bcc: many(MaxRecipients + 1)}, false},
		"too long":            {Letter{To: []Person{ada}, Text: strings.Repeat("x", MaxLetter+1)}, false},
	} {
		if err := tc.l.Check(); (err == nil) != tc.good || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func many(n int) (out []Person) {
	for range n {
		out = append(out, Person{Address: "a@example.org"})
	}
	return out
}
