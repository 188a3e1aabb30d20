package doctor

import (
	"context"
	"fmt"
	"path/filepath"

	"hob/platform/host/system"
	"hob/templates"
)

// checkTemplates reports an interrupted template change: files and schedules may then belong to
// two templates.
func checkTemplates(ctx context.Context, e Env) []Check {
	return append(brokenTemplates(e), checkPendingChange(ctx, e)...)
}

// brokenTemplates returns a finding for each invalid template of the user.
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
