package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/host/system"
)

// State is the state of a hook.
type State string

// Values of State.
const (
	Ready   State = "ready"
	Missing State = "missing" // no such program
	Unsafe  State = "unsafe"  // others, or Hob's tools, can change the program
	Changed State = "changed" // the program changed since it was trusted
)

// Status describes a hook in a list.
type Status struct {
	On      string   `json:"on"`
	Match   string   `json:"match,omitempty"`
	Command []string `json:"command"`
	Timeout string   `json:"timeout"`
	State   State    `json:"state"`
	Cause   string   `json:"cause,omitempty"`
}

// List returns the hooks in the order of the configuration, with their states. It pins programs
// that are seen for the first time.
func (h *Hooks) List() []Status {
	out := []Status{}
	if h == nil {
		return out
	}
	for _, x := range h.list {
		s := Status{On: x.On, Match: x.Match, Command: x.args, Timeout: x.Timeout.String(), State: Ready}
		if err := h.checkProgram(x); err != nil {
			s.State, s.Cause = Unsafe, err.Error()
			if p, ok := errors.AsType[*programError](err); ok {
				s.State = p.state
			}
		}
		out = append(out, s)
	}
	return out
}

// Trust pins the current content of the programs of the hooks whose program is path, or of all
// hooks if path is "". It returns the files whose digests changed.
func (h *Hooks) Trust(path string) (files []TrustedFile, err error) {
	if h == nil {
		return nil, errNoHook
	}
	found := false
	for _, x := range h.list {
		if path != "" && path != x.args[0] && path != x.Command[0] {
			continue
		}
		found = true
		list, err := h.codeFiles(x)
		if err != nil {
			return files, err
		}
		for _, f := range list {
			changed, err := h.pins.pinContent(f)
			if err != nil {
				return files, err
			}
			if changed != "" {
				files = append(files, TrustedFile{f, changed})
			}
		}
	}
	if !found {
		return nil, errNoHook
	}
	return files, nil
}

var errNoHook = errors.New("no hook has this program; list the hooks with: hob hooks list")

// TrustedFile is a file with the SHA-256 that is trusted now.
type TrustedFile struct{ Path, SHA256 string }

// programError is the error of a program that must not run.
type programError struct {
	state State
	msg   string
}

// Error implements error.
func (e *programError) Error() string { return e.msg }

func newProgramError(s State, format string, args ...any) error {
	return &programError{state: s, msg: fmt.Sprintf(format, args...)}
}

// checkProgram returns an error if the program of a hook must not run.
func (h *Hooks) checkProgram(x hook) error {
	files, err := h.codeFiles(x)
	if err != nil {
		return err
	}
	for _, f := range files {
		same, err := h.pins.matchesPin(f)
		if err != nil {
			return err
		}
		if !same {
			return newProgramError(Changed, "%s changed since you trusted it; check the file, then run: hob hooks trust %s", f, x.args[0])
		}
	}
	return nil
}

// interpreters are programs that run code from files in their arguments.
var interpreters = []string{
	"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "python", "pypy", "node", "nodejs", "deno", "bun", "ruby", "perl", "php", "lua", "luajit", "tclsh", "expect", "guile",
	"awk", "gawk", "mawk", "nawk", "sed", "make", "gmake", "java", "groovy", "rscript", "julia", "elixir", "escript", "pwsh", "powershell", "osascript", "env", "go", "npx", "uv", "uvx",
}

// moduleOptions are options of interpreters that load code from the location in their value.
var moduleOptions = []string{"-r", "-m", "-M", "-I", "-C", "-S", "-f", "-l", "--require", "--import", "--loader", "--experimental-loader", "--include", "--directory", "--makefile", "--file", "-cp", "-classpath", "-jar"}

// isInterpreter reports whether the program runs code from files in its arguments.
func (x hook) isInterpreter() bool {
	base := strings.TrimRight(strings.TrimSuffix(strings.ToLower(filepath.Base(x.args[0])), ".exe"), "0123456789.-")
	return slices.Contains(interpreters, base)
}

// regularFile returns the path of a file that an argument names. The hook runs in the folder of its
// program.
func (x hook) regularFile(arg string) (path string, ok bool) {
	if arg == "" {
		return "", false
	}
	if !filepath.IsAbs(arg) {
		arg = filepath.Join(filepath.Dir(x.args[0]), arg)
	}
	fi, err := os.Stat(arg)
	return arg, err == nil && fi.Mode().IsRegular()
}

// namedFiles returns the files that the arguments name, also as the value of an option. An
// interpreter whose arguments name other code than files is an error, because that code cannot be
// pinned.
func (x hook) namedFiles() (out []string, err error) {
	for i, a := range x.args[1:] {
		option, value, attached := strings.Cut(a, "=")
		short := strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && len(a) > 2
		forms := []string{a, strings.TrimPrefix(a, "file://"), strings.TrimPrefix(a, "@")}
		if attached {
			forms = append(forms, value, strings.TrimPrefix(value, "file://"))
		}
		if short {
			forms = append(forms, a[2:])
		}
		found := false
		for _, f := range forms {
			if path, ok := x.regularFile(f); ok && !slices.Contains(out, path) {
				out, found = append(out, path), true
			}
		}
		if found || !x.isInterpreter() {
			continue
		}
		if err := x.checkModuleOption(option, i+1, attached || short && !slices.Contains(moduleOptions, option)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// checkModuleOption returns an error if the argument at i loads code that is not in a file. option
// is the part before "=", and attached reports whether the argument contains the value.
func (x hook) checkModuleOption(option string, i int, attached bool) error {
	unsafe := newProgramError(Unsafe, "%s loads code that Hob cannot check; name each file of code in command, or write a script that does this", x.args[i])
	switch {
	case attached && slices.ContainsFunc(moduleOptions, func(m string) bool { return option == m || len(m) == 2 && strings.HasPrefix(option, m) }):
		return unsafe
	case !attached && slices.Contains(moduleOptions, option):
		if i+1 < len(x.args) {
			if _, ok := x.regularFile(strings.TrimPrefix(x.args[i+1], "file://")); ok {
				return nil
			}
		}
		return unsafe
	}
	_, value, _ := strings.Cut(x.args[i], "=")
	for _, dir := range []string{x.args[i], value} {
		if dir != "" && !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(x.args[0]), dir)
		}
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
			return unsafe
		}
	}
	return nil
}

