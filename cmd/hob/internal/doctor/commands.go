package doctor

import "context"

// Confined says what confines commands, and what is missing of it.
type Confined func(context.Context) (kind, missing string)

// checkCommands looks for the sandbox of commands.
func checkCommands(ctx context.Context, e Env) []Check {
	if e.Confined == nil {
		return nil
	}
	const name, remedy = "commands", "install bubblewrap (apt install bubblewrap), or set [shell] sandbox = \"off\" to do without"
	kind, missing := e.Confined(ctx)
	switch {
	case e.Config.Shell.Sandbox == "off":
		return ok(name, "nothing confines them, as [shell] sandbox = \"off\" says; those that do more than look ask you")
	case kind == "" && e.Config.Shell.Sandbox == "require":
		return fail(name, "none can run, since "+missing, remedy)
	case kind == "":
		return warn(name, "nothing confines them: "+missing, remedy)
	case missing != "":
		return warn(name, kind+" confines them, in part: "+missing, remedy)
	}
	return ok(name, kind+" confines them")
}
