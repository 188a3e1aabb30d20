package command

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// findSandbox prefers bubblewrap, which hides and blocks more than Landlock.
func (j *Analyzer) findSandbox(ctx context.Context) sandbox {
	why := "bubblewrap is not installed"
	if p := j.findProgram("/", "bwrap"); p.path != "" && p.system {
		out, err := exec.CommandContext(ctx, p.path, "--die-with-parent", "--unshare-user-try", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "/bin/true").CombinedOutput()
		if err == nil {
			return sandbox{kind: "bubblewrap", path: p.path}
		}
		why = "bubblewrap does not work on this machine (" + truncateRunes(strings.TrimSpace(string(out)), 120) + ")"
	}
	abi, err := llsys.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return sandbox{missing: why + ", and this kernel does not support Landlock; install bubblewrap"}
	}
	s := sandbox{kind: "landlock", missing: why + ": commands can list processes, connect to local sockets, and change the hooks of a repository that they may write to"}
	switch {
	case abi < 4:
		s.missing += ", and this kernel's Landlock cannot block the network"
	case abi < 10:
		s.missing += ", and this kernel's Landlock blocks only TCP"
	}
	return s
}

// confineHelper returns the helper's command line in the sandbox, and the path of the temporary
// folder inside the sandbox.
func (r *Runner) confineHelper(s sandbox, p Plan, temp string, j *helperJob) (args []string, seen string) {
	switch s.kind {
	case "bubblewrap":
		return append(append(r.bubblewrapArgs(s, p), "--"), r.opt.Helper...), "/tmp"
	case "landlock":
		j.Lock = r.opt.Judge.landlockRules(p, temp, r.opt.Helper[0])
	}
	return r.opt.Helper, temp
}

// bubblewrapArgs returns arguments for a read-only system, empty protected paths, private /tmp and
// /run, separate process and network namespaces, and one writable folder.
func (r *Runner) bubblewrapArgs(s sandbox, p Plan) []string {
	j := r.opt.Judge
	args := []string{s.path, "--die-with-parent", "--new-session", "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	args = append(args, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run")
	if p.Network {
		args = append(args, "--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve")
	}
	empties := []string{"/tmp", "/run"}
	if p.Hidden {
		empties = append(empties, j.beyondSystem()...)
		for _, dir := range empties[2:] {
			args = append(args, "--tmpfs", dir)
		}
	}
	hidden := func(path string) bool {
		return slices.ContainsFunc(empties, func(dir string) bool { return isBelow(dir, path) })
	}
	for _, a := range j.allowed {
		if real, ok := physicalPath(a); ok && hidden(real) {
			args = append(args, "--ro-bind-try", real, real)
		}
	}
	if p.Writes {
		args = append(args, "--bind", p.Dir, p.Dir)
		for _, part := range j.repositoryParts(p.Dir) {
			args = append(args, "--ro-bind", part, part)
		}
	}
	folders, files := j.maskedPlaces()
	empty := func(path string) bool { return hidden(path) && !j.resolvePlace("/", path).inside }
	for _, d := range folders {
		if !empty(d) && !slices.ContainsFunc(folders, func(o string) bool { return o != d && isBelow(o, d) }) {
			args = append(args, "--tmpfs", d)
		}
	}
	for _, f := range files {
		if !empty(f) && !slices.ContainsFunc(folders, func(o string) bool { return isBelow(o, f) }) {
			args = append(args, "--ro-bind", "/dev/null", f)
		}
	}
	if !p.Hidden {
		for _, dir := range j.readableFolders() {
			args = append(args, "--ro-bind", dir, dir)
		}
	}
	// the helper may be in a folder that was hidden above
	args = append(args, "--ro-bind", r.opt.Helper[0], r.opt.Helper[0])
	for _, d := range folders {
		if !empty(d) && !slices.ContainsFunc(folders, func(o string) bool { return o != d && isBelow(o, d) }) {
			args = append(args, "--remount-ro", d)
		}
	}
	return append(args, "--chdir", p.Dir)
}

// beyondSystem returns the folders that are hidden from a listed command, except for the allowed
// folders in them: the user's home, and everything outside the system.
func (j *Analyzer) beyondSystem() []string {
	out := []string{}
	if real, ok := physicalPath(j.opt.Home); ok {
		out = append(out, real)
	}
	list, err := os.ReadDir("/")
	if err != nil {
		return out
	}
	for _, e := range list {
		dir := "/" + e.Name()
		if e.IsDir() && !slices.Contains(systemFolders(), dir) && !slices.ContainsFunc(out, func(o string) bool { return isBelow(o, dir) }) {
			out = append(out, dir)
		}
	}
	slices.Sort(out) // parents come before their subfolders
	return out
}

// systemFolders returns the folders that contain programs, their data, and facts about the machine.
func systemFolders() []string {
	return []string{"/bin", "/boot", "/dev", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/proc", "/run", "/sbin", "/snap", "/sys", "/tmp", "/usr"}
}

// landlockRules returns the Landlock rules, which can only allow access: to the system, to the
// allowed folders without their protected paths, and to one writable folder.
func (j *Analyzer) landlockRules(p Plan, temp, helper string) *landlockRuleset {
	l := &landlockRuleset{Network: p.Network, Write: []string{temp}, Read: j.systemReads()}
	for _, a := range j.allowed {
		if real, ok := physicalPath(a); ok {
			l.Read = append(l.Read, j.openBelow(real, 6)...)
		}
	}
	if !p.Hidden {
		l.Read = append(l.Read, j.readableFolders()...)
	}
	l.Read = append(l.Read, helper)
	if p.Writes {
		l.Write = append(l.Write, j.openBelow(p.Dir, 6)...)
	}
	return l
}

// systemReads returns the readable parts of the system.
func (j *Analyzer) systemReads() (out []string) {
	for _, d := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/proc", "/sys", "/nix", "/snap", "/run/systemd/resolve", "/var/lib/dpkg"} {
		out = append(out, j.openBelow(d, 4)...)
	}
	return out
}

// openBelow allows a folder, or its entries without the protected paths.
func (j *Analyzer) openBelow(path string, depth int) []string {
	if j.opt.Places.ProtectionReason(path) != "" || depth == 0 {
		return nil
	}
	if j.opt.Places.ProtectedInside(path) == "" {
		return []string{path}
	}
	list, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range list {
		out = append(out, j.openBelow(filepath.Join(path, e.Name()), depth-1)...)
	}
	return out
}

// confineSelf applies the rules to this process and its children.
func confineSelf(l *landlockRuleset) error {
	if l == nil {
		return nil
	}
	var rules []landlock.Rule
	add := func(paths []string, dirs, files func(...string) landlock.FSRule) {
		for _, p := range paths {
			if info, err := os.Stat(p); err == nil && info.IsDir() {
				rules = append(rules, dirs(p))
			} else if err == nil {
				rules = append(rules, files(p))
			}
		}
	}
	add(l.Read, landlock.RODirs, landlock.ROFiles)
	add(l.Write, landlock.RWDirs, landlock.RWFiles)
	add([]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}, landlock.RWDirs, landlock.RWFiles)
	config := landlock.V11.BestEffort()
	if err := config.RestrictPaths(rules...); err != nil {
		return err
	}
	if err := config.RestrictScoped(); err != nil {
		return err
	}
	if !l.Network {
		if err := config.RestrictNet(); err != nil {
			return err
		}
	}
	return dropCapabilities()
}
