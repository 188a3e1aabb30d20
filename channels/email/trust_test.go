package email

import (
	"fmt"
	"strings"
	"testing"

	"hob/channels"
)

// testTestTellsTheHost checks that Test finds the name of the mail host in the mailbox, and that
// the owner is recognized with it.
func testTestTellsTheHost(t *testing.T, sv servers) {
	w := sv.newFixture(t)
	c := w.channelConfig()
	c.TrustedHost = ""
	test := func() string {
		t.Helper()
		s, err := w.newChannel(c).Test(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := test(); !strings.Contains(s, "send one from another address") {
		t.Error(s)
	}
	w.put(strings.TrimPrefix(letterTo("own@x.org", hob, "", "its own"), "Authentication-Results: "+trusted+"; dmarc=pass (p=none) header.from=test.local\n"))
	for i := range 3 {
		w.put(letterTo(fmt.Sprint(i, "@x.org"), ada, "", "hello"))
	}
	if s := test(); !strings.Contains(s, `The 3 newest emails carry mx.test.local at the top`) || !strings.Contains(s, `set trusted_host = "mx.test.local"`) {
		t.Error(s)
	}
	c.TrustedHost = "mx.other.local"
	if s := test(); !strings.Contains(s, "none of the 3 newest emails contains it: 3 of 3 carry mx.test.local") {
		t.Error(s)
	}
	c.TrustedHost = "*.Test.local"
	if s := test(); !strings.Contains(s, "in 3 of the 3 newest emails") {
		t.Error(s)
	}
	ch := w.newChannel(c)
	w.runChannel(ch)
	w.put(letterTo("now@x.org", ada, "", "hello"))
	if in := w.awaitMessages(1)[0]; in.Sender != ada {
		t.Errorf("%+v", in)
	}
	w.put(strings.Replace(letterTo("not@x.org", ada, "", "hello"), trusted, "mx.other.example", 1))
	w.awaitMessages(2)
	if s := ch.DescribeStatus(); !strings.Contains(s, "1 email with an unverified sender") {
		t.Error(s)
	}
}

func TestTrust_NameOfTheHost(t *testing.T) {
	for _, c := range []struct {
		trusted string
		ids     []string
		mails   int
		want    string
	}{
		{"", nil, 4, "None of the 4 newest emails has an Authentication-Results header"},
		{"", []string{"", "", ""}, 3, "as Microsoft does"},
		{"", []string{"mx-03.host.example", "mx-08.host.example", "mx-03.host.example"}, 3, `set trusted_host = "*.host.example"`},
		{"", []string{"bimi.host.example", "a.mx.host.example"}, 2, `set trusted_host = "*.host.example"`},
		{"", []string{"mx.host.example"}, 1, `The newest email carries mx.host.example at the top: if that is the name of your own mail host, set`},
		// One of the names may come from a sender, so no value is proposed.
		{"", []string{"mx.host.example", "mx.evil.example"}, 2, "1 of 2 carries mx.evil.example, 1 of 2 carries mx.host.example. Set trusted_host only"},
		{"", []string{"mx.host.example"}, 5, "1 of 5 carries mx.host.example, 4 carry nothing. Set trusted_host only"},
		{"", []string{"a.example", "b.example"}, 2, "Set trusted_host only"},
		{"", []string{"mx.ada.co.uk", "mx.eve.co.uk"}, 2, "Set trusted_host only"},
		{"", []string{"", "mx.host.example"}, 2, "1 of 2 carries no name"},
		{"mx.google.com", nil, 0, "by the Authentication-Results header that mx.google.com adds"},
	} {
		got := describeRecognition(c.trusted, resultsSurvey{ids: c.ids, mails: c.mails, why: "x"})
		if !strings.Contains(got, c.want) || strings.Contains(got, "set trusted_host =") && !strings.Contains(c.want, "set") {
			t.Errorf("%q: describeRecognition = %s", c.ids, got)
		}
	}
	for name, ok := range map[string]bool{"": true, " MX.Example.org ": true, "*.example.org": true, "localhost": true, "*.org": false, "*.co.uk": false, "*": false, "*.": false, "mx.example.org;": false, "mx.example.org; x": false, ".example.org": false, "a@b.c": false} {
		if _, err := New(Config{Address: hob, IMAP: "imap.test.local", SMTP: "smtp.test.local", Password: "x", TrustedHost: name}, channels.Deps{}); (err == nil) != ok {
			t.Errorf("%q: New = %v", name, err)
		}
	}
}
