package system

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
)

// redacted replaces a secret in printed text.
const redacted = "[redacted]"

// Secret is a credential. It prints as "[redacted]" in every format, in JSON and in logs;
// Reveal returns the value.
type Secret string

// Reveal returns the value.
func (s Secret) Reveal() string { return string(s) }

// String hides the value.
func (Secret) String() string { return redacted }

// GoString hides the value from %#v.
func (Secret) GoString() string { return redacted }

// Format hides the value from every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalText hides the value from encoders.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue hides the value from slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// maxSecret is the largest secret file, in bytes.
const maxSecret = 64 << 10

// Secrets resolves references to secrets: "env:NAME", "file:PATH" (readable only by its owner) and
// "keychain:NAME" (macOS Keychain, Windows Credential Manager, Secret Service, or Fallback). Any
// other text is itself the secret. The zero value is ready for use. It may be used concurrently.
type Secrets struct {
	// Fallback stores secrets if there is no keychain (see platform/host/vault); nil means no fallback.
	Fallback SecretStore
	// Index is a file with the names of the secrets in the keychain, because a keychain cannot list
	// them. "" disables it.
	Index string
	// Getenv replaces os.Getenv, for tests; optional.
	Getenv func(string) string
	// Resolved is called with every secret that Resolve returns, so that the secret can be redacted
	// in text. It is optional and may be called concurrently.
	Resolved func(ref string, s Secret)
}

// IsReference reports whether the text refers to a secret instead of being one.
func IsReference(s string) bool {
	kind, _, ok := strings.Cut(s, ":")
	return ok && (kind == "env" || kind == "file" || kind == "keychain")
}

// Resolve returns the secret that a reference names. The error names the missing part and explains
// how to provide it. It never contains the secret.
func (s Secrets) Resolve(ctx context.Context, ref string) (Secret, error) {
	v, err := s.resolveReference(ctx, ref)
	if err == nil && s.Resolved != nil {
		s.Resolved(ref, v)
	}
	return v, err
}

// Reveal returns the text of the secret that a reference names; see Resolve.
func (s Secrets) Reveal(ctx context.Context, ref string) (string, error) {
	v, err := s.Resolve(ctx, ref)
	return v.Reveal(), err
}

func (s Secrets) resolveReference(ctx context.Context, ref string) (Secret, error) {
	kind, name, _ := strings.Cut(ref, ":")
	if !IsReference(ref) {
		return Secret(ref), nil
	}
	if name == "" {
		return "", fmt.Errorf("the secret reference %q has no name; write env:NAME, file:PATH or keychain:NAME", ref)
	}
	switch kind {
	case "env":
		if v := s.Env(name); v != "" {
			return Secret(v), nil
		}
		return "", fmt.Errorf("the environment variable %s is not set; set it before Hob starts", name)
	case "file":
		return secretFile(name)
	}
	return s.findInKeychain(ctx, name)
}

// Env returns an environment variable in the way that env: references do.
func (s Secrets) Env(name string) string {
	if s.Getenv != nil {
		return s.Getenv(name)
	}
	return os.Getenv(name)
}

func secretFile(name string) (Secret, error) {
	path, err := Expand(name)
	if err != nil {
		return "", err
	}
	fi, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read the secret file %s: %w; create it with the secret as its only line", path, innermostError(err))
	}
	switch {
	case !fi.Mode().IsRegular():
		return "", fmt.Errorf("the secret file %s is not a regular file", path)
	case fi.Size() > maxSecret:
		return "", fmt.Errorf("the secret file %s is larger than 64 KB; it must contain only the secret", path)
	case othersMayRead(fi):
		return "", fmt.Errorf("the secret file %s can be read by others (mode %04o); run: chmod 600 %s", path, fi.Mode().Perm(), QuoteForShell(path))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the secret file %s: %w", path, innermostError(err))
	}
	v := strings.TrimRight(string(b), "\r\n")
	if v == "" {
		return "", fmt.Errorf("the secret file %s is empty", path)
	}
	return Secret(v), nil
}

// OthersMayRead reports whether a file's mode lets other users read it.
func OthersMayRead(fi fs.FileInfo) bool { return othersMayRead(fi) }
