package doctor

import (
	"context"
	"fmt"

	"hob/platform/host/system"
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