// codeFiles returns the files that the hook runs, as paths without links: the program, and the files
// that its arguments name. It returns an error if one of them is missing or unsafe.
func (h *Hooks) codeFiles(x hook) ([]string, error) {
	if !filepath.IsAbs(x.args[0]) {
		return nil, newProgramError(Missing, "%s is not a full path; write the full path of the program in command", x.args[0])
	}
	named, err := x.namedFiles()
	if err != nil {
		return nil, err
	}
	list := append([]string{x.args[0]}, named...)
	for i, f := range list {
		real, err := filepath.EvalSymlinks(f)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, newProgramError(Missing, "%s does not exist; correct command, or remove the hook", f)
		}
		if err != nil {
			return nil, newProgramError(Missing, "%s cannot be read: %v", f, err)
		}
		if err := h.checkPlace(real); err != nil {
			return nil, err
		}
		list[i] = real
	}
	return list, nil
}

// checkPlace returns an error if others or Hob's own tools can change the file.
func (h *Hooks) checkPlace(file string) error {
	for _, dir := range append(slices.Clone(h.o.Files.Allowed), h.o.Files.Drop) {
		real, err := filepath.EvalSymlinks(dir)
		if dir == "" || err != nil { // a missing folder contains no file
			continue
		}
		if rel, err := filepath.Rel(real, file); err == nil && filepath.IsLocal(rel) {
			return newProgramError(Unsafe, "%s is in %s, where tools may write; move it out of the folders in [files]", file, dir)
		}
	}
	for path := file; ; path = filepath.Dir(path) {
		if err := checkOwned(path); err != nil {
			return err
		}
		if path == filepath.Dir(path) {
			return nil
		}
	}
}

// pinFile holds the digests of the programs, as JSON by path. The command line changes the file
// while the daemon runs, so it is read at each check.
type pinFile struct {
	path string

	mu     sync.Mutex
	stamps map[string]stampedDigest // cache of digests
}

// pin is the trusted content of a file.
type pin struct {
	SHA256 string    `json:"sha256"`
	At     time.Time `json:"at"`
}

// stampedDigest is a digest that holds until the file's size or times change.
type stampedDigest struct{ stamp, digest string }

// matchesPin reports whether a file has its pinned content. It pins a file that has no pin.
func (p *pinFile) matchesPin(file string) (same bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum, err := p.digestOf(file)
	if err != nil {
		return false, err
	}
	pins, err := p.readPins()
	if err != nil {
		return false, err
	}
	if old, ok := pins[file]; ok {
		return old.SHA256 == sum, nil
	}
	pins[file] = pin{SHA256: sum, At: time.Now().UTC()}
	return true, p.writePins(pins)
}

// pinContent pins the current content of a file. It returns the digest if the pin changed.
func (p *pinFile) pinContent(file string) (changed string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum, err := p.digestOf(file)
	if err != nil {
		return "", err
	}
	pins, err := p.readPins()
	if err != nil || pins[file].SHA256 == sum {
		return "", err
	}
	pins[file] = pin{SHA256: sum, At: time.Now().UTC()}
	return sum, p.writePins(pins)
}

func (p *pinFile) readPins() (map[string]pin, error) {
	pins := map[string]pin{}
	text, err := system.ReadFile(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return pins, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &pins)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w; remove the file and check your hooks", p.path, err)
	}
	return pins, nil
}

func (p *pinFile) writePins(pins map[string]pin) error {
	text, err := json.MarshalIndent(pins, "", "  ")
	if err != nil {
		return err
	}
	return system.WriteFile(p.path, append(text, '\n'))
}

// maxProgram is the maximum size of a program in bytes.
const maxProgram = 256 << 20

// digestOf returns the SHA-256 of a file. The caller has locked mu.
func (p *pinFile) digestOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", newProgramError(Missing, "%s cannot be read: %v; make it readable for your account", file, err)
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return "", newProgramError(Missing, "%s cannot be read: %v", file, err)
	case !fi.Mode().IsRegular():
		return "", newProgramError(Missing, "%s is not a file; correct command", file)
	case fi.Size() > maxProgram:
		return "", newProgramError(Unsafe, "%s is larger than %d MB; use a smaller program", file, maxProgram>>20)
	}
	stamp := fileStamp(f)
	if c := p.stamps[file]; stamp != "" && c.stamp == stamp {
		return c.digest, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", newProgramError(Missing, "%s cannot be read: %v", file, err)
	}
	c := stampedDigest{stamp, hex.EncodeToString(sum.Sum(nil))}
	p.stamps[file] = c
	return c.digest, nil
}
