package doctor

import (
	"context"
	"fmt"
	"path/filepath"

	"hob/platform/system"
	"hob/templates"
)

// checkTemplates reports an interrupted template change: files and schedules may then belong to
// two templates.
func checkTemplates(ctx context.Context, e Env) []Check {
	return append(broken(e), change(ctx, e)...)
}

// broken returns a finding for each invalid template of the user.
func broken(e Env) (out []Check) {
	list, err := templates.Shelf{Dir: e.Paths.TemplatesDir()}.List()
	if err != nil {
		return skip("template", fmt.Sprintf("read folder %s: %v", e.Paths.TemplatesDir(), plainly(err)), "take ownership and make it readable")
	}
	for _, t := range list {
		if t.Err != nil {
			cause, remedy := split(t.Err, "fix its template.toml, or remove the folder: "+t.Path)
			out = append(out, warn("template", "the template "+t.Name+" does not work: "+cause, remedy)...)
		}
	}
	return out
}

// change checks the active template.
func change(_ context.Context, e Env) []Check {
	const name = "template"
	if e.Template == nil {
		return nil
	}
	used, pending, err := e.Template()
	switch {
	case err != nil:
		return failed(name, err, "check the file; without it no template is active")
	case !pending && used == "":
		return nil
	case !pending:
		return ok(name, used+" is active")
	}
	if _, held, err := system.Probe(filepath.Join(e.Paths.TemplateState(), "lock")); err == nil && held {
		return ok(name, "another command is changing templates")
	}
	return warn(name, "a template change was interrupted; settings, personality and schedules may not match",
		"complete it and read the output: hob template reset, or hob template use")
}
