package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// seatbelt is the system's sandbox. Its program is marked deprecated, but system builds and
// several browsers use it.
const seatbelt = "/usr/bin/sandbox-exec"

func (j *Analyzer) findSandbox(ctx context.Context) sandbox {
	if err := exec.CommandContext(ctx, seatbelt, "-p", "(version 1)(allow default)", "/usr/bin/true").Run(); err != nil {
		return sandbox{missing: "sandbox-exec does not work on this machine (" + err.Error() + ")"}
	}
	return sandbox{kind: "seatbelt", path: seatbelt}
}

func (r *Runner) confineHelper(s sandbox, p Plan, temp string, _ *helperJob) (args []string, seen string) {
	if real, err := filepath.EvalSymlinks(temp); err == nil {
		temp = real
	}
	if s.kind == "" {
		return r.opt.Helper, temp
	}
	return append([]string{s.path, "-p", r.opt.Judge.sandboxProfile(p, temp, r.opt.Helper[0])}, r.opt.Helper...), temp
}

// sandboxProfile returns a profile that allows everything except what it denies explicitly, because
// programs on macOS need many parts of the system. The last matching rule decides.
func (j *Analyzer) sandboxProfile(p Plan, temp, helper string) string {
	var b strings.Builder
	b.WriteString("(version 1)(allow default)(deny file-write*)(deny appleevent-send)(deny process-info-pidinfo (target others))(deny mach-priv-task-port)(deny lsopen)")
	for _, f := range []string{"/dev/null", "/dev/zero", "/dev/stdout", "/dev/stderr", "/dev/tty"} {
		fmt.Fprintf(&b, "(allow file-write* (literal %q))", f)
	}
	fmt.Fprintf(&b, "(allow file-write* (subpath %s))", quoteProfileString(temp))
	if p.Writes {
		fmt.Fprintf(&b, "(allow file-write* (subpath %s))", quoteProfileString(p.Dir))
		for _, part := range j.repositoryParts(p.Dir) {
			fmt.Fprintf(&b, "(deny file-write* (subpath %s))", quoteProfileString(part))
		}
	}
	if !p.Network {
		b.WriteString("(deny network*)")
	}
	if p.Hidden { // the last matching rule decides: first deny the home folder, then allow folders in it
		fmt.Fprintf(&b, "(deny file-read-data (subpath %s))", quoteProfileString(j.opt.Home))
		for _, a := range append([]string{temp, helper}, j.allowed...) {
			if real, ok := physicalPath(a); ok {
				fmt.Fprintf(&b, "(allow file-read-data (subpath %s))", quoteProfileString(real))
			}
		}
	}
	folders, files := j.maskedPlaces()
	for _, path := range append(folders, files...) {
		if _, err := os.Lstat(path); err == nil {
			fmt.Fprintf(&b, "(deny file-read* file-write* (subpath %s))", quoteProfileString(path))
		}
	}
	if !p.Hidden {
		for _, dir := range j.readableFolders() {
			fmt.Fprintf(&b, "(allow file-read* (subpath %s))", quoteProfileString(dir))
		}
	}
	return b.String()
}

// quoteProfileString returns s as a string literal in the profile's language (a Scheme dialect).
func quoteProfileString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func confineSelf(*landlockRuleset) error { return nil }
