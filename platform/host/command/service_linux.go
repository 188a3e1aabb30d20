package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// confineService returns the command line and the additional variables of a service in the sandbox.
func (r *Runner) confineService(box sandbox, s Service, args []string) (line, env []string, err error) {
	files := r.opt.Judge.serviceFiles(s, args[0])
	if box.kind == "bubblewrap" {
		return append(append(r.bubblewrapService(box, s, files), "--"), args...), nil, nil
	}
	if len(r.opt.Helper) == 0 {
		return nil, nil, ErrNoHelper
	}
	rules := &landlockRuleset{Network: s.Network, Read: append(r.opt.Judge.systemReads(), files...), Write: append([]string{s.Home}, s.Write...)}
	job, err := json.Marshal(serviceJob{rules, args})
	return r.opt.Helper, []string{serviceEnv + "=" + string(job)}, err
}

// bubblewrapService returns the arguments of bubblewrapArgs for a service: everything outside the
// system is empty except for files, the folders to write and the home of the service.
func (r *Runner) bubblewrapService(box sandbox, s Service, files []string) []string {
	j := r.opt.Judge
	args := []string{box.path, "--die-with-parent", "--new-session", "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"}
	if !s.Network {
		args = append(args, "--unshare-net")
	}
	args = append(args, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
	empties := append([]string{"/tmp", "/run"}, j.beyondSystem()...)
	for _, dir := range empties {
		args = append(args, "--tmpfs", dir)
	}
	if s.Network {
		args = append(args, "--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve")
	}
	hidden := func(path string) bool {
		return slices.ContainsFunc(empties, func(dir string) bool { return isBelow(dir, path) })
	}
	for _, f := range files {
		if hidden(f) {
			args = append(args, "--ro-bind-try", f, f)
		}
	}
	folders, places := j.maskedPlaces()
	for _, d := range folders {
		if !hidden(d) && !slices.ContainsFunc(folders, func(o string) bool { return o != d && isBelow(o, d) }) {
			args = append(args, "--tmpfs", d)
		}
	}
	for _, f := range places {
		if !hidden(f) && !slices.ContainsFunc(folders, func(o string) bool { return isBelow(o, f) }) {
			args = append(args, "--ro-bind", "/dev/null", f)
		}
	}
	for _, d := range append(slices.Clone(s.Write), s.Home) {
		args = append(args, "--bind-try", d, d)
	}
	if real, ok := physicalPath(s.Dir); ok && hidden(real) && s.Dir != s.Home {
		args = append(args, "--ro-bind-try", s.Dir, s.Dir)
	}
	return append(args, "--chdir", s.Dir)
}

// becomeService confines this process and replaces it with the service. It returns only if this
// fails.
func becomeService(text string) error {
	var job serviceJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		return err
	}
	if err := confineSelf(job.Lock); err != nil {
		return err
	}
	path, err := exec.LookPath(job.Args[0])
	if err != nil {
		return err
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, serviceEnv+"=") })
	return syscall.Exec(path, job.Args, env)
}
