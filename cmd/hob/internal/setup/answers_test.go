package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/pim/pimtest"
)

// fromFile applies an answers file with this text.
func fromFile(t *testing.T, o Options, text string) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "answers.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return FromFile(t.Context(), o, path)
}

// A secret in any section of the answers file is stored in the secret store.
func TestAnswers_SecretsAreStored(t *testing.T) {
	o, out := newOptions(t)
	err := fromFile(t, o, `
model = "far/m"
[providers.far]
kind = "openai"
base_url = "http://127.0.0.1:1/v1"
api_key = "sk-section"
[search]
provider = "brave"
key = "brave-section"
[channels.webhook]
url = "https://example.org/hob"
secret = "env:HOOK"
`)
	if err != nil {
		t.Fatal(err)
	}
	c := writtenConfig(t, o)
	p, _ := c.Provider("far")
	for ref, want := range map[string]string{p.APIKey: "sk-section", c.Search.Key: "brave-section"} {
		if got, err := o.Secrets.Resolve(t.Context(), ref); !strings.HasPrefix(ref, "keychain:") || got.Reveal() != want || err != nil {
			t.Errorf("%s: %v", ref, err)
		}
		checkSecretAbsent(t, o.Paths.Home, want)
		if strings.Contains(out.String(), want) {
			t.Error("the output contains the secret")
		}
	}
	if !strings.Contains(out.String(), "providers.far.api_key is stored as far; remove it") || strings.Contains(out.String(), "channels.webhook.secret is stored") {
		t.Error(out)
	}
}

// If the configuration rejects one answer, no secret is changed either.
func TestAnswers_AllOrNone(t *testing.T) {
	o, _ := newOptions(t)
	if err := o.Secrets.Store(t.Context(), "openai", "sk-old"); err != nil {
		t.Fatal(err)
	}
	err := fromFile(t, o, "untested = true\nbrain = \"openai\"\nkey = \"sk-new\"\nmodel = \"m\"\n[agent]\nmax_rounds = 100000\n")
	if err == nil || !strings.Contains(err.Error(), "max_rounds") {
		t.Fatal(err)
	}
	if got, err := o.Secrets.Resolve(t.Context(), "keychain:openai"); got != system.Secret("sk-old") || err != nil {
		t.Errorf("the working key was replaced: %v", err)
	}
}

// The servers that a step found are reported without a terminal, too.
func TestAnswers_ReportTestedServers(t *testing.T) {
	r := pimtest.StartRadicale(t)
	r.Make("Work")
	o, out := newOptions(t)
	err := fromFile(t, o, "mail = \"tester@cal.example\"\nmail_user = \"tester\"\ncaldav = \""+r.URL+"\"\nmail_password = \""+pimtest.Secret+"\"\n")
	if err != nil || !strings.Contains(out.String(), "calendars: Work") {
		t.Errorf("%v %s", err, out)
	}
}

func TestIsSecret(t *testing.T) {
	for key, want := range map[string]bool{"providers.x.api_key": true, "search.key": true, `accounts."a.b".password`: true, "agent.name": false} {
		if config.IsSecret(key) != want {
			t.Error(key)
		}
	}
}
