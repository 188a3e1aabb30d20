package account

import (
	"os"
	"strings"
	"testing"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/host/vault"
	"hob/platform/pim"
	"hob/platform/pim/pimtest"
)

func newAdder(t *testing.T) Adder {
	t.Helper()
	dir := t.TempDir()
	p := system.Paths{Home: dir, Data: dir, Logs: dir, Runtime: dir}
	secrets := vault.SecretsFor(p)
	secrets.Getenv = func(string) string { return "" }
	return Adder{Paths: p, Secrets: secrets}
}

// A form with unknown certificates stores nothing until the user accepts exactly these certificates.
func TestAdder_AsksBeforeItTrustsCertificates(t *testing.T) {
	d, s := pimtest.StartDovecot(t, ""), pimtest.StartSMTP(t)
	a := newAdder(t)
	in := api.NewMailAccount{Address: "ada@test.local", User: "ada", Password: pimtest.Secret, Servers: map[string]string{pim.IMAP: d.IMAPS, pim.SMTP: s.URL}}
	values, out, err := a.SignIn(t.Context(), &config.Config{}, in)
	if err != nil || len(values) > 0 || len(out.Unknown) != 2 {
		t.Fatalf("SignIn = %v %+v %v, want two unknown certificates", values, out, err)
	}
	if _, err := os.Stat(a.Paths.Home + "/certificates"); err == nil {
		t.Error("a certificate was stored before the user accepted it")
	}
	in.Trust = []string{out.Unknown[0].Fingerprint}
	if values, next, err := a.SignIn(t.Context(), &config.Config{}, in); err != nil || len(values) > 0 || len(next.Unknown) != 1 {
		t.Errorf("with one of two: %v %+v %v", values, next, err)
	}
	in.Trust = append(in.Trust, out.Unknown[1].Fingerprint)
	values, out, err = a.SignIn(t.Context(), &config.Config{}, in)
	if err != nil || len(out.Unknown) > 0 || len(out.Said) != 2 {
		t.Fatalf("with both: %+v %v", out, err)
	}
	if text := strings.Join(keysOf(values), " "); !strings.Contains(text, "accounts.test.ca") || strings.Contains(text, pimtest.Secret) {
		t.Errorf("values = %s", text)
	}
	in.Password = "wrong"
	if _, out, err := a.SignIn(t.Context(), &config.Config{}, in); err == nil || !strings.Contains(err.Error(), "check the password") || len(out.Unknown) > 0 {
		t.Errorf("a wrong password: %+v %v", out, err)
	}
}

func keysOf(values []config.Value) (out []string) {
	for _, v := range values {
		out = append(out, v.Key+"="+v.Value)
	}
	return out
}

func TestAdder_NamesWhatIsMissing(t *testing.T) {
	a := newAdder(t)
	for want, in := range map[string]api.NewMailAccount{
		"password is empty":   {Address: "ada@test.local", Servers: map[string]string{pim.IMAP: "imaps://127.0.0.1:1"}},
		"no address":          {Address: "no address", Password: "x", Servers: map[string]string{pim.IMAP: "imaps://127.0.0.1:1"}},
		"check the name and ": {Address: "ada@test.local", Password: "x", Servers: map[string]string{pim.IMAP: "imaps://127.0.0.1:1"}},
	} {
		if values, _, err := a.SignIn(t.Context(), &config.Config{}, in); err == nil || !strings.Contains(err.Error(), want) || len(values) > 0 {
			t.Errorf("SignIn(%+v) = %v, %v; want %q", in, values, err, want)
		}
	}
}
