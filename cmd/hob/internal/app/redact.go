package app

import (
	"strings"

	"hob/platform/host/system"
)

// registerSecret registers a resolved secret for redaction. An environment variable counts by its
// name, because an agent's may also contain a folder.
func (d *App) registerSecret(ref string, s system.Secret) {
	if name, env := strings.CutPrefix(ref, "env:"); env && !isSecretName(name) {
		return
	}
	d.redact.Add(s.Reveal())
}

// secretEnv reads a variable that may contain a provider's key.
func (d *App) secretEnv(name string) string {
	v := d.secrets.Env(name)
	if isSecretName(name) {
		d.redact.Add(v)
	}
	return v
}

// agentSecret resolves the references in an agent's environment; a literal value is not treated
// as a secret.
func (d *App) agentSecret(value string) (string, error) {
	if !system.IsReference(value) {
		return value, nil
	}
	return d.resolveSecret(value)
}

func isSecretName(name string) bool {
	name = strings.ToUpper(name)
	for _, w := range []string{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "HOOK"} {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}
