package doctor

import (
	"context"
	"errors"

	"hob/platform/system"
)

// checkKeychain checks that a keychain exists and is unlocked. It stores nothing and shows no
// unlock dialog.
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

// vault checks that the encrypted file is readable, which replaces the keychain.
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
