package command

import (
	"os"
	"path/filepath"
	"strings"

	"hob/platform/host/system"
)

// commandEnviron returns the environment of a command: program folders, home, language and
// time zone. It is built from a list of harmless variables, so that no key, token or proxy
// of Hob reaches a program.
func (j *Analyzer) commandEnviron(temp string) []string {
	out := []string{
		"PATH=" + strings.Join(j.opt.Path, string(filepath.ListSeparator)), "HOME=" + j.opt.Home, "TERM=dumb", "TMPDIR=" + temp, "XDG_CACHE_HOME=" + filepath.Join(temp, "cache"),
		"PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=false", "EDITOR=false", "NO_COLOR=1", "DEBIAN_FRONTEND=noninteractive", "PYTHONDONTWRITEBYTECODE=1",
		"npm_config_cache=" + filepath.Join(temp, "npm"), "GOTOOLCHAIN=local",
		system.Marker + "=command", // its leftover processes get no user rights
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if isEnvAllowed(name) {
			out = append(out, v)
		}
	}
	return out
}

func isEnvAllowed(name string) bool {
	switch name {
	case "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SystemRoot", "SYSTEMROOT", "windir", "COMSPEC", "ComSpec", "PATHEXT", "USERNAME", "USERPROFILE":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}
