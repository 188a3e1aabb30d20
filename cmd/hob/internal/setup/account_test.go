package setup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hob/autonomy/config"
	"hob/platform/pim"
	"hob/platform/pim/pimtest"
)

// accountOf reads the written account, which never contains the password.
func accountOf(t *testing.T, o Options) (config.Account, string) {
	t.Helper()
	text, err := os.ReadFile(o.Paths.ConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), `"`+pimtest.Secret+`"`) {
		t.Error("the configuration contains the password")
	}
	c, err := config.Load(o.Paths.ConfigFile())
	if err != nil || len(c.Accounts) != 1 {
		t.Fatalf("%v %+v", err, c)
	}
	got, err := o.Secrets.Resolve(t.Context(), c.Accounts[0].Password)
	if err != nil {
		t.Fatal(err)
	}
	return c.Accounts[0], got.Reveal()
}

func TestAccount_IsAskedFor(t *testing.T) {
	r := pimtest.StartRadicale(t)
	r.Make("Work")
	o, out := newOptions(t)
	ask := &script{answers: map[string][]string{
		"mail": {"no address", "tester@cal.example", "tester@cal.example"}, "caldav": {r.URL, r.URL},
		"mail_password": {"wrong", pimtest.Secret}, "what_now": {"again", "again", "keep"},
	}}
	// radicale knows the user by a name other than the address
	if err := Run(t.Context(), o, ask, "account"); err != nil || len(ask.unusedAnswers()) > 0 {
		t.Fatal(err, out.String(), ask.unusedAnswers())
	}
	if !strings.Contains(ask.pages[len(ask.pages)-1].About, "This does not work") {
		t.Error(ask.pages[len(ask.pages)-1])
	}
	a, secret := accountOf(t, o)
	if a.Name != "cal" || a.Server(pim.CalDAV) != r.URL || a.Address != "tester@cal.example" || a.Password != "keychain:account-cal" || secret != pimtest.Secret {
		t.Errorf("accountOf = %+v %s", a, secret)
	}
}

func TestAccount_IsTested(t *testing.T) {
	// A process reads the system's authorities once, and another test may have done so already.
	if os.Getenv("HOB_TEST_ALONE") == "" {
		alone := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAccount_IsTested$")
		alone.Env = append(os.Environ(), "HOB_TEST_ALONE=1")
		if out, err := alone.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	d := pimtest.StartDovecot(t, "")
	o, out := newOptions(t)
	t.Setenv("SSL_CERT_FILE", d.CA) // the only certificate authority of this test
	ask := &script{answers: map[string][]string{"mail": {"tester@test.local"}, "imap": {d.IMAPS}, "mail_password": {pimtest.Secret}}}
	if err := Run(t.Context(), o, ask, "account"); err != nil || len(ask.unusedAnswers()) > 0 {
		t.Fatal(err, ask.asked, out.String())
	}
	if a, secret := accountOf(t, o); a.Server(pim.IMAP) != d.IMAPS || secret != pimtest.Secret || !strings.Contains(out.String(), "imap: mail can be read") {
		t.Errorf("%+v %s", a, out.String())
	}
}

// A server with a certificate of an unknown authority is trusted on request, and no answer is repeated.
func TestAccount_TrustsACertificateOnRequest(t *testing.T) {
	d := pimtest.StartDovecot(t, "")
	o, out := newOptions(t)
	ask := &script{answers: map[string][]string{"mail": {"tester@test.local"}, "imap": {d.IMAPS}, "mail_password": {pimtest.Secret}, "what_now": {"accept"}}}
	if err := Run(t.Context(), o, ask, "account"); err != nil || len(ask.unusedAnswers()) > 0 {
		t.Fatal(err, ask.asked, out.String())
	}
	if about := ask.pages[len(ask.pages)-1].About; !strings.Contains(about, "SHA-256") {
		t.Errorf("the question shows no fingerprint: %q", about)
	}
	if a, secret := accountOf(t, o); a.CA == "" || secret != pimtest.Secret || !strings.Contains(out.String(), "imap: mail can be read") {
		t.Errorf("%+v %s", a, out.String())
	}
}

// An account may have address books, and the user name may differ from the address.
func TestAccount_WithAddressBooks(t *testing.T) {
	r := pimtest.StartRadicale(t)
	r.Make("Work")
	r.MakeBook("people")
	o, out := newOptions(t)
	ask := &script{answers: map[string][]string{
		"mail": {"tester@cal.example"}, "mail_user": {"tester"}, "caldav": {r.URL}, "carddav": {r.URL}, "mail_password": {pimtest.Secret},
	}}
	if err := Run(t.Context(), o, ask, "account"); err != nil || len(ask.unusedAnswers()) > 0 {
		t.Fatal(err, out.String(), ask.asked)
	}
	if a, _ := accountOf(t, o); a.Server(pim.CardDAV) != r.URL || a.User != "tester" {
		t.Errorf("accountOf = %+v", a)
	}
}

// An account in an answers file needs no servers if its provider is known, and its password is
// stored safely.
func TestAccount_InAnAnswersFile(t *testing.T) {
	o, _ := newOptions(t)
	path := filepath.Join(t.TempDir(), "answers.toml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(fmt.Sprintf("model = \"offline\"\n[accounts.mine]\naddress = \"ada@fastmail.com\"\npassword = %q\n", pimtest.Secret))
	if err := FromFile(t.Context(), o, path); err != nil {
		t.Fatal(err)
	}
	a, secret := accountOf(t, o)
	if a.Server(pim.IMAP) != "imap.fastmail.com" || a.Server(pim.CalDAV) != "https://caldav.fastmail.com/" || a.Password != "keychain:account-mine" || secret != pimtest.Secret {
		t.Errorf("%+v", a)
	}
	write("[accounts.x]\naddress = \"ada@nowhere.example\"\npassword = \"env:X\"\n")
	if err := FromFile(t.Context(), o, path); err == nil || !strings.Contains(err.Error(), "are unknown") {
		t.Error(err)
	}
}

