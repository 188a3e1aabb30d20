package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/templates"
)

const lineRemedy = "correct the line, then run: hob config check"

// checkConfig reports the errors in the configuration. It fixes none, because only the user knows
// the intended value.
func checkConfig(ctx context.Context, e Env) []Check {
	const name = "config"
	if e.isConfigUnreadable() {
		return e.checkConfigAccess()
	}
	errs, is := errors.AsType[config.Errors](e.ConfigErr)
	if !is && e.ConfigErr == nil {
		errs = Drivers(ctx, e.Config, e.Secrets)
	}
	var out []Check
	for _, x := range errs {
		out = append(out, failWithError(name, x, lineRemedy)...)
	}
	switch {
	case len(out) > 0:
		return out
	case e.ConfigErr != nil:
		return failWithError(name, e.ConfigErr, "")
	}
	for _, w := range e.Config.Warnings {
		cause, remedy := splitRemedy(errors.New(w), "")
		out = append(out, warnCheck(name, cause, remedy)...)
	}
	if e.Stale {
		out = append(out, warnCheck(name, e.Config.Path()+" changed after Hob started; the changes are not in use yet", "hob stop, then hob start")...)
	}
	if len(out) == 0 {
		return okCheck(name, e.Config.Path()+" is good")
	}
	return out
}

// isConfigUnreadable reports whether Hob lacks permission to read the configuration.
func (e Env) isConfigUnreadable() bool {
	f, err := os.Open(e.Paths.ConfigFile())
	if err == nil {
		_ = f.Close() // nothing was written, so Close cannot lose data
	}
	return errors.Is(err, fs.ErrPermission)
}

// checkConfigAccess returns the finding for a configuration that the user owns but lacks permission
// to read, with a fix.
func (e Env) checkConfigAccess() []Check {
	path := e.Paths.ConfigFile()
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() || !system.IsOwnedByUser(fi) {
		return failCheck("config", path+" is not readable: permission denied", "take ownership of the file and its folder: sudo chown $(id -un) "+system.QuoteForShell(path))
	}
	return withFix(closeAccessFix([]string{path}), failCheck("config", fmt.Sprintf("you do not have permission to read %s (mode %04o)", path, fi.Mode().Perm()), fixRemedy+", or: chmod 600 "+system.QuoteForShell(path)))
}

func checkDaemon(_ context.Context, e Env) []Check {
	const again = "restart it: hob stop, then hob start"
	switch {
	case e.DaemonErr != nil:
		return failCheck("daemon", e.DaemonErr.Error(), again)
	case e.Daemon == 0:
		return warnCheck("daemon", "Hob is not running: watchers, schedules and reminders do not work", "start it: hob start")
	}
	at, found, err := system.ReadEndpoint(e.Paths.EndpointFile(), e.Daemon)
	if err == nil && found && at.Version != e.Version {
		return warnCheck("daemon", fmt.Sprintf("the daemon has version %s, this program %s", at.Version, e.Version), again)
	}
	return okCheck("daemon", "running and answering")
}

// checkTemplates reports an interrupted template change, after which files and schedules may belong
// to two templates.
func checkTemplates(ctx context.Context, e Env) []Check {
	return append(brokenTemplates(e), checkPendingChange(ctx, e)...)
}

// brokenTemplates returns a finding for each of the user's invalid templates.
func brokenTemplates(e Env) (out []Check) {
	list, err := templates.Registry{Dir: e.Paths.TemplatesDir()}.List()
	if err != nil {
		return skipCheck("template", fmt.Sprintf("read folder %s: %v", e.Paths.TemplatesDir(), withoutPath(err)), "take ownership and make it readable")
	}
	for _, t := range list {
		if t.Err != nil {
			cause, remedy := splitRemedy(t.Err, "fix its template.toml, or remove the folder: "+t.Path)
			out = append(out, warnCheck("template", "the template "+t.Name+" does not work: "+cause, remedy)...)
		}
	}
	return out
}

// checkPendingChange checks the active template.
func checkPendingChange(_ context.Context, e Env) []Check {
	const name = "template"
	if e.Template == nil {
		return nil
	}
	used, pending, err := e.Template()
	switch {
	case err != nil:
		return failWithError(name, err, "check the file; without it no template is active")
	case !pending && used == "":
		return nil
	case !pending:
		return okCheck(name, used+" is active")
	}
	if _, held, err := system.Probe(filepath.Join(e.Paths.TemplateState(), "lock")); err == nil && held {
		return okCheck(name, "another command is changing templates")
	}
	return warnCheck(name, "a template change was interrupted; settings, personality and schedules may not match",
		"complete it and read the output: hob template reset, or hob template use")
}
