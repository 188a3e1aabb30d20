package doctor

import (
	"context"
	"fmt"
	"path/filepath"

	"hob/platform/system"
	"hob/templates"
)

// checkTemplates looks whether a change of templates was interrupted: files and
// schedules may be those of two templates then.
func checkTemplates(ctx context.Context, e Env) []Check {
	return append(broken(e), change(ctx, e)...)
}

// broken are the owner's own templates that cannot be used.
func broken(e Env) (out []Check) {
	list, err := templates.Shelf{Dir: e.Paths.TemplatesDir()}.List()
	if err != nil {
		return skip("template", fmt.Sprintf("the folder %s cannot be read: %v", e.Paths.TemplatesDir(), plainly(err)), "make it yours, and readable")
	}
	for _, t := range list {
		if t.Err != nil {
			cause, remedy := split(t.Err, "mend its template.toml, or take the folder away: "+t.Path)
			out = append(out, warn("template", "the template "+t.Name+" cannot be used: "+cause, remedy)...)
		}
	}
	return out
}

// change looks at the template that is in use.
func change(_ context.Context, e Env) []Check {
	const name = "template"
	if e.Template == nil {
		return nil
	}
	used, pending, err := e.Template()
	switch {
	case err != nil:
		return failed(name, err, "look at the file; without it no template is in use")
	case !pending && used == "":
		return nil
	case !pending:
		return ok(name, used+" is in use")
	}
	if _, held, err := system.Probe(filepath.Join(e.Paths.TemplateState(), "lock")); err == nil && held {
		return ok(name, "another command changes templates")
	}
	return warn(name, "a change of templates was interrupted and is not finished; settings, personality and schedules may not belong together",
		"finish it, and look at what it says: hob template reset, or hob template use")
}
