package doctor

import (
	"context"
	"errors"

	"hob/platform/system"
)

// checkKeychain looks whether there is a keychain and whether it is open. It puts
// nothing into it, and asks nobody to unlock it.
func checkKeychain(ctx context.Context, e Env) []Check {
	const name = "keychain"
	err := e.Secrets.Keychain(ctx)
	switch {
	case err == nil:
		return ok(name, "available and unlocked")
	case errors.Is(err, system.ErrNoKeychain) && e.Secrets.Fallback != nil:
		return e.vault(ctx, err)
	case errors.Is(err, system.ErrLocked):
		return warn(name, "locked: its secrets cannot be read until you unlock it", "unlock it (log in to the desktop, or open its manager), or store secrets in the encrypted file: hob secret set NAME --file")
	}
	cause, remedy := split(err, "store secrets in the encrypted file: hob secret set NAME --file")
	return warn(name, cause, remedy)
}

// vault looks whether the encrypted file can be read, which takes the keychain's
// place.
func (e Env) vault(ctx context.Context, none error) []Check {
	names, err := e.Secrets.Fallback.Names(ctx)
	if err != nil {
		return failed("keychain", err, "")
	}
	cause, _ := split(none, "")
	if len(names) == 0 {
		return ok("keychain", cause+"; secrets are stored in the encrypted file")
	}
	return ok("keychain", cause+"; the encrypted file contains "+count(len(names), "secret", "secrets"))
}
