package config

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"hob/platform/host/system"
)

// PlainSecret is a key whose value is a secret instead of a reference.
type PlainSecret struct {
	Key   string // in dotted form, for example "providers.anthropic.api_key"
	Line  int
	Value system.Secret
}

// Name returns the name for storing the secret elsewhere. It is the key without a last part that
// only marks it as a secret, for example "anthropic" for providers.anthropic.api_key.
func (p PlainSecret) Name() string {
	parts := splitKey(p.Key)
	last := parts[len(parts)-1]
	name := strings.Join(parts, ".")
	if len(parts) == 3 && (parts[0] == "providers" || parts[0] == "channels" || parts[0] == "triggers" || parts[0] == "accounts") {
		name = parts[1]
		if parts[0] != "providers" || last != "api_key" {
			name = strings.Join(parts, ".")
		}
	}
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, name)
}

// IsSecret reports whether the value of a dotted key is a secret or a reference to one.
func IsSecret(key string) bool {
	return isSecretPath(splitKey(key))
}

// PlainSecrets lists the secrets that are in the file itself, in order.
func (c *Config) PlainSecrets() []PlainSecret {
	var out []PlainSecret
	for i := range c.doc.entries {
		e := &c.doc.entries[i]
		if e.isHeader() || !isSecretPath(e.path) || len(e.data) == 0 || system.IsReference(string(e.data)) {
			continue
		}
		out = append(out, PlainSecret{Key: joinKey(e.path), Line: e.line, Value: system.Secret(e.data)})
	}
	return out
}

// References lists the keys whose values refer to a secret, and the references, each once.
func (c *Config) References() (keys, refs []string) {
	for i := range c.doc.entries {
		e := &c.doc.entries[i]
		ref := string(e.data)
		if e.isHeader() || !isSecretPath(e.path) || !system.IsReference(ref) || slices.Contains(refs, ref) {
			continue
		}
		keys, refs = append(keys, joinKey(e.path)), append(refs, ref)
	}
	return keys, refs
}

func (c *Config) warnPlainSecrets(fi fs.FileInfo) {
	for _, p := range c.PlainSecrets() {
		w := fmt.Sprintf("%s:%d: %s contains the secret itself, which other programs and every copy of the file expose", c.doc.file, p.Line, p.Key)
		if fi != nil && system.OthersMayRead(fi) {
			w += fmt.Sprintf(", and other users can read the file (chmod 600 %s)", system.QuoteForShell(c.doc.file))
		}
		c.Warnings = append(c.Warnings, w+"; move the secret to a safe place: hob secret adopt "+p.Key)
	}
}
