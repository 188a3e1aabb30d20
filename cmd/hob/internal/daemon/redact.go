package daemon

import (
	"strings"

	"hob/platform/system"
)

// resolved makes a secret that was handed out known to what keeps secrets out
// of texts. A variable of the environment counts by its name: an agent's may
// just as well hold a folder.
func (d *Daemon) resolved(ref string, s system.Secret) {
	if name, env := strings.CutPrefix(ref, "env:"); env && !secretive(name) {
		return
	}
	d.redact.Add(s.Reveal())
}

// secretEnv reads a variable in which a provider's key may stand.
func (d *Daemon) secretEnv(name string) string {
	v := d.secrets.Env(name)
	if secretive(name) {
		d.redact.Add(v)
	}
	return v
}

// agentSecret resolves the references in an agent's environment; a value that
// stands there as it is need not be a secret.
func (d *Daemon) agentSecret(value string) (string, error) {
	if !system.IsReference(value) {
		return value, nil
	}
	return d.secret(value)
}

func secretive(name string) bool {
	name = strings.ToUpper(name)
	for _, w := range []string{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "HOOK"} {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}
