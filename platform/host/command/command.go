// Package command analyzes shell commands by their syntax tree and runs them.
//
// The Analyzer parses a command as Bash does, resolves each simple command to a program and its
// arguments, and reports the effects of the whole command. A command is listed (may run without
// approval) if it only uses programs in the table (programs.txt) with arguments that are known to
// be read-only, inside the user's folders. Everything that the Analyzer cannot decide needs
// approval. A command that names a protected path is refused.
//
// The command that runs is exactly the analyzed one. The Analyzer expands the words, and for
// pipelines and lists of simple commands Hob starts the programs with the analyzed arguments,
// without a shell. A shell runs only commands that the user has approved.
//
// On Windows, commands use other shells, which are not parsed, so no command is listed.
package command

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/host/denypaths"
)

// Limits of a command.
const (
	MaxText        = 1000 // in characters
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = 10 * time.Minute
)

// Errors of the Analyzer. A Refusal wraps them.
var (
	ErrProtected = errors.New("protected path")
	ErrInvalid   = errors.New("command cannot be parsed")
	ErrOutside   = errors.New("outside the allowed folders")
)

// Options of New.
type Options struct {
	Home string // the owner's home; required
	// Allowed are the folders in which commands may run and from which listed commands may read.
	Allowed []string
	Places  *denypaths.Places // required
	// Readable are the folders that Places exempts (see denypaths.Options). A command that names
	// such a folder needs approval, and no command in the sandbox can change the folder.
	Readable []string
	// Allow are the user's own entries. An entry is a program followed by its first arguments, such
	// as "npm test".
	Allow []string
	// Path lists the folders that contain programs (default: the system's folders).
	Path []string
}

// Analyzer analyzes commands. It may be used concurrently.
type Analyzer struct {
	opt     Options
	allowed []string
	allow   [][]string
	table   func() *commandTable

	mu      sync.Mutex
	digests map[fileID]string
}

// New checks the options.
func New(opt Options) (*Analyzer, error) {
	if opt.Places == nil || !filepath.IsAbs(opt.Home) {
		return nil, errors.New("command: Home and Places are required")
	}
	if len(opt.Path) == 0 {
		opt.Path = systemPath()
	}
	j := &Analyzer{opt: opt, digests: map[fileID]string{}}
	for _, dir := range opt.Allowed {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("command: the folder %q must be an absolute path", dir)
		}
		j.allowed = append(j.allowed, filepath.Clean(dir))
	}
	for _, entry := range opt.Allow {
		words := strings.Fields(entry)
		if err := CheckAllow(entry); err != nil {
			return nil, fmt.Errorf("[shell] allow: %w", err)
		}
		j.allow = append(j.allow, words)
	}
	j.table = sync.OnceValue(readTable)
	return j, nil
}

// CheckAllow rejects an entry of the user that would allow everything.
func CheckAllow(entry string) error {
	if err := allowEntry(strings.Fields(entry)); err != nil {
		return fmt.Errorf("%q: %w", entry, err)
	}
	return nil
}

// allowEntry returns an error if an entry of Allow is not valid.
func allowEntry(words []string) error {
	switch {
	case len(words) == 0:
		return errors.New("entry is empty; name a program and the beginning of its arguments, such as \"npm test\"")
	case strings.ContainsAny(strings.Join(words, ""), "|&;<>()$`\\\"'*?[]{}~#!"):
		return errors.New("entry contains a shell character; name a program and plain arguments")
	case strings.Contains(words[0], "/") && !filepath.IsAbs(words[0]):
		return errors.New("program path is relative; use an absolute path")
	case isWrapper(filepath.Base(words[0])) && len(words) < 3:
		return errors.New("this program runs other programs, so the entry would allow everything; name the program that it runs")
	}
	return nil
}

// Command is a command that the model wants to run.
type Command struct {
	Text string
	Dir  string // absolute path of the folder; "" selects the first allowed folder
	// Network is true if the model requests network access.
	Network bool
}

// Refusal is the error of a command that never runs, even with approval.
type Refusal struct {
	Err            error // one of the errors above
	Message        string
	Remedy         string
	ProtectedPlace string
}

func (r *Refusal) Error() string { return r.Message + "; " + r.Remedy }

func (r *Refusal) Unwrap() error { return r.Err }

// Verdict describes the effects of a command.
type Verdict struct {
	Refused error // a *Refusal
	// Listed is true if the command only runs read-only programs with read-only arguments.
	Listed bool
	// Own is true if the command is listed and its output contains no data from files.
	Own bool
	// Writes, Egress, Send and Destroy are the known effects. false does not mean that the command
	// does not have the effect.
	Writes, Egress, Send, Destroy bool
	// Why lists the reasons why the command is not listed, the most important first.
	Why []string
	// Pattern is the scope of a grant, such as "git status *". Only listed commands have one.
	Pattern string
	// Exact describes what would run: the folder; the absolute path, digest and arguments of each
	// program; the digests of scripts; and the text if a shell is needed.
	Exact string
	// Unbound describes code that would run but that an approval cannot cover, such as files that a
	// Makefile includes, or output of a program that a shell runs.
	Unbound []string
	// Plan describes how the command runs.
	Plan Plan
}

