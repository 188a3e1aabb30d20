// Package servers prepares [mcp.servers.NAME] sections: it knows some well-known MCP servers (the
// files in known), reads the MCP configuration of Claude, VS Code and Cursor, and returns the
// configuration values of a server. Secrets never become configuration values, only references to
// them. The package starts no server and does not ask the user; cmd/hob calls it.
package servers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os/exec"
	"slices"
	"strings"

	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/redact"
)

// Server is a server to add.
type Server struct {
	Name    string
	Command string // the program; either Command or URL is set
	URL     string // an address
	Args    []string
	Cwd     string
	Folders []string          // folders that the sandboxed program may change
	Env     map[string]string // plain values, secrets in plain text, or references to secrets
	Headers map[string]string
	Effects map[string]string // keyed by tool
	Off     bool              // added, but not enabled
	// Missing lists the variables and headers whose secret is unknown, with a hint for the user.
	Missing map[string]string
	// Notes are remarks for the user.
	Notes []string
}

// Secret is a secret that must be stored.
type Secret struct {
	Name  string // name of the stored secret
	Value string // "" if only the user knows it
	Hint  string // what the user must store if Value is ""
}

// SecretName returns the name of the stored secret for a variable or header of a server.
func SecretName(server, key string) string {
	return "mcp-" + server + "-" + strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, key)
}

// Prepare returns the configuration values of the server and the secrets that must be stored before
// the configuration is written.
func (s Server) Prepare() (values []config.Value, secrets []Secret, err error) {
	section := "mcp.servers." + s.Name
	set := func(key, toml string) { values = append(values, config.Value{Key: section + "." + key, Value: toml}) }
	if err := s.checkArguments(); err != nil {
		return nil, nil, err
	}
	switch {
	case (s.Command == "") == (s.URL == ""):
		return nil, nil, errors.New("the server needs either a program or an address")
	case s.URL != "":
		set("url", encodeTOML(s.URL))
	default:
		set("command", encodeTOML(s.Command))
		if len(s.Args) > 0 {
			set("args", encodeTOML(s.Args))
		}
	}
	if s.Off {
		set("enabled", "false")
	}
	if s.Cwd != "" {
		set("cwd", encodeTOML(s.Cwd))
	}
	if len(s.Folders) > 0 {
		set("folders", encodeTOML(s.Folders))
	}
	for _, part := range []struct {
		name string
		list map[string]string
	}{{"env", s.Env}, {"headers", s.Headers}} {
		for _, key := range slices.Sorted(maps.Keys(part.list)) {
			v := part.list[key]
			hint, missing := s.Missing[key]
			if missing || !system.IsReference(v) && v != "" && looksSecret(key, v) {
				secrets = append(secrets, Secret{Name: SecretName(s.Name, key), Value: v, Hint: hint})
				v = "keychain:" + SecretName(s.Name, key)
			}
			set(part.name+"."+key, encodeTOML(v))
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(s.Effects)) {
		set("effects."+tool, encodeTOML(s.Effects[tool]))
	}
	return values, secrets, nil
}

// encodeTOML returns text or a list as TOML, which is also JSON.
func encodeTOML(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // text and lists of text can always be encoded
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

// plainSetting matches values that are not secrets: paths, addresses, numbers, switches, versions,
// and short lower-case words.
var plainSetting = lazyregexp.New(`^([~/.][^\s]*|[A-Za-z]:\\[^\s]*|https?://[^\s@?]*|[0-9.,:-]+|true|false|yes|no|on|off|[a-z][a-z_-]{0,15}|[a-z]{2}[-_][A-Z]{2})$`)

// looksSecret reports whether a variable or header should be stored as a secret. It returns true in
// case of doubt.
func looksSecret(key, value string) bool {
	k := strings.ToLower(key)
	for _, part := range []string{"key", "token", "secret", "pass", "auth", "cookie", "cred", "dsn", "session"} {
		if strings.Contains(k, part) {
			return true
		}
	}
	return !plainSetting.MatchString(value) || redact.Shapes(value) != value
}

// secretFlag matches command-line flags whose value is a secret.
var secretFlag = lazyregexp.New(`(?i)^--?[a-z0-9_-]*(api[-_]?key|token|secret|passw|auth|cookie|cred|connection[-_]?string)[a-z0-9_-]*(=|$)`)

// checkArguments refuses secrets in arguments and addresses, because config.toml and the process
// list would show them.
func (s Server) checkArguments() error {
	remedy := "remove the secret and pass it as a variable (--env NAME=keychain:SECRET) or header (--header NAME=keychain:SECRET)"
	for i, a := range s.Args {
		flag := secretFlag.FindString(a)
		next := i+1 < len(s.Args) && !strings.HasPrefix(s.Args[i+1], "-")
		if flag != "" && (strings.HasSuffix(flag, "=") && len(a) > len(flag) || !strings.HasSuffix(flag, "=") && next) {
			return fmt.Errorf("the argument %s contains a secret, which config.toml would show; %s", strings.TrimSuffix(flag, "="), remedy)
		}
		if redact.Shapes(a) != a || hasURLSecret(a) {
			return fmt.Errorf("argument %d contains a secret, which config.toml would show; %s", i+1, remedy)
		}
	}
	if redact.Shapes(s.URL) != s.URL || hasURLSecret(s.URL) {
		return fmt.Errorf("the address contains a secret, which config.toml would show; %s", remedy)
	}
	return nil
}

// hasURLSecret reports whether an address contains a password or a query parameter for a secret.
func hasURLSecret(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return false
	}
	if _, ok := u.User.Password(); ok {
		return true
	}
	for name, v := range u.Query() {
		if secretFlag.MatchString("--"+name) && strings.Join(v, "") != "" {
			return true
		}
	}
	return false
}

// unpinnedPackage matches a package of npx or uvx without an exact version.
var unpinnedPackage = lazyregexp.New(`^(@[a-z0-9._~-]+/)?[a-z0-9._~-]+(@(latest|next|[~^*].*))?$`)

// MissingNote returns a warning if the program of the server is not installed, or "".
func (s Server) MissingNote() string {
	if s.Command == "" {
		return ""
	}
	if _, err := exec.LookPath(s.Command); err == nil {
		return ""
	}
	return fmt.Sprintf("the program %s was not found. Install it, or correct [mcp.servers.%s] command: the entry is in config.toml, but Hob cannot start the server until then", s.Command, s.Name)
}

// PinningNote returns a remark if the command downloads a package without a fixed version, or "".
func (s Server) PinningNote() string {
	if !slices.Contains([]string{"npx", "npx.cmd", "bunx", "uvx", "pnpx"}, s.Command) {
		return ""
	}
	for _, a := range s.Args {
		if strings.HasPrefix(a, "-") {
			continue
		}
		if unpinnedPackage.MatchString(a) && !strings.Contains(a, "==") {
			return fmt.Sprintf("%s has no fixed version, so a different version may run at any time; write %s@VERSION", a, cmp.Or(strings.TrimSuffix(a, "@latest"), a))
		}
		return ""
	}
	return ""
}
