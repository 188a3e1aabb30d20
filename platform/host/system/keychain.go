package system

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/sorting"

	"github.com/zalando/go-keyring"
)

// service is the service name of Hob's secrets in a keychain.
const service = "hob"

// keychainWait is the time limit for a keychain, which may show an unlock prompt.
const keychainWait = 20 * time.Second

// ErrNoSecret means that no secret is stored under a name.
var ErrNoSecret = errors.New("no secret with this name")

// ErrNoKeychain means that this session has no keychain.
var ErrNoKeychain = errors.New("no keychain available")

// ErrLocked means that the user must unlock the keychain.
var ErrLocked = errors.New("keychain is locked")

// CheckKeychain checks whether the keychain works. It stores nothing and, if possible, shows no
// unlock prompt. The error wraps ErrNoKeychain or ErrLocked, or states why the keychain does not
// respond.
func (s Secrets) CheckKeychain(ctx context.Context) error {
	if known, err := keychainState(ctx, s.Env); known || err != nil {
		return err
	}
	_, err := s.withKeychain(ctx, "hob-doctor", func() (string, error) { return keyring.Get(service, "hob-doctor") })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}

// SecretStore stores secrets by name. Its errors wrap ErrNoSecret if there is no secret with the
// name. They never contain a secret.
type SecretStore interface {
	Get(ctx context.Context, name string) (string, error)
	Set(ctx context.Context, name, value string) error
	Remove(ctx context.Context, name string) error
	Names(ctx context.Context) ([]string, error)
}

// Places in which a secret may be stored.
const (
	InKeychain = "keychain"
	InFile     = "encrypted file"
)

var secretName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// CheckSecretName returns an error if a name is not valid for a secret.
func CheckSecretName(name string) error {
	if len(name) > 100 || !secretName.MatchString(name) {
		return fmt.Errorf("invalid secret name %q; use at most 100 letters, digits, dots, - and _", name)
	}
	return nil
}

// Keep stores a secret under name: in the keychain, or in Fallback if there is no keychain or file
// is set. It reads the secret back to verify it, and returns where the secret is stored.
func (s Secrets) Keep(ctx context.Context, name string, v Secret, file bool) (where string, err error) {
	if err := CheckSecretName(name); err != nil {
		return "", err
	}
	where = InFile
	if !file {
		where, err = InKeychain, s.setKeychain(ctx, name, v)
		if errors.Is(err, ErrNoKeychain) && s.Fallback != nil {
			where, err = InFile, nil
		}
	}
	if err != nil {
		return "", err
	}
	if where == InFile {
		if s.Fallback == nil {
			return "", fmt.Errorf("store secret %s: %w; use file:PATH or env:NAME instead", name, ErrNoKeychain)
		}
		if err := s.Fallback.Set(ctx, name, v.Reveal()); err != nil {
			return "", err
		}
	} else if err := s.dropOld(ctx, name); err != nil {
		return "", err
	}
	got, err := s.resolveReference(ctx, "keychain:"+name)
	if err != nil {
		return "", fmt.Errorf("the secret stored in the %s cannot be read back: %w", where, err)
	}
	if subtle.ConstantTimeCompare([]byte(got), []byte(v)) != 1 {
		return "", fmt.Errorf("the %s returned a different value from the one that was stored", where)
	}
	return where, nil
}

// dropOld removes a secret from the file after it was stored in the keychain. Otherwise the
// outdated value would be used, because the file is read first.
func (s Secrets) dropOld(ctx context.Context, name string) error {
	if s.Fallback == nil {
		return nil
	}
	if err := s.Fallback.Remove(ctx, name); err != nil && !errors.Is(err, ErrNoSecret) {
		return err
	}
	return nil
}

func (s Secrets) setKeychain(ctx context.Context, name string, v Secret) error {
	_, err := s.withKeychain(ctx, name, func() (string, error) { return "", keyring.Set(service, name, v.Reveal()) })
	if err != nil {
		return err
	}
	return s.updateIndex(func(names []string) []string {
		if slices.Contains(names, name) {
			return names
		}
		return append(names, name)
	})
}

// Store stores a secret under the name; see Keep.
func (s Secrets) Store(ctx context.Context, name string, v Secret) error {
	_, err := s.Keep(ctx, name, v, false)
	return err
}