// Judge returns the effects of a command. It reads files and changes nothing.
func (j *Analyzer) Judge(c Command) Verdict {
	if runtime.GOOS == "windows" {
		return j.unparsedVerdict(c)
	}
	l := &analysis{judge: j, cmd: c}
	l.analyzeCommand()
	if l.verdict.Refused == nil {
		l.verdict.Exact = l.exactText()
	}
	return l.verdict
}

// unparsedVerdict returns the verdict for a shell that cannot be parsed.
func (j *Analyzer) unparsedVerdict(c Command) Verdict {
	v := Verdict{Why: []string{"commands cannot be analyzed on this system"}, Writes: true, Egress: c.Network}
	if err := checkText(c.Text); err != nil {
		v.Refused = err
		return v
	}
	dir, err := j.resolveDir(c.Dir)
	if err != nil {
		v.Refused = err
		return v
	}
	v.Plan = Plan{Dir: dir, Shell: c.Text, Network: c.Network, Writes: true}
	v.Exact = fmt.Sprintf("%s\n%x", dir, sha256.Sum256([]byte(c.Text)))
	return v
}

// resolveDir returns the folder in which a command runs.
func (j *Analyzer) resolveDir(given string) (string, error) {
	if given == "" {
		if len(j.allowed) == 0 {
			return "", &Refusal{Err: ErrOutside, Message: "no folder is allowed for commands", Remedy: "the user can allow one with: hob config set files.allowed '[\"~/Documents\"]'"}
		}
		given = j.defaultDir()
	}
	if given == "~" || strings.HasPrefix(given, "~/") {
		given = filepath.Join(j.opt.Home, given[1:])
	}
	if !filepath.IsAbs(given) && len(j.allowed) > 0 {
		given = filepath.Join(j.allowed[0], given)
	}
	p := j.resolvePlace("/", given)
	switch {
	case p.protected != "":
		return "", j.protectedPlace(p)
	case !p.inside:
		return "", &Refusal{
			Err: ErrOutside, Message: given + " is outside the allowed folders",
			Remedy: "commands run in the folders of files.allowed: " + strings.Join(j.allowed, ", "),
		}
	case !p.exists || !p.folder:
		return "", &Refusal{Err: ErrInvalid, Message: "folder " + given + " does not exist", Remedy: "create it, or name an existing folder"}
	}
	return p.abs, nil
}

// defaultDir returns the folder for commands that name none: the first allowed folder that exists. A new
// account may have none of them; defaultDir then creates the first one, such as ~/Documents.
func (j *Analyzer) defaultDir() string {
	for _, dir := range j.allowed {
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
			return dir
		}
	}
	_ = os.Mkdir(j.allowed[0], 0o700) // if it fails, the caller reports that the folder does not exist
	return j.allowed[0]
}

func (j *Analyzer) protectedPlace(p pathTarget) *Refusal {
	return &Refusal{
		Err: ErrProtected, ProtectedPlace: p.abs, Message: p.abs + " is a protected path (" + p.protected + ")",
		Remedy: "Hob runs no command that names it; the user can run it in a terminal",
	}
}

// isWrapper reports whether a program runs other programs named in its arguments. An entry or a
// pattern for such a program would allow everything.
func isWrapper(name string) bool {
	return slices.Contains([]string{
		"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "nu", "pwsh", "rbash", "elvish", "xonsh",
		"env", "sudo", "doas", "su", "runuser", "pkexec", "xargs", "parallel", "nohup", "nice", "ionice", "setsid", "timeout", "time", "stdbuf", "unbuffer", "script", "watch", "exec", "eval",
		"command", "builtin", "busybox", "toybox", "coreutils", "chroot", "unshare", "nsenter", "strace", "ltrace", "gdb", "ssh", "tmux", "screen", "at", "batch", "crontab", "systemd-run", "flock", "taskset", "chrt",
		"python", "python2", "python3", "perl", "ruby", "node", "deno", "bun", "php", "lua", "awk", "gawk", "mawk", "nawk", "tclsh", "expect", "osascript", "Rscript", "java", "docker", "podman", "npx", "uvx", "pipx",
		"setarch", "linux32", "linux64", "i386", "x86_64", "firejail", "bwrap", "fakeroot", "dbus-run-session", "ld.so", "busctl", "find", "vim", "vi", "ed", "emacs", "make", "cmake", "ninja", "just",
	}, name) && name != "make" && name != "just" && name != "cmake" && name != "ninja"
}
