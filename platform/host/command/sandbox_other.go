//go:build !linux && !darwin

package command

import (
	"context"
	"time"
)

// findSandbox returns no sandbox. A Windows job object groups processes, but hides and blocks
// nothing.
func (j *Analyzer) findSandbox(context.Context) sandbox {
	return sandbox{missing: "Hob supports no sandbox on this system; a job object only ends the processes of a command"}
}

func (r *Runner) confineHelper(_ sandbox, _ Plan, temp string, _ *helperJob) (args []string, seen string) {
	return r.opt.Helper, temp
}

// confineService fails, because findSandbox finds no sandbox.
func (r *Runner) confineService(sandbox, Service, []string) (line, env []string, err error) {
	return nil, nil, ErrNoSandbox
}

func confineSelf(*landlockRuleset) error { return nil }

func boundsOf(time.Duration) resourceLimits { return resourceLimits{} }

func applyLimits(resourceLimits) error { return nil }
