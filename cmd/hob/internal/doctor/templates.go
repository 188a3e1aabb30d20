package doctor

import (
	"context"
	"path/filepath"

	"hob/platform/system"
)

// checkTemplates looks whether a change of templates was interrupted: files and
// schedules may be those of two templates then.
func checkTemplates(_ context.Context, e Env) []Check {
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
