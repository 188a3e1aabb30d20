package osrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNoProgram means that no suitable program is installed.
var ErrNoProgram = errors.New("required program is not installed")

// Programs runs installed programs, without a shell and with a minimal environment. When a program
// ends, its remaining descendants are killed. The zero value is useful.
type Programs struct {
	// Getenv is os.Getenv unless a test replaces it. Programs are looked up in its PATH.
	Getenv func(string) string
	// Output runs a program; it is Output unless a test replaces it.
	Output func(ctx context.Context, cmd *exec.Cmd, in []byte) ([]byte, error)
}

// usual is the default PATH, if the environment has none.
const usual = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

// passedEnv lists the environment variables that programs get: the variables of the session,
// without Hob's keys and tokens.
var passedEnv = []string{
	"HOME", "USER", "LOGNAME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CACHE_HOME", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "DBUS_SESSION_BUS_ADDRESS",
	"DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "PULSE_SERVER", "PULSE_COOKIE", "PULSE_RUNTIME_PATH", "PIPEWIRE_RUNTIME_DIR", "SystemRoot", "ESPEAK_DATA_PATH", "TESSDATA_PREFIX",
}

func (p Programs) lookupEnv(key string) string {
	if p.Getenv == nil {
		return os.Getenv(key)
	}
	return p.Getenv(key)
}

func (p Programs) searchPath() string {
	if path := p.lookupEnv("PATH"); path != "" {
		return path
	}
	return usual
}

// Find returns the path of the first of these programs that is installed, or "" if none is
// installed. An absolute path is not looked up in PATH.
func (p Programs) Find(names ...string) string {
	for _, name := range names {
		folders := filepath.SplitList(p.searchPath())
		if filepath.IsAbs(name) {
			folders = []string{""}
		}
		for _, dir := range folders {
			if dir != "" && !filepath.IsAbs(dir) {
				continue // never run a program from the current folder
			}
			file := filepath.Join(dir, name)
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return file
			}
		}
	}
	return ""
}

// Run runs a program by its name or path and returns its output. It returns
// ErrNoProgram if the program is not installed.
func (p Programs) Run(ctx context.Context, in []byte, name string, args ...string) ([]byte, error) {
	file := p.Find(name)
	if file == "" {
		return nil, fmt.Errorf("%w: %s", ErrNoProgram, name)
	}
	cmd := exec.Command(file, args...) //nolint:gosec,noctx // only fixed program names are used; Output ends the whole process tree
	cmd.Env = p.Env()
	run := p.Output
	if run == nil {
		run = Output
	}
	return run(ctx, cmd, in)
}

// Env returns the environment for programs. It selects English output.
func (p Programs) Env() []string {
	env := []string{"LC_ALL=C.UTF-8", "PATH=" + p.searchPath()}
	for _, k := range passedEnv {
		if v := p.lookupEnv(k); v != "" && !strings.ContainsRune(v, 0) {
			env = append(env, k+"="+v)
		}
	}
	return env
}
