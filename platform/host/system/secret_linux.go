package system

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/session"
)

// keychainThere first checks whether there is a session bus, because connecting without one would
// start a dbus-daemon that never ends.
func keychainThere(getenv func(string) string) error {
	if getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return nil
	}
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "bus")); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: this session has no secret service (no D-Bus session bus)", ErrNoKeychain)
}

// The Secret Service (specifications.freedesktop.org/secret-service).
const (
	secretService = "org.freedesktop.secrets"
	secretPath    = dbus.ObjectPath("/org/freedesktop/secrets")
	secretLogin   = secretPath + "/collection/login"
)

// keychainState queries the state of the service. It does not read a secret, which could show an
// unlock prompt.
func keychainState(ctx context.Context, getenv func(string) string) (known bool, err error) {
	if err := keychainThere(getenv); err != nil {
		return true, err
	}
	address, err := session.Bus(getenv)
	if err != nil {
		return true, fmt.Errorf("%w: %w", ErrNoKeychain, err)
	}
	conn, err := session.Dial(ctx, address)
	if err != nil {
		return true, fmt.Errorf("%w: %w", ErrNoKeychain, err)
	}
	defer conn.Close() //nolint:errcheck // closing loses no data
	all, err := session.Property[[]dbus.ObjectPath](ctx, conn, secretService, secretPath, "org.freedesktop.Secret.Service", "Collections")
	switch {
	case session.IsDBusError(err, "ServiceUnknown", "NameHasNoOwner") || err != nil && strings.Contains(err.Error(), "was not provided"):
		return true, fmt.Errorf("%w: no program provides a secret service in this session", ErrNoKeychain)
	case err != nil:
		return true, fmt.Errorf("the keychain does not respond: %w; log out and in, or store secrets in the encrypted file: hob secret set NAME --file", err)
	}
	at := secretLogin
	if !slices.Contains(all, at) {
		if err := session.Call(ctx, conn, secretService, secretPath, "org.freedesktop.Secret.Service.ReadAlias", []any{"default"}, &at); err != nil || at == "/" {
			return true, fmt.Errorf("%w: no keyring exists yet; create one in the keyring manager", ErrLocked)
		}
	}
	locked, err := session.Property[bool](ctx, conn, secretService, at, "org.freedesktop.Secret.Collection", "Locked")
	switch {
	case err != nil:
		return true, fmt.Errorf("the keychain does not respond: %w; log out and in, or store secrets in the encrypted file: hob secret set NAME --file", err)
	case locked:
		return true, ErrLocked
	}
	return true, nil
}
