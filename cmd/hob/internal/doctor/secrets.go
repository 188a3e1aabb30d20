package doctor

import (
	"context"
	"errors"
	"fmt"

	"hob/platform/host/system"
	"hob/platform/text/textnorm"
)

// checkSecrets checks that the referenced secrets are readable, and reports where they are
// stored.
func checkSecrets(ctx context.Context, e Env) []Check {
	keys, refs := e.Config.References()
	var out []Check
	for i, ref := range refs {
		if _, err := e.Secrets.Resolve(ctx, ref); err != nil {
			out = append(out, failWithError("secrets", fmt.Errorf("%s = %q: %w", keys[i], ref, err), "")...)
		}
	}
	if len(out) > 0 {
		return out
	}
	list, err := e.Secrets.List(ctx)
	if err != nil {
		return failWithError("secrets", err, "")
	}
	file := 0
	for _, k := range list {
		if k.Where == system.InFile {
			file++
		}
	}
	switch {
	case len(list)+len(refs) == 0:
		return okCheck("secrets", "no secrets stored or referred to")
	case file > 0:
		return okCheck("secrets", fmt.Sprintf("%d stored, %d of them in the encrypted file %s", len(list), file, e.Paths.SecretsFile()))
	}
	return okCheck("secrets", fmt.Sprintf("%d stored; all references in the configuration are readable", len(list)))
}

// checkKeychain checks that a keychain exists and is unlocked. It stores nothing and shows no
// unlock dialog.
func checkKeychain(ctx context.Context, e Env) []Check {
	const name = "keychain"
	err := e.Secrets.CheckKeychain(ctx)
	switch {
	case err == nil:
		return okCheck(name, "available and unlocked")
	case errors.Is(err, system.ErrNoKeychain) && e.Secrets.Fallback != nil:
		return e.checkVault(ctx, err)
	case errors.Is(err, system.ErrLocked):
		return warnCheck(name, "locked: its secrets cannot be read until you unlock it", "unlock it (log in to the desktop, or open its manager), or store secrets in the encrypted file: hob secret set NAME --file")
	}
	cause, remedy := splitRemedy(err, "store secrets in the encrypted file: hob secret set NAME --file")
	return warnCheck(name, cause, remedy)
}

// checkVault checks that the encrypted file, which replaces the keychain, is readable.
func (e Env) checkVault(ctx context.Context, none error) []Check {
	names, err := e.Secrets.Fallback.Names(ctx)
	if err != nil {
		return failWithError("keychain", err, "")
	}
	cause, _ := splitRemedy(none, "")
	if len(names) == 0 {
		return okCheck("keychain", cause+"; secrets are stored in the encrypted file")
	}
	return okCheck("keychain", cause+"; the encrypted file contains "+textnorm.CountNoun(len(names), "secret", "secrets"))
}
