package system

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/zalando/go-keyring"
)

// redacted stands for a secret wherever it would be printed.
const redacted = "[redacted]"

// Secret is a credential. It prints as "[redacted]" in every format, in JSON
// and in logs; Reveal gives the value to whoever needs it.
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

// service is the name under which Hob's secrets are kept in a keychain.
const service = "hob"

// keychainWait bounds a keychain that asks its user to unlock it.
const keychainWait = 20 * time.Second

// maxSecret is the largest secret file, in bytes.
const maxSecret = 64 << 10

// Secrets resolves references to secrets: "env:NAME", "file:PATH" (readable by
// the owner alone) and "keychain:NAME" (macOS Keychain, Windows Credential
// Manager, Secret Service). Any other text is the secret itself. The zero value
// is ready; it may be used concurrently.
type Secrets struct {
	// Getenv replaces os.Getenv; optional.
	Getenv func(string) string
	// Resolved hears of every secret that Resolve hands out, so that it can be
	// kept out of texts; optional. It may be called concurrently.
	Resolved func(ref string, s Secret)
}

// IsReference reports whether the text refers to a secret instead of being one.
func IsReference(s string) bool {
	kind, _, ok := strings.Cut(s, ":")
	return ok && (kind == "env" || kind == "file" || kind == "keychain")
}

// Resolve returns the secret a reference stands for. The error names what is
// missing and how to provide it, never the secret.
func (s Secrets) Resolve(ctx context.Context, ref string) (Secret, error) {
	v, err := s.resolve(ctx, ref)
	if err == nil && s.Resolved != nil {
		s.Resolved(ref, v)
	}
	return v, err
}

func (s Secrets) resolve(ctx context.Context, ref string) (Secret, error) {
	kind, name, _ := strings.Cut(ref, ":")
	if !IsReference(ref) {
		return Secret(ref), nil
	}
	if name == "" {
		return "", fmt.Errorf("the secret reference %q names nothing; write env:NAME, file:PATH or keychain:NAME", ref)
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
	return s.keychain(ctx, name)
}

// Store keeps a secret in the keychain under the name.
func (s Secrets) Store(ctx context.Context, name string, v Secret) error {
	_, err := s.withKeychain(ctx, name, func() (string, error) { return "", keyring.Set(service, name, v.Reveal()) })
	return err
}

// Env reads an environment variable as env: references do.
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
		return "", fmt.Errorf("the secret file %s: %w; create it with the secret as its only line", path, reason(err))
	}
	switch {
	case !fi.Mode().IsRegular():
		return "", fmt.Errorf("the secret file %s is not a regular file", path)
	case fi.Size() > maxSecret:
		return "", fmt.Errorf("the secret file %s is larger than 64 KB; it must hold the secret alone", path)
	case othersMayRead(fi):
		return "", fmt.Errorf("the secret file %s can be read by others (mode %04o); run: chmod 600 %s", path, fi.Mode().Perm(), path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the secret file %s: %w", path, reason(err))
	}
	v := strings.TrimRight(string(b), "\r\n")
	if v == "" {
		return "", fmt.Errorf("the secret file %s is empty", path)
	}
	return Secret(v), nil
}

func (s Secrets) keychain(ctx context.Context, name string) (Secret, error) {
	v, err := s.withKeychain(ctx, name, func() (string, error) { return keyring.Get(service, name) })
	if errors.Is(err, keyring.ErrNotFound) {
		return "", fmt.Errorf("the keychain has no secret %q for Hob; store it with: hob config secret %s", name, name)
	}
	return Secret(v), err
}

// withKeychain gives up when the keychain does not answer in time. The call
// itself cannot be cancelled: it ends when the keychain does answer.
func (s Secrets) withKeychain(ctx context.Context, name string, call func() (string, error)) (string, error) {
	if err := keychainThere(s.Env); err != nil {
		return "", fmt.Errorf("keychain:%s cannot be read: %w; use file:PATH or env:NAME instead", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, keychainWait)
	defer cancel()
	type answer struct {
		v   string
		err error
	}
	c := make(chan answer, 1)
	go func() {
		v, err := call()
		c <- answer{v, err}
	}()
	select {
	case a := <-c:
		if a.err != nil && !errors.Is(a.err, keyring.ErrNotFound) {
			return "", fmt.Errorf("keychain:%s: %w; unlock the keychain, or use file:PATH or env:NAME instead", name, a.err)
		}
		return a.v, a.err
	case <-ctx.Done():
		return "", fmt.Errorf("keychain:%s: the keychain did not answer (%w); unlock it, or use file:PATH or env:NAME instead", name, ctx.Err())
	}
}

// OthersMayRead reports whether the mode of a file lets other users read it.
func OthersMayRead(fi fs.FileInfo) bool { return othersMayRead(fi) }