// Forget removes a secret from every store. It returns ErrNoSecret if no store contains the secret.
// If the keychain does not respond, it returns an error, because the secret may be in the keychain.
func (s Secrets) Forget(ctx context.Context, name string) error {
	if err := CheckSecretName(name); err != nil {
		return err
	}
	found := false
	if s.Fallback != nil {
		switch err := s.Fallback.Remove(ctx, name); {
		case err == nil:
			found = true
		case !errors.Is(err, ErrNoSecret):
			return err
		}
	}
	_, err := s.withKeychain(ctx, name, func() (string, error) { return "", keyring.Delete(service, name) })
	switch {
	case err == nil:
		found = true
	case errors.Is(err, keyring.ErrNotFound), errors.Is(err, ErrNoKeychain):
	default:
		return err
	}
	if err := s.updateIndex(func(names []string) []string {
		return slices.DeleteFunc(names, func(n string) bool { return n == name })
	}); err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%q: %w; see: hob secret list", name, ErrNoSecret)
	}
	return nil
}

// StoredSecret is the name and the store of a secret.
type StoredSecret struct {
	Name  string `json:"name"`
	Where string `json:"where"`
}

// List returns the names of the stored secrets and where each is stored, sorted by name. It returns
// no values. It does not list secrets that another program stored in the keychain.
func (s Secrets) List(ctx context.Context) ([]StoredSecret, error) {
	out := []StoredSecret{}
	if s.Fallback != nil {
		names, err := s.Fallback.Names(ctx)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			out = append(out, StoredSecret{n, InFile})
		}
	}
	names, err := s.indexedNames()
	for _, n := range names {
		if !slices.ContainsFunc(out, func(k StoredSecret) bool { return k.Name == n }) {
			out = append(out, StoredSecret{n, InKeychain})
		}
	}
	sorting.ByFunc(out, func(a, b StoredSecret) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

func (s Secrets) indexedNames() ([]string, error) {
	if s.Index == "" {
		return nil, nil
	}
	b, err := os.ReadFile(s.Index)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("read the list of secret names %s: %w", s.Index, innermostError(err))
	}
	return strings.Fields(string(b)), nil
}

func (s Secrets) updateIndex(change func([]string) []string) error {
	names, err := s.indexedNames()
	if err != nil || s.Index == "" {
		return err
	}
	changed := change(slices.Clone(names))
	if slices.Equal(names, changed) {
		return nil
	}
	return WriteFile(s.Index, []byte(strings.Join(changed, "\n")+"\n"))
}

// findInKeychain reads a secret from Fallback or, if Fallback does not contain it, from the
// keychain.
func (s Secrets) findInKeychain(ctx context.Context, name string) (Secret, error) {
	var ferr error
	if s.Fallback != nil {
		v, err := s.Fallback.Get(ctx, name)
		if err == nil {
			return Secret(v), nil
		}
		if !errors.Is(err, ErrNoSecret) {
			ferr = err
		}
	}
	v, err := s.withKeychain(ctx, name, func() (string, error) { return keyring.Get(service, name) })
	switch {
	case err == nil:
		return Secret(v), nil
	case ferr != nil && (errors.Is(err, keyring.ErrNotFound) || errors.Is(err, ErrNoKeychain)):
		return "", ferr
	case errors.Is(err, keyring.ErrNotFound), errors.Is(err, ErrNoKeychain) && s.Fallback != nil:
		return "", fmt.Errorf("secret %q: %w; store it with: hob secret set %s", name, ErrNoSecret, name)
	}
	return "", err
}

// withKeychain runs call. It returns an error if the keychain does not respond in time. The call
// itself cannot be canceled; it ends when the keychain responds.
func (s Secrets) withKeychain(ctx context.Context, name string, call func() (string, error)) (string, error) {
	if err := keychainThere(s.Env); err != nil {
		return "", fmt.Errorf("read keychain:%s: %w; use file:PATH or env:NAME instead", name, err)
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
	const remedy = "unlock it, or store the secret in the encrypted file: hob secret set %s --file"
	select {
	case a := <-c:
		switch {
		case a.err == nil, errors.Is(a.err, keyring.ErrNotFound):
			return a.v, a.err
		case noService(a.err):
			return "", fmt.Errorf("read keychain:%s: %w (%w); use file:PATH or env:NAME instead", name, ErrNoKeychain, a.err)
		}
		return "", fmt.Errorf("keychain:%s: %w; "+remedy, name, a.err, name)
	case <-ctx.Done():
		return "", fmt.Errorf("read keychain:%s: the keychain did not respond (%w); "+remedy, name, ctx.Err(), name)
	}
}

// noService reports whether the error means that the session bus has no Secret Service
// (https://specifications.freedesktop.org/secret-service/), or that there is no session bus.
func noService(err error) bool {
	s := err.Error()
	return errors.Is(err, keyring.ErrUnsupportedPlatform) || strings.Contains(s, "org.freedesktop.secrets was not provided") ||
		strings.Contains(s, "ServiceUnknown") || strings.Contains(s, "dial unix") && strings.Contains(s, "no such file")
}
