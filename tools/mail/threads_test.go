package mail

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"hob/platform/provenance"
	"hob/tools"
)

func TestSummarizeThread(t *testing.T) {
	by, put, now := triageBox(t)
	day := func(n int) time.Time { return now.AddDate(0, 0, -n) }
	at := func(n int) string { return "Date: " + day(n).Format(time.RFC1123Z) }
	put("INBOX", mailOf("Hello,\n\nI looked at the roof. Twelve tiles are broken and the gutter leaks. The offer for\nall of it is 4,200 EUR.\n\nBob\n-- \nBob Builder Ltd.", "From: Bob Builder <bob@builder.example>", "Subject: Roof repair", "Message-ID: <r1@x>", at(3)), day(3))
	put("Sent", mailOf("Bob,\n\n4,200 EUR is fine. Can you start on Tuesday?\n\nOn 24 Nov 2026 at 10:00 Bob wrote:\n> The offer for all of it is 4,200 EUR.", "From: Tester <tester@test.local>", "Subject: Re: Roof repair", "Message-ID: <r2@x>", "In-Reply-To: <r1@x>", at(2)), day(2))
	put("Archive", mailOf("Tuesday does not work, we come on Thursday at 8 with two people. Please keep the driveway free until Friday.\n\n> Can you start on Tuesday?\n> > The offer for all of it is 4,200 EUR.\n\nThanks!", "From: Bob Builder <bob@builder.example>", "Subject: Thursday instead", "Message-ID: <r3@x>", "References: <r1@x> <r2@x>", at(1)), day(1))
	put("INBOX", mailOf("Our stable roof raffle: win a pony!", "From: Pony Club <pony@club.example>", "Subject: Roof repair", at(0)), day(0))
	call := func(args string) (tools.Result, error) {
		return by["email_summarize_thread"].Call(t.Context(), tools.Call{Args: json.RawMessage(args), Now: now})
	}
	r, err := call(`{"subject":"roof repair"}`)
	if err != nil {
		t.Fatal(err)
	}
	out := r.Data.(threadOut)
	if out.Count != 3 || len(out.People) != 2 || out.Others != 1 || strings.Contains(r.Text, "pony") || strings.Count(r.Text, "The offer for all of it") != 1 || r.Source != provenance.Outside {
		t.Errorf("%+v", out)
	}
	for _, want := range []string{
		`"Roof repair": 3 emails by Bob Builder <bob@builder.example>, Tester <tester@test.local>, Tue 24 Nov to yesterday.`,
		`- you, Wed 25 Nov at 10:00: "4,200 EUR is fine. … Can you start on Tuesday?"`, "Not answered yet:\n- Bob Builder <bob@builder.example>: \"Please keep the driveway free until Friday.\", by today",
		"Asked earlier, with later answers:\n- you: \"Can you start on Tuesday?\"", "we come on Thursday at 8", "Amounts: 4,200 EUR",
	} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q is missing:\n%s", want, r.Text)
		}
	}
	t.Run("an email without references, by its id", func(t *testing.T) {
		r, err := call(`{"subject":"` + out.Mails[2].ID + `"}`)
		if err != nil || r.Data.(threadOut).Count != 3 {
			t.Errorf("%v %s", err, r.Text)
		}
		put("INBOX", mailOf("One more thing.", "From: Bob Builder <bob@builder.example>", "Subject: RE: Roof repair", at(0)), day(0))
		put("INBOX", mailOf("I win.", "From: Eve <eve@evil.example>", "Subject: Re: Roof repair", at(0)), day(0))
		if r, err = call(`{"subject":"bob builder"}`); err != nil || r.Data.(threadOut).Count != 4 || strings.Contains(r.Text, "I win") {
			t.Errorf("%v %s", err, r.Text)
		}
	})
	for args, code := range map[string]tools.Code{`{"subject":" "}`: tools.InvalidArguments, `{"subject":"zebra"}`: tools.NotFound, `{"subject":"work/1/9999/INBOX"}`: tools.NotFound, `{"subject":"x","account":"y"}`: tools.NotFound} {
		if _, err := call(args); tools.CodeOf(err) != code {
			t.Errorf("email_summarize_thread %s = %v, want %s", args, err, code)
		}
	}
}