// changingLookup returns different servers for each lookup, or none.
type changingLookup struct {
	targets []string
	asked   *int
}

func (f changingLookup) LookupSRV(_ context.Context, service, _, _ string) (string, []*net.SRV, error) {
	if service != "imaps" {
		return "", nil, errors.New("no such name")
	}
	target := f.targets[min(*f.asked, len(f.targets)-1)]
	*f.asked++
	if target == "" {
		return "", nil, errors.New("no answer")
	}
	return "", []*net.SRV{{Target: target, Port: 993}}, nil
}

func (changingLookup) LookupMX(context.Context, string) ([]*net.MX, error) {
	return nil, errors.New("no such name")
}

// A password is sent only to the servers that setup showed the user, whatever the DNS returns
// later.
func TestAccount_PasswordGoesOnlyToShownServers(t *testing.T) {
	for _, later := range []string{"imap.thief.test.", "mail.thief.example.org.", ""} {
		o, _ := newOptions(t)
		o.DNS = changingLookup{[]string{"mail.example.org.", later}, new(int)}
		a := Answers{"mail": "ada@example.org"}
		qs, err := nextOfAccount(t.Context(), o, a)
		if err != nil || len(qs) != 1 || !strings.Contains(qs[0].About, "mail.example.org") {
			t.Fatal(qs, err)
		}
		a["servers"] = "found"
		if qs, err = nextOfAccount(t.Context(), o, a); err != nil || len(qs) != 1 || qs[0].Key != "mail_password" {
			t.Fatal(qs, err)
		}
		a["mail_password"], a[untested] = pimtest.Secret, "true"
		d, err := applyAccount(t.Context(), o, a)
		if got := fmt.Sprint(d.Values); err != nil || !strings.Contains(got, "imaps://mail.example.org:993") || strings.Contains(got, "thief") {
			t.Error(got, err)
		}
	}
}

// If a DNS lookup failed, setup retries it when the user enters the address again.
func TestAccount_RepeatsAFailedLookup(t *testing.T) {
	o, _ := newOptions(t)
	o.DNS = changingLookup{[]string{"", "mail.example.org."}, new(int)}
	a := Answers{"mail": "ada@example.org"}
	for _, want := range []string{"imap", "servers"} {
		if qs, err := nextOfAccount(t.Context(), o, a); err != nil || qs[0].Key != want {
			t.Fatal(qs, err)
		}
	}
}
