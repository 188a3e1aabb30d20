package command

import (
	"fmt"
	"strings"
)

// confineService returns the command line of a service in the sandbox.
func (r *Runner) confineService(box sandbox, s Service, args []string) (line, env []string, err error) {
	j := r.opt.Judge
	profile := j.sandboxProfile(Plan{Dir: s.Home, Writes: true, Network: s.Network, Hidden: true}, s.Home, args[0])
	var b strings.Builder
	b.WriteString(profile)
	for _, f := range j.serviceFiles(s, args[0]) {
		fmt.Fprintf(&b, "(allow file-read* (subpath %s))", quoteProfileString(f))
	}
	for _, d := range append([]string{s.Home}, s.Write...) { // after the protected paths, because the last rule decides
		if real, ok := physicalPath(d); ok {
			fmt.Fprintf(&b, "(allow file-read* file-write* (subpath %s))", quoteProfileString(real))
		}
	}
	return append([]string{box.path, "-p", b.String()}, args...), nil, nil
}
