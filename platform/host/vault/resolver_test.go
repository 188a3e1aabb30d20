package vault

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/platform/host/system"
	"hob/platform/text/redact"
)

// newResolver returns a resolver of an empty home, and the texts that Hob redacts.
func newResolver(t *testing.T, instead func(context.Context, string) (string, error)) (*SecretResolver, *redact.Set, string) {
	t.Helper()
	dir := t.TempDir()
	known := &redact.Set{}
	return NewSecretResolver(system.Paths{Home: dir, Data: dir, Logs: dir, Runtime: dir}, known, instead), known, dir
}

// TestSecretResolver_RedactsWhatItResolves checks that a secret that Hob has read appears in none
// of its output, even if a server repeats the secret in an error.
func TestSecretResolver_RedactsWhatItResolves(t *testing.T) {
	const fromEnv, fromFile, byName = "sk-env-0123456789abcdef", "file-secret-0123456789", "named-0123456789abcdef"
	r, known, dir := newResolver(t, nil)
	t.Setenv("HOB_TEST_TOKEN", fromEnv)
	t.Setenv("HOB_TEST_KEY", byName)
	path := filepath.Join(dir, "token")
	failOnError(t, os.WriteFile(path, []byte(fromFile+"\n"), 0o600))
	for ref, want := range map[string]string{"env:HOB_TEST_TOKEN": fromEnv, "file:" + path: fromFile} {
		if got, err := r.Resolve(ref); got != want || err != nil {
			t.Errorf("Resolve(%q) = %q, %v", ref, got, err)
		}
	}
	if got := r.Env("HOB_TEST_KEY"); got != byName {
		t.Errorf("Env = %q", got)
	}
	for _, secret := range []string{fromEnv, fromFile, byName} {
		if got := known.Text("the server answered: invalid key " + secret); strings.Contains(got, secret) {
			t.Errorf("a resolved secret is not redacted: %q", got)
		}
	}
}

// TestSecretResolver_ReportsMissingSecrets checks that the error names the reference and the
// remedy, and that no other value replaces a secret that cannot be read.
func TestSecretResolver_ReportsMissingSecrets(t *testing.T) {
	r, _, _ := newResolver(t, nil)
	got, err := r.Resolve("env:HOB_TEST_MISSING")
	if got != "" || err == nil || !strings.Contains(err.Error(), "HOB_TEST_MISSING") {
		t.Errorf("Resolve = %q, %v, want an error that names the variable", got, err)
	}
	if got, err := r.ResolveReference("plain text"); got != "plain text" || err != nil {
		t.Errorf("ResolveReference of a plain value = %q, %v", got, err)
	}
	if _, err := r.ResolveReference("env:HOB_TEST_MISSING"); err == nil {
		t.Error("ResolveReference returned no error for a missing secret")
	}
}

// TestSecretResolver_SimulationReadsNoSecret checks that a simulation does not read the user's real
// secrets.
func TestSecretResolver_SimulationReadsNoSecret(t *testing.T) {
	t.Setenv("HOB_TEST_TOKEN", "sk-env-0123456789abcdef")
	none := errors.New("not in a simulation")
	r, _, _ := newResolver(t, func(_ context.Context, ref string) (string, error) {
		if ref == "env:HOB_TEST_TOKEN" {
			return "", none
		}
		return "played", nil
	})
	if got, err := r.Resolve("env:HOB_TEST_TOKEN"); got != "" || !errors.Is(err, none) {
		t.Errorf("Resolve = %q, %v, want the simulation's answer", got, err)
	}
	if got, err := r.ResolveReference("keychain:mail"); got != "played" || err != nil {
		t.Errorf("ResolveReference = %q, %v", got, err)
	}
}
