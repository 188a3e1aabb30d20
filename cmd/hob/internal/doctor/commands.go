package doctor

import "context"

// Confined returns the sandbox of commands and its limitations.
type Confined func(context.Context) (kind, missing string)

// checkCommands checks the sandbox of commands.
func checkCommands(ctx context.Context, e Env) []Check {
	if e.Confined == nil {
		return nil
	}
	const name, remedy = "commands", "install bubblewrap (apt install bubblewrap), or set [shell] sandbox = \"off\" to run without it"
	kind, missing := e.Confined(ctx)
	switch {
	case e.Config.Shell.Sandbox == "off":
		return okCheck(name, "no sandbox, because [shell] sandbox = \"off\"; commands that do more than read need your approval")
	case kind == "" && e.Config.Shell.Sandbox == "require":
		return failCheck(name, "no command can run: "+missing, remedy)
	case kind == "":
		return warnCheck(name, "no sandbox: "+missing, remedy)
	case missing != "":
		return warnCheck(name, "partial sandbox with "+kind+": "+missing, remedy)
	}
	return okCheck(name, "sandbox: "+kind)
}
