package acp

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"hob/platform/host/system"
	"hob/platform/text/lazyregexp"
)

// isBaseVariable reports whether every agent gets the variable name: paths, locale and network
// settings. No such variable holds a key. Variables with the prefix HOB_ are never passed.
func isBaseVariable(name string) bool {
	switch n := strings.ToUpper(name); {
	case strings.HasPrefix(n, "LC_"), strings.HasPrefix(n, "XDG_") && strings.HasSuffix(n, "_HOME"):
		return true
	default:
		return slices.Contains(strings.Fields(`PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TEMP TMP
			HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS
			APPDATA LOCALAPPDATA USERPROFILE HOMEDRIVE HOMEPATH SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT
			PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 COMMONPROGRAMFILES NUMBER_OF_PROCESSORS OS`), n)
	}
}

var envName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkEnv rejects variables that hold Hob's own secrets.
func checkEnv(entry string) error {
	name, _, _ := strings.Cut(entry, "=")
	switch {
	case !envName.MatchString(name):
		return fmt.Errorf("env %q must be NAME, or NAME=value", name)
	case strings.HasPrefix(strings.ToUpper(name), "HOB_"):
		return fmt.Errorf("env %q belongs to Hob and is never passed to agents", name)
	}
	return nil
}

// childEnv returns the environment for the child, and the values from Env, which must not appear in
// logs.
func (o Options) childEnv() (env, secrets []string, err error) {
	set := map[string]string{}
	for _, e := range o.Environ {
		if name, value, ok := strings.Cut(e, "="); ok && isBaseVariable(name) {
			set[name] = value
		}
	}
	for _, e := range o.Env {
		name, value, given := strings.Cut(e, "=")
		switch {
		case !given:
			if value, given = lookUp(o.Environ, name); !given {
				continue // treat the variable as not listed
			}
		case o.Secret != nil && value != "":
			if value, err = o.Secret(value); err != nil {
				return nil, nil, fmt.Errorf("env %s: %w", name, err)
			}
		}
		set[name] = value
		if len(value) >= 6 { // redacting shorter values would also redact ordinary words
			secrets = append(secrets, value)
		}
	}
	set["TERM"] = "dumb"
	set[system.Marker] = "agent"
	for k, v := range set {
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	return env, secrets, nil
}

func lookUp(environ []string, name string) (string, bool) {
	for _, e := range environ {
		k, v, ok := strings.Cut(e, "=")
		if ok && (k == name || runtime.GOOS == "windows" && strings.EqualFold(k, name)) {
			return v, true
		}
	}
	return "", false
}

// keyLike matches text that looks like a credential.
var keyLike = lazyregexp.New(`(?i)\b(sk-|ghp_|gho_|github_pat_|AIza|xox[abp]-|Bearer\s+)[-A-Za-z0-9_.]{8,}`)

// redactLine removes credentials from a line for the log or an error.
func redactLine(line string, secrets []string) string {
	for _, s := range secrets {
		line = strings.ReplaceAll(line, s, "[redacted]")
	}
	return keyLike.ReplaceAllString(line, "[redacted]")
}
