// Package system manages Hob's files on this machine and the resources that Hob shares with other
// processes: folders (Paths), the single-instance lock (Acquire), the start of a detached daemon
// (Detach), time zones (Zone), secret references (Secrets) and private files (WriteFile,
// EnsureToken).
//
// It applies no policy and starts nothing on its own. The commands, the configuration and the
// composition root call it.
package system

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Paths contains the folders of one Hob home. If HOB_HOME is set, all of them are below that
// folder. Otherwise they are in the operating system's usual folders.
type Paths struct {
	Home    string // config.toml, SOUL.md, USER.md, token
	Data    string // hob.db, backups, undo, the lock
	Logs    string
	Runtime string // short-lived files such as sockets
	// Settings is the system's default folder for Home if HOB_HOME selects another folder;
	// otherwise "".
	Settings string
}

// DefaultPaths resolves the folders from the environment of this process. It creates nothing; see
// Ensure.
func DefaultPaths() (Paths, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return ResolvePaths(runtime.GOOS, home, os.Getenv)
}

// ResolvePaths implements DefaultPaths for a given system, user folder and environment.
func ResolvePaths(goos, userHome string, getenv func(string) string) (Paths, error) {
	if h := getenv("HOB_HOME"); h != "" {
		h, err := absolutePath(h, userHome)
		if err != nil {
			return Paths{}, fmt.Errorf("HOB_HOME: %w", err)
		}
		p := Paths{Home: h, Data: h, Logs: filepath.Join(h, "logs"), Runtime: filepath.Join(h, "run")}
		if usual, err := usualPaths(goos, userHome, getenv); err == nil && usual.Home != h {
			p.Settings = usual.Home
		}
		return p, nil
	}
	return usualPaths(goos, userHome, getenv)
}

// usualPaths returns the operating system's usual folders.
func usualPaths(goos, userHome string, getenv func(string) string) (Paths, error) {
	if userHome == "" {
		return Paths{}, errors.New("no home folder (HOME is not set); set HOB_HOME to a folder for Hob")
	}
	switch goos {
	case "darwin":
		s := filepath.Join(userHome, "Library", "Application Support", "Hob")
		return Paths{Home: s, Data: s, Logs: filepath.Join(userHome, "Library", "Logs", "Hob"), Runtime: filepath.Join(s, "run")}, nil
	case "windows":
		roaming := firstNonEmpty(getenv("APPDATA"), filepath.Join(userHome, "AppData", "Roaming"))
		local := firstNonEmpty(getenv("LOCALAPPDATA"), filepath.Join(userHome, "AppData", "Local"))
		d := filepath.Join(local, "Hob")
		return Paths{Home: filepath.Join(roaming, "Hob"), Data: d, Logs: filepath.Join(d, "logs"), Runtime: filepath.Join(d, "run")}, nil
	}
	// XDG Base Directory Specification 0.8: relative values are ignored.
	xdg := func(name string, def ...string) string {
		if v := getenv(name); filepath.IsAbs(v) {
			return filepath.Join(v, "hob")
		}
		return filepath.Join(append([]string{userHome}, def...)...)
	}
	p := Paths{
		Home: xdg("XDG_CONFIG_HOME", ".config", "hob"),
		Data: xdg("XDG_DATA_HOME", ".local", "share", "hob"),
		Logs: xdg("XDG_STATE_HOME", ".local", "state", "hob"),
	}
	p.Runtime = filepath.Join(p.Data, "run")
	if v := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(v) {
		p.Runtime = filepath.Join(v, "hob")
	}
	return p, nil
}

func firstNonEmpty(a ...string) string {
	for _, s := range a {
		if s != "" {
			return s
		}
	}
	return ""
}

