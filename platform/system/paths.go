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

// Paths names the folders of one Hob home. With HOB_HOME set they all lie in
// that folder; otherwise they are the operating system's own places.
type Paths struct {
	Home    string // config.toml, SOUL.md, USER.md, token
	Data    string // hob.db, backups, undo, the lock
	Logs    string
	Runtime string // short-lived files such as sockets
	// Settings is the system's place for Home when HOB_HOME names another one; ""
	// when it does not, or there is none.
	Settings string
}

// DefaultPaths resolves the folders from the environment of this process.
// Nothing is created; see Ensure.
func DefaultPaths() (Paths, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return ResolvePaths(runtime.GOOS, home, os.Getenv)
}

// ResolvePaths is DefaultPaths for a given system, user folder and environment.
func ResolvePaths(goos, userHome string, getenv func(string) string) (Paths, error) {
	if h := getenv("HOB_HOME"); h != "" {
		h, err := absolute(h, userHome)
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

// usualPaths are the operating system's own places.
func usualPaths(goos, userHome string, getenv func(string) string) (Paths, error) {
	if userHome == "" {
		return Paths{}, errors.New("there is no home folder (HOME is not set); set HOB_HOME to a folder of Hob's own")
	}
	switch goos {
	case "darwin":
		s := filepath.Join(userHome, "Library", "Application Support", "Hob")
		return Paths{Home: s, Data: s, Logs: filepath.Join(userHome, "Library", "Logs", "Hob"), Runtime: filepath.Join(s, "run")}, nil
	case "windows":
		roaming := first(getenv("APPDATA"), filepath.Join(userHome, "AppData", "Roaming"))
		local := first(getenv("LOCALAPPDATA"), filepath.Join(userHome, "AppData", "Local"))
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

func first(a ...string) string {
	for _, s := range a {
		if s != "" {
			return s
		}
	}
	return ""
}

func absolute(path, userHome string) (string, error) {
	path, err := expand(path, userHome)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// Expand replaces a leading "~" by the user's folder and returns a clean path.
// Relative paths stay relative.
func Expand(path string) (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return expand(path, home)
}

func expand(path, home string) (string, error) {
	if path == "~" || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, `~\`) {
		if home == "" {
			return "", fmt.Errorf("%q cannot be expanded: HOME is not set; write the whole path", path)
		}
		return filepath.Join(home, path[1:]), nil
	}
	if strings.HasPrefix(path, "~") {
		return "", fmt.Errorf("%q names another user's folder; write the whole path", path)
	}
	return filepath.Clean(path), nil
}

// ConfigFile is the path of config.toml.
func (p Paths) ConfigFile() string { return filepath.Join(p.Home, "config.toml") }

// SoulFile is the path of SOUL.md.
func (p Paths) SoulFile() string { return filepath.Join(p.Home, "SOUL.md") }

// UserFile is the path of USER.md.
func (p Paths) UserFile() string { return filepath.Join(p.Home, "USER.md") }

// MemoryFile is the path of MEMORY.md.
func (p Paths) MemoryFile() string { return filepath.Join(p.Home, "MEMORY.md") }

// AgentsFile is the path of AGENTS.md, which Hob writes for its owner to read.
func (p Paths) AgentsFile() string { return filepath.Join(p.Home, "AGENTS.md") }

// AgentDir is the folder of an agent other than the default one.
func (p Paths) AgentDir(name string) string { return filepath.Join(p.Home, "agents", name) }

// TemplatesDir holds the owner's own templates.
func (p Paths) TemplatesDir() string { return filepath.Join(p.Home, "templates") }

// TemplateState holds which template is in use and what the files said before.
func (p Paths) TemplateState() string { return filepath.Join(p.TemplatesDir(), ".state") }

// PolicyDir holds the owner's own rules about tool calls.
func (p Paths) PolicyDir() string { return filepath.Join(p.Home, "policy") }

// TokenFile is the path of the HTTP API's bearer token.
func (p Paths) TokenFile() string { return filepath.Join(p.Home, "token") }

// SecretsFile is the encrypted file of secrets, for where there is no keychain.
func (p Paths) SecretsFile() string { return filepath.Join(p.Home, "secrets.age") }

// SecretNames is the file with the names of secrets in the keychain.
func (p Paths) SecretNames() string { return filepath.Join(p.Home, "secrets.names") }

// Identity is the key of SecretsFile. It lies in the system's folder for
// settings, also when HOB_HOME names another home; see ResolvePaths.
func (p Paths) Identity() string {
	if p.Settings == "" {
		return filepath.Join(p.Home, "secrets.identity")
	}
	return filepath.Join(p.Settings, "secrets.identity")
}

// Own are Hob's folders, which no tool touches.
func (p Paths) Own() []string {
	own := []string{p.Home, p.Data, p.Logs, p.Runtime}
	if p.Settings != "" {
		own = append(own, p.Settings)
	}
	return own
}

// AuditKeyFile is the path of the key of the audit log, which does not lie in the
// database that it vouches for.
func (p Paths) AuditKeyFile() string { return filepath.Join(p.Home, "audit.key") }

// AuditAnchorFile is where the end of the audit log is noted now and then.
func (p Paths) AuditAnchorFile() string { return filepath.Join(p.Home, "audit.anchor") }

// Database is the path of the SQLite file.
func (p Paths) Database() string { return filepath.Join(p.Data, "hob.db") }

// Backups is the folder for copies of the database.
func (p Paths) Backups() string { return filepath.Join(p.Data, "backups") }

// Index is the folder of the index of the memory, which can be made anew.
func (p Paths) Index() string { return filepath.Join(p.Data, "index") }

// Pictures holds what models painted.
func (p Paths) Pictures() string { return filepath.Join(p.Data, "pictures") }

// Browser is the profile of the browser that Hob drives: its cookies and logins.
func (p Paths) Browser() string { return filepath.Join(p.Data, "browser") }

// ChannelDir holds files that a channel needs while it runs.
func (p Paths) ChannelDir(name string) string { return filepath.Join(p.Data, "channels", name) }

// UndoDir is the folder for what undo needs of changed files.
func (p Paths) UndoDir() string { return filepath.Join(p.Data, "undo") }

// ConfigUndoDir is the folder for former texts of config.toml.
func (p Paths) ConfigUndoDir() string { return filepath.Join(p.UndoDir(), "config") }

// LogFile is where a detached daemon writes its log.
func (p Paths) LogFile() string { return filepath.Join(p.Logs, "hob.log") }

// UpdateFile holds when a newer Hob was last looked for, and what was said of it.
func (p Paths) UpdateFile() string { return filepath.Join(p.Data, "update.json") }

// LockFile is the path of the single-instance lock; it guards Data.
func (p Paths) LockFile() string { return filepath.Join(p.Data, "hob.lock") }

// EndpointFile is where the running daemon writes its address; see Endpoint. It
// lies beside the lock, as folders for short-lived files come and go.
func (p Paths) EndpointFile() string { return filepath.Join(p.Data, "endpoint.json") }

// Ensure creates the folders that are missing, for the owner alone (0700), and
// checks that they can be written to.
func (p Paths) Ensure() error {
	for _, d := range []string{p.Home, p.Data, p.Logs, p.Runtime} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("cannot create the folder %s: %w; %s", d, reason(err), advice(err, "set HOB_HOME to a folder that you may write to"))
		}
	}
	for _, d := range []string{p.Home, p.Data} {
		if err := Writable(d); err != nil {
			return err
		}
	}
	return nil
}

// Writable reports whether files can be created in the folder and hold
// something; the error names the cause and a remedy.
func Writable(dir string) error {
	const other = "make it writable or set HOB_HOME to another folder"
	f, err := os.CreateTemp(dir, ".write-test-*")
	if err != nil {
		return fmt.Errorf("cannot write to the folder %s: %w; %s", dir, reason(err), advice(err, other))
	}
	name := f.Name()
	_, err = f.WriteString("x") // a full disk still takes empty files
	if err = errors.Join(err, f.Close()); err != nil {
		err = fmt.Errorf("cannot write to the folder %s: %w; %s", dir, reason(err), advice(err, other))
	}
	return errors.Join(err, os.Remove(name))
}

// advice is the remedy for a file that could not be written; other is for
// causes which it does not know.
func advice(err error, other string) string {
	switch {
	case diskFull(err):
		return "free some space on its disk"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "raise the limit of open files (ulimit -n), or close some programs"
	}
	return other
}

// reason drops the operation and the path which the caller's sentence names.
func reason(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}
