package files

import (
	"os"
	"path/filepath"
	"strings"
)

// atHome are protected places below the owner's home: each protects itself and
// all below it.
func atHome() map[string]string {
	out := map[string]string{}
	add := func(why string, places ...string) {
		for _, p := range places {
			out[p] = why
		}
	}
	add("it holds keys or passwords",
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".config/op", ".netrc", "_netrc", ".npmrc",
		".pypirc", ".git-credentials", ".config/git/credentials", ".password-store", ".pgpass", ".my.cnf", ".vault-token",
		".cargo/credentials", ".cargo/credentials.toml", ".terraform.d", ".local/share/keyrings", ".local/share/kwalletd",
		"Library/Keychains", "Library/Cookies", "AppData/Roaming/Microsoft/Credentials", "AppData/Local/Microsoft/Credentials",
		"AppData/Roaming/Microsoft/Protect", "AppData/Roaming/Microsoft/Crypto")
	add("programs start from it by themselves",
		".config/autostart", ".config/systemd", ".local/share/systemd", ".config/environment.d", ".config/plasma-workspace", ".local/share/dbus-1",
		"Library/LaunchAgents", "Library/LaunchDaemons", "AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Startup")
	add("a shell or a tool runs it at its start",
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
		".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".config/fish", ".config/nushell", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc",
		".pam_environment", ".inputrc", ".gitconfig", ".config/git", ".vimrc", ".vim", ".config/nvim", ".emacs", ".emacs.d", ".config/emacs",
		"Documents/PowerShell", "Documents/WindowsPowerShell", ".config/powershell", ".crontab")
	add("it is a browser's profile",
		".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi",
		".config/opera", ".thunderbird", "snap/firefox", "snap/chromium", ".var/app/org.mozilla.firefox", ".var/app/com.google.Chrome",
		"Library/Application Support/Google/Chrome", "Library/Application Support/Firefox", "Library/Application Support/BraveSoftware",
		"Library/Application Support/Microsoft Edge", "Library/Application Support/Chromium", "Library/Application Support/Arc",
		"Library/Safari", "Library/Containers/com.apple.Safari", "AppData/Local/Google/Chrome", "AppData/Local/Microsoft/Edge",
		"AppData/Local/BraveSoftware", "AppData/Roaming/Mozilla", "AppData/Roaming/Thunderbird")
	return out
}

// anywhere are names that are protected wherever they are: a name, or the last
// of two names in a row.
var anywhere = [][]string{
	{".ssh"},
	{".gnupg"},
	{".aws"},
	{".git", "hooks"},
	{".git", "config"},
	{".git", "modules"},
	{".config", "autostart"},
}

// guarded refuses protected places. abs has its links resolved; names compare
// without case, because on many systems ".SSH" opens ".ssh".
func (f *Files) guarded(abs string) error {
	parts := split(abs)
	for _, p := range f.places() {
		if startsFold(parts, p.parts) {
			return f.protected(abs, p.why)
		}
	}
	for i := range parts {
		for _, names := range anywhere {
			if startsFold(parts[i:], names) {
				return f.protected(abs, "it holds keys or starts programs")
			}
		}
	}
	return nil
}

// guardedRepository refuses changes to the inside of a repository.
func (f *Files) guardedRepository(abs string) error {
	for _, c := range split(abs) {
		if strings.EqualFold(c, ".git") {
			return f.protected(abs, "it is the inside of a repository")
		}
	}
	return nil
}

// holdsProtected refuses to move a folder away with a protected place in it.
func (f *Files) holdsProtected(abs string) error {
	parts := split(abs)
	for _, p := range f.places() {
		if !startsFold(p.parts, parts) {
			continue
		}
		if _, err := os.Lstat(p.path); err == nil {
			return f.protected(abs, f.show(p.path)+" lies in it")
		}
	}
	return f.guardedRepository(abs)
}

type protectedPlace struct {
	path  string
	parts []string
	why   string
}

// listPlaces lists the absolute protected places under their configured and
// their resolved names.
func (f *Files) listPlaces() []protectedPlace {
	var out []protectedPlace
	add := func(path, why string) {
		out = append(out, protectedPlace{path: path, parts: split(path), why: why})
	}
	homes := []string{f.home}
	if real, err := filepath.EvalSymlinks(f.home); err == nil && real != f.home {
		homes = append(homes, real)
	}
	for rel, why := range atHome() {
		for _, h := range homes {
			add(filepath.Join(h, filepath.FromSlash(rel)), why)
		}
	}
	for _, p := range f.opt.Protected {
		abs, err := f.expand(p)
		if err != nil || abs == "" {
			continue
		}
		add(filepath.Clean(abs), "it is Hob's own")
		if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
			add(real, "it is Hob's own")
		}
	}
	return out
}

// startsFold reports whether parts begin with prefix, without regard to case.
func startsFold(parts, prefix []string) bool {
	if len(parts) < len(prefix) {
		return false
	}
	for i := range prefix {
		if !strings.EqualFold(parts[i], prefix[i]) {
			return false
		}
	}
	return true
}