func absolutePath(path, userHome string) (string, error) {
	path, err := expandHome(path, userHome)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// Expand replaces a leading "~" with the user's home folder and returns a clean path. Relative
// paths remain relative.
func Expand(path string) (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return expandHome(path, home)
}

func expandHome(path, home string) (string, error) {
	if path == "~" || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, `~\`) {
		if home == "" {
			return "", fmt.Errorf("cannot expand %q: HOME is not set; write the absolute path", path)
		}
		return filepath.Join(home, path[1:]), nil
	}
	if strings.HasPrefix(path, "~") {
		return "", fmt.Errorf("%q names another user's folder; write the absolute path", path)
	}
	return filepath.Clean(path), nil
}

// ConfigFile returns the path of config.toml.
func (p Paths) ConfigFile() string { return filepath.Join(p.Home, "config.toml") }

// SoulFile returns the path of SOUL.md.
func (p Paths) SoulFile() string { return filepath.Join(p.Home, "SOUL.md") }

// UserFile returns the path of USER.md.
func (p Paths) UserFile() string { return filepath.Join(p.Home, "USER.md") }

// MemoryFile returns the path of MEMORY.md.
func (p Paths) MemoryFile() string { return filepath.Join(p.Home, "MEMORY.md") }

// AgentsFile returns the path of AGENTS.md, which Hob writes for the user to read.
func (p Paths) AgentsFile() string { return filepath.Join(p.Home, "AGENTS.md") }

// AgentDir returns the folder of an agent other than the default one.
func (p Paths) AgentDir(name string) string { return filepath.Join(p.Home, "agents", name) }

// TemplatesDir returns the folder for the user's own templates.
func (p Paths) TemplatesDir() string { return filepath.Join(p.Home, "templates") }

// TemplateState returns the folder that contains the installed template and the previous content of
// the files that it changed.
func (p Paths) TemplateState() string { return filepath.Join(p.TemplatesDir(), ".state") }

// SkillsDir returns the folder for skills.
func (p Paths) SkillsDir() string { return filepath.Join(p.Home, "skills") }

// SkillTrustFile returns the path of the file with the digests of the skills that the user trusts.
func (p Paths) SkillTrustFile() string { return filepath.Join(p.Home, "skills.trust") }

// PolicyDir returns the folder for the user's own rules about tool calls.
func (p Paths) PolicyDir() string { return filepath.Join(p.Home, "policy") }

// HookPins returns the path of the digests of the hooks' programs. They describe files of this
// machine, so they are not stored in the database, which several machines may share.
func (p Paths) HookPins() string { return filepath.Join(p.Home, "hooks.pins") }

// TokenFile returns the path of the HTTP API's bearer token.
func (p Paths) TokenFile() string { return filepath.Join(p.Home, "token") }

// SecretsFile returns the path of the file with encrypted secrets, which is used without a
// keychain.
func (p Paths) SecretsFile() string { return filepath.Join(p.Home, "secrets.age") }

// SecretNames returns the path of the file that lists the names of the secrets in the keychain.
func (p Paths) SecretNames() string { return filepath.Join(p.Home, "secrets.names") }

// Identity returns the path of the key of SecretsFile. It is in the system's settings folder, even
// if HOB_HOME selects another home; see ResolvePaths.
func (p Paths) Identity() string {
	if p.Settings == "" {
		return filepath.Join(p.Home, "secrets.identity")
	}
	return filepath.Join(p.Settings, "secrets.identity")
}

// Own returns the folders of Hob that no tool may access.
func (p Paths) Own() []string {
	own := []string{p.Home, p.Data, p.Logs, p.Runtime}
	if p.Settings != "" {
		own = append(own, p.Settings)
	}
	return own
}

// AuditKeyFile returns the path of the audit log's key, which is not stored in the database
// that it protects.
func (p Paths) AuditKeyFile() string { return filepath.Join(p.Home, "audit.key") }

// AuditAnchorFile returns the path of the file in which Hob periodically records the end of the
// audit log.
func (p Paths) AuditAnchorFile() string { return filepath.Join(p.Home, "audit.anchor") }

// TombstoneFile returns the path of the file with the revocations and erasures that a restored
// backup must not undo.
func (p Paths) TombstoneFile() string { return filepath.Join(p.Home, "tombstones") }

// Database returns the path of the SQLite file.
func (p Paths) Database() string { return filepath.Join(p.Data, "hob.db") }

// Backups returns the folder for copies of the database.
func (p Paths) Backups() string { return filepath.Join(p.Data, "backups") }

// Index returns the folder of the memory index, which can be rebuilt.
func (p Paths) Index() string { return filepath.Join(p.Data, "index") }

// Pictures returns the folder for generated pictures.
func (p Paths) Pictures() string { return filepath.Join(p.Data, "pictures") }

// Browser returns the folder of the profile of Hob's browser, which contains cookies and logins.
func (p Paths) Browser() string { return filepath.Join(p.Data, "browser") }

// ChannelDir returns the folder for the files that a channel writes at run time.
func (p Paths) ChannelDir(name string) string { return filepath.Join(p.Data, "channels", name) }

// UndoDir returns the folder for the data that is needed to undo file changes.
func (p Paths) UndoDir() string { return filepath.Join(p.Data, "undo") }

// ConfigUndoDir returns the folder for previous versions of config.toml.
func (p Paths) ConfigUndoDir() string { return filepath.Join(p.UndoDir(), "config") }

// LogFile returns the path of the log of a detached daemon.
func (p Paths) LogFile() string { return filepath.Join(p.Logs, "hob.log") }

// UpdateFile returns the path of the file with the time and result of the last update check.
func (p Paths) UpdateFile() string { return filepath.Join(p.Data, "update.json") }

// LockFile returns the path of the single-instance lock, which protects Data.
func (p Paths) LockFile() string { return filepath.Join(p.Data, "hob.lock") }

// EndpointFile returns the path of the file in which the running daemon stores its address; see
// Endpoint. It is in the same folder as the lock, because folders for temporary files are not
// reliable.
func (p Paths) EndpointFile() string { return filepath.Join(p.Data, "endpoint.json") }

// Ensure creates the missing folders with access for the user only (0700), and checks that
// they are writable.
func (p Paths) Ensure() error {
	for _, d := range []string{p.Home, p.Data, p.Logs, p.Runtime} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("cannot create the folder %s: %w; %s", d, innermostError(err), writeRemedy(err, "set HOB_HOME to a folder that you may write to"))
		}
	}
	for _, d := range []string{p.Home, p.Data} {
		if err := Writable(d); err != nil {
			return err
		}
	}
	return nil
}

// Writable returns an error if files cannot be created and written in the folder. The error states
// the cause and a remedy.
func Writable(dir string) error {
	const other = "make it writable or set HOB_HOME to another folder"
	f, err := os.CreateTemp(dir, ".write-test-*")
	if err != nil {
		return fmt.Errorf("cannot write to the folder %s: %w; %s", dir, innermostError(err), writeRemedy(err, other))
	}
	name := f.Name()
	_, err = f.WriteString("x") // a full disk still accepts empty files
	if err = errors.Join(err, f.Close()); err != nil {
		err = fmt.Errorf("cannot write to the folder %s: %w; %s", dir, innermostError(err), writeRemedy(err, other))
	}
	return errors.Join(err, os.Remove(name))
}

// writeRemedy returns the remedy for a failed write; other is used for unknown causes.
func writeRemedy(err error, other string) string {
	switch {
	case diskFull(err):
		return "free some space on its disk"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "raise the limit on open files (ulimit -n), or close some programs"
	}
	return other
}

// innermostError removes the operation and the path from an error, because the caller's message contains them.
func innermostError(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}
