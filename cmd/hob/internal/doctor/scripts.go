package doctor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"hob/platform/host/osrun"
)

// checkScripts runs a script without effects, and asks macOS for automation access to each
// running app.
func checkScripts(ctx context.Context, e Env) []Check {
	if e.Scripts == nil {
		return nil // there are no scripts on Linux
	}
	engine := osrun.JavaScript
	if runtime.GOOS == "windows" {
		engine = osrun.PowerShell
	}
	return scriptsOf(ctx, e.Scripts, engine)
}

func scriptsOf(ctx context.Context, r osrun.Runner, engine osrun.Engine) []Check {
	const name = "scripts"
	if err := osrun.SelfTest(ctx, r, engine); err != nil {
		return scriptCheck(name, engine.String()+" does not work", err)
	}
	said := engine.String() + " works"
	var out []Check
	if engine == osrun.JavaScript {
		var good, closed []string
		for _, l := range osrun.CheckAutomation(ctx, r) {
			switch kind := osrun.KindOf(l.Err); {
			case l.Err == nil:
				good = append(good, l.App.Name)
			case kind == osrun.NotRunning, kind == osrun.NotInstalled:
				closed = append(closed, l.App.Name)
			default:
				out = append(out, scriptCheck(name, l.App.Name+" does not accept scripts", l.Err)...)
			}
		}
		if len(good) > 0 {
			said += "; accessible apps: " + strings.Join(good, ", ")
		}
		if len(closed) > 0 {
			said += "; not checked, because they are not running: " + strings.Join(closed, ", ")
		}
	}
	if resting := restingOf(r); resting != "" {
		out = append(out, warnCheck(name, "paused because they did not answer: "+resting, "check the screen for a dialog")...)
	}
	return append(okCheck(name, said), out...)
}

// restingOf returns the names of the apps in backoff.
func restingOf(r osrun.Runner) string {
	x, is := r.(interface {
		Resting() map[string]time.Duration
	})
	if !is {
		return ""
	}
	var out []string
	for id, left := range x.Resting() {
		out = append(out, fmt.Sprintf("%s (%s)", id, left.Round(time.Second)))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// scriptCheck returns the finding for a script error, with a link to the settings page for the fix.
func scriptCheck(name, what string, err error) []Check {
	e, is := errors.AsType[*osrun.Error](err)
	if !is {
		return failWithError(name, fmt.Errorf("%s: %w", what, err), "")
	}
	bare := *e
	bare.Remedy, bare.Link = "", ""
	remedy := e.Remedy
	if remedy == "" {
		remedy = "see docs/desktop.md"
	}
	c := warnCheck(name, what+": "+bare.Error(), remedy)
	if e.Kind == osrun.Denied || e.Kind == osrun.PolicyBlocked {
		c = failCheck(name, what+": "+bare.Error(), remedy)
	}
	c[0].Link = e.Link
	return c
}
