package setup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/autonomy/config"
	"hob/platform/pim/pimtest"
	"hob/platform/system"
	"hob/platform/vault"
)

// desk is a home without a keychain, with the encrypted file in its place.
func desk(t *testing.T) (Options, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	c, err := config.Load(filepath.Join(dir, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	p := system.Paths{Home: dir, Data: dir, Logs: dir, Runtime: dir}
	var out bytes.Buffer
	return Options{Paths: p, Config: c, Out: &out, Secrets: vault.For(p)}, &out
}

// accountOf reads what was written, which is never the password.
func accountOf(t *testing.T, o Options) (config.Account, string) {
	t.Helper()
	text, err := os.ReadFile(o.Paths.ConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), `"`+pimtest.Secret+`"`) {
		t.Error("the password stands in the configuration")
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

func TestAnAccountIsAskedFor(t *testing.T) {
	r := pimtest.StartRadicale(t)
	r.Make("Work")
	o, out := desk(t)
	ask := &script{answers: []string{
		"built-in brain alone", "", "", "no address", "tester@cal.example", "", "", r.URL, "wrong", "another password", pimtest.Secret,
	}}
	// radicale knows its user by another name than the address
	if err := Run(t.Context(), o, ask); err == nil || !strings.Contains(out.String(), "That does not work") {
		t.Fatal(err, out.String())
	}
	ask = &script{answers: []string{
		"built-in brain alone", "", "", "tester@cal.example", "", "", r.URL, pimtest.Secret, "keep it",
	}}
	if err := Run(t.Context(), o, ask); err != nil || len(ask.answers) != 0 {
		t.Fatal(err, ask.asked)
	}
	a, secret := accountOf(t, o)
	if a.Name != "cal" || a.CalDAV != r.URL || a.Address != "tester@cal.example" || a.Password != "keychain:account-cal" || secret != pimtest.Secret {
		t.Errorf("%+v %s", a, secret)
	}
}

func TestAnAccountThatWorks(t *testing.T) {
	d := pimtest.StartDovecot(t, "")
	o, out := desk(t)
	t.Setenv("SSL_CERT_FILE", d.CA) // this test's only authority
	ask := &script{answers: []string{"built-in brain alone", "", "", "tester@test.local", d.IMAPS, "", "", pimtest.Secret}}
	if err := Run(t.Context(), o, ask); err != nil || len(ask.answers) != 0 {
		t.Fatal(err, ask.asked, out.String())
	}
	if a, secret := accountOf(t, o); a.IMAP != d.IMAPS || secret != pimtest.Secret || !strings.Contains(out.String(), "imap: mail can be read") {
		t.Errorf("%+v %s", a, out.String())
	}
}

// An answers file needs no servers where the table knows them, and the password in
// it goes where it is safe.
func TestAnAccountAmongTheAnswers(t *testing.T) {
	o, _ := desk(t)
	path := filepath.Join(t.TempDir(), "answers.toml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(fmt.Sprintf("model = \"offline\"\n[accounts.mine]\naddress = \"ada@fastmail.com\"\npassword = %q\n", pimtest.Secret))
	if _, err := Answers(t.Context(), o, path); err != nil {
		t.Fatal(err)
	}
	a, secret := accountOf(t, o)
	if a.IMAP != "imap.fastmail.com" || a.CalDAV != "https://caldav.fastmail.com/" || a.Password != "keychain:account-mine" || secret != pimtest.Secret {
		t.Errorf("%+v", a)
	}
	write("[accounts.x]\naddress = \"ada@nowhere.example\"\npassword = \"env:X\"\n")
	if _, err := Answers(t.Context(), o, path); err == nil || !strings.Contains(err.Error(), "are not known") {
		t.Error(err)
	}
}
