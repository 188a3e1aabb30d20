package slack_test

import (
	"slices"
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/slack"
	"hob/channels/slack/slacktest"
)

// TestAllow_ByAddress checks that addresses in allow match only members of Hob's own workspace.
func TestAllow_ByAddress(t *testing.T) {
	d := slacktest.New(t)
	who := func(id, mail string, more object) object {
		u := object{"id": id, "team_id": slacktest.Team, "profile": object{"email": mail}}
		for k, v := range more {
			u[k] = v
		}
		return u
	}
	d.Members = map[string]object{
		"ada@example.com":   who("U0ADA", "Ada@Example.com", nil),
		"gone@example.com":  who("U0GONE", "gone@example.com", object{"deleted": true}),
		"bot@example.com":   who("U0BOT", "bot@example.com", object{"is_bot": true}),
		"guest@example.com": who("U0GUEST", "guest@example.com", object{"is_stranger": true}),
		"eve@example.com":   who("U0EVE", "eve@example.com", object{"team_id": "T0OTHER"}),
		"alias@example.com": who("U0ALIAS", "other@example.com", nil),
		"blind@example.com": who("U0BLIND", "", nil),
		"odd@example.com":   who("T0/U0ADA", "odd@example.com", nil),
	}
	d.Allow = []string{"U0BEN", "ADA@example.com", "gone@example.com", "bot@example.com", "guest@example.com", "eve@example.com", "alias@example.com", "blind@example.com", "odd@example.com", "none@example.com"}
	d.Granted = strings.Join(append(slack.Scopes(), slack.MailScope), ",")
	c := d.Open()
	if got := c.Allow(); len(got) > 0 {
		t.Errorf("Allow() before the sign-in = %q", got)
	}
	in := &channelstest.Inbox{}
	stop := startListening(t, c, in)
	if got, want := c.Allow(), []string{slacktest.Team + "/U0BEN", slacktest.Team + "/U0ADA"}; !slices.Equal(got, want) {
		t.Errorf("Allow() = %q, want %q", got, want)
	}
	tested, err := c.Test(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{c.DescribeStatus(), tested} {
		if !strings.Contains(said, "no member has the address none@example.com in allow") || strings.Contains(said, "ada@") {
			t.Errorf("%q", said)
		}
	}
	_ = stop()

	// An address that cannot be resolved allows no one, and the owner sees the reason.
	d.Failing("users.lookupByEmail", slacktest.Failure{Code: "fatal_error"})
	if _, err := c.Test(t.Context()); channels.ClassOf(err) != channels.Temporary {
		t.Errorf("Test while Slack fails = %v", err)
	}
	d.Failing("users.lookupByEmail", slacktest.Failure{Code: "access_denied"})
	stop = startListening(t, c, in)
	if said := c.DescribeStatus(); len(c.Allow()) != 1 || !strings.Contains(said, "the address ada@example.com in allow matches no member") {
		t.Errorf("status %q, Allow() = %q", said, c.Allow())
	}
	_ = stop()
	d.Granted = ""
	for what, err := range map[string]error{"Run": c.Run(t.Context(), in), "Test": func() error { _, err := c.Test(t.Context()); return err }()} {
		if channels.ClassOf(err) != channels.Unauthorized || !strings.Contains(err.Error(), slack.MailScope) || !strings.Contains(err.Error(), "hob channel add slack") {
			t.Errorf("%s without the scope: %v", what, err)
		}
	}
	if got := c.Allow(); len(got) != 1 {
		t.Errorf("Allow() without the scope = %q", got)
	}
	if strings.Contains(slack.Manifest(""), slack.MailScope) {
		t.Error("the manifest asks for the scope without need")
	}
}
