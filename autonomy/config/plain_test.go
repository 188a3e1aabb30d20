package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Incident 58 (tools read keys from plain configuration and copied them elsewhere): each plain
// key is reported with the command that moves it, and no output of the configuration shows it.
func TestIncident58KeysInTheClear(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	text := "[providers.work]\nkind = \"openai\"\napi_key = \"canary-1\"\n[providers.safe]\nkind = \"openai\"\napi_key = \"keychain:safe\"\n" +
		"[channels.webhook]\nurl = \"https://x\"\nsecret = 'canary-2'\n[triggers.ci]\naction = \"x\"\nsecret = \"canary-3\"\n[channels.mail]\nlogin = { password = \"canary-4\" }\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"providers.work.api_key": "work", "channels.webhook.secret": "channels.webhook.secret", "triggers.ci.secret": "triggers.ci.secret",
		"channels.mail.login.password": "channels.mail.login.password",
	}
	got := map[string]string{}
	for _, p := range c.PlainSecrets() {
		got[p.Key] = p.Name()
		if s := fmt.Sprintf("%v %+v %q", p, p, p.Value); strings.Contains(s, "canary") {
			t.Errorf("the formatted value contains the secret: %s", s)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v", got)
	}
	warnings := strings.Join(c.Warnings, "\n")
	for key := range want {
		if !strings.Contains(warnings, "hob secret adopt "+key) {
			t.Errorf("no warning about %s in %s", key, warnings)
		}
		v, err := c.Get(key)
		if err != nil || v != "[redacted]" {
			t.Errorf("%s is shown as %v (%v), want [redacted]", key, v, err)
		}
	}
	if strings.Contains(warnings, "canary") || !strings.Contains(warnings, "chmod 600") {
		t.Errorf("%s", warnings)
	}
	if keys, refs := c.References(); fmt.Sprint(keys, refs) != "[providers.safe.api_key] [keychain:safe]" {
		t.Errorf("References = %v %v", keys, refs)
	}
}
