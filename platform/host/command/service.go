package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hob/platform/host/system"
)

// Service is a program that keeps running and communicates over its standard input and output, such
// as an MCP server. All paths are absolute.
type Service struct {
	Program string   // a name on the path, or an absolute path
	Args    []string // arguments without the name of the program
	Env     []string // additional variables as "NAME=value"
	// Home is an existing folder that belongs to the service. The service may change files in it.
	Home string
	Dir  string // the folder in which the service starts; "" means Home
	// Confine runs the service in a sandbox, and never without one. The service sees the system,
	// its own program, the files and folders named in Args, and the folders in Write, but no
	// protected path. Network allows network access.
	Confine, Network bool
	Write            []string // folders in which the service may change files
}

// ServiceCommand returns the command that starts a service and the kind of its sandbox ("" if it
// has none). The caller sets its input and outputs and starts it. The error wraps ErrNotFound if
// the program does not exist, and ErrNoSandbox if Confine is set and there is no sandbox.
func (r *Runner) ServiceCommand(ctx context.Context, s Service) (*exec.Cmd, string, error) {
	j := r.opt.Judge
	program := j.findServiceProgram(s)
	if program == "" {
		return nil, "", fmt.Errorf("%w: %s", ErrNotFound, s.Program)
	}
	if s.Dir == "" {
		s.Dir = s.Home
	}
	home, temp := j.opt.Home, os.TempDir()
	args, kind := append([]string{program}, s.Args...), ""
	var extra []string
	if s.Confine {
		box := r.Sandbox(ctx)
		if box.kind == "" {
			return nil, "", fmt.Errorf("%w: %s", ErrNoSandbox, box.missing)
		}
		for _, w := range append([]string{s.Dir}, s.Write...) {
			if why := j.opt.Places.ProtectionReason(w); why != "" && !isBelow(s.Home, w) {
				return nil, "", fmt.Errorf("%w: %s (%s)", ErrProtected, w, why)
			}
		}
		kind, home, temp = box.kind, s.Home, filepath.Join(s.Home, "tmp")
		if err := os.MkdirAll(temp, 0o700); err != nil {
			return nil, "", err
		}
		var err error
		if args, extra, err = r.confineService(box, s, args); err != nil {
			return nil, "", err
		}
	}
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // the caller ends the whole process tree
	cmd.Dir, cmd.Env = s.Dir, slices.Concat(j.serviceEnviron(filepath.Dir(program), home, temp), s.Env, extra)
	if kind == "bubblewrap" {
		cmd.Dir = "/" // bubblewrap changes the folder itself
	}
	return cmd, kind, nil
}

// findServiceProgram finds the program on the system's path, then on the path of this process.
func (j *Analyzer) findServiceProgram(s Service) string {
	if p := j.findProgram("/", s.Program); p.path != "" {
		return p.path
	}
	if strings.ContainsRune(s.Program, filepath.Separator) && !filepath.IsAbs(s.Program) {
		return ""
	}
	path, err := exec.LookPath(s.Program)
	if err != nil || !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// serviceEnviron returns the variables of a service, without any setting of Hob.
func (j *Analyzer) serviceEnviron(programs, home, temp string) []string {
	out := []string{
		"PATH=" + strings.Join(append(slices.Clone(j.opt.Path), programs), string(filepath.ListSeparator)), "HOME=" + home, "TMPDIR=" + temp, "NO_COLOR=1",
		system.Marker + "=service",
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); isEnvAllowed(name) {
			out = append(out, v)
		}
	}
	return out
}

// serviceFiles returns the files and folders besides the system that a service needs: its program
// with the libraries next to it, and the files and folders named in its arguments.
func (j *Analyzer) serviceFiles(s Service, program string) []string {
	var out []string
	add := func(path string) {
		if real, ok := physicalPath(path); ok && real != "/" && !isBelow(real, j.opt.Home) && j.opt.Places.ProtectionReason(real) == "" && j.opt.Places.ProtectedInside(real) == "" && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	addProgram := func(path string) {
		dir := filepath.Dir(path)
		if base := filepath.Base(dir); base == "bin" || base == "libexec" {
			dir = filepath.Dir(dir)
		}
		add(dir)
		add(path)
	}
	addProgram(program)
	if real, ok := physicalPath(program); ok {
		addProgram(real)
	}
	for _, a := range s.Args {
		if _, v, ok := strings.Cut(a, "="); ok && strings.HasPrefix(a, "-") {
			a = v
		}
		info, err := os.Stat(a)
		if err != nil || !filepath.IsAbs(a) {
			continue
		}
		add(a)
		if info.Mode().IsRegular() {
			add(packageFolder(filepath.Dir(a)))
		}
	}
	return out
}

// packageFolder returns the folder of the package that contains a script, so that it finds its
// libraries: the outermost of the nearest four folders with a node_modules folder, or dir.
func packageFolder(dir string) string {
	out := dir
	for range 4 {
		if info, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil && info.IsDir() || filepath.Base(dir) == "node_modules" {
			out = dir
		}
		dir = filepath.Dir(dir)
	}
	return out
}

// serviceEnv is the variable with the job of a process that confines itself and then becomes the
// service.
const serviceEnv = "HOB_COMMAND_SERVICE"

// serviceJob is the content of serviceEnv.
type serviceJob struct {
	Lock *landlockRuleset `json:"lock"`
	Args []string         `json:"args"`
}
