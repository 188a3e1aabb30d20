package doctor

import (
	"context"
	"errors"
	"fmt"

	"hob/autonomy/guard/rules"
	"hob/autonomy/hooks"
)

// checkPolicy checks the owner's rules. If the rules are invalid, every call is denied.
func checkPolicy(_ context.Context, e Env) []Check {
	list, err := rules.New(e.Paths.PolicyDir(), rules.Options{}).List()
	if err != nil {
		return failWithError("policy", err, "fix the file, or remove it from "+e.Paths.PolicyDir())
	}
	if len(list) == 0 {
		return okCheck("policy", "no policy rules")
	}
	return okCheck("policy", fmt.Sprintf("%d policy rules", len(list)))
}

// checkHooks checks the programs of the hooks. Until a problem is fixed, Hob refuses the actions
// that the hook should check.
func checkHooks(_ context.Context, e Env) (out []Check) {
	for _, s := range hooks.Open(hooks.Options{Hooks: e.Config.Hooks, Files: e.Config.Files, Pins: e.Paths.HookPins()}).List() {
		if s.State != hooks.Ready {
			out = append(out, failWithError("hook "+s.On, errors.New(s.Cause), "")...)
		}
	}
	if len(e.Config.Hooks) > 0 && out == nil {
		return okCheck("hooks", fmt.Sprintf("%d hooks", len(e.Config.Hooks)))
	}
	return out
}

// Confined returns the sandbox for commands and its limitations.
type Confined func(context.Context) (kind, missing string)

// checkCommands checks the sandbox for commands.
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

// Agent is an agent with a prerequisite, such as a container engine.
type Agent struct {
	Name  string
	Check func(ctx context.Context) error
}

func checkAgents(ctx context.Context, e Env) []Check {
	var out []Check
	for _, a := range e.Agents {
		name := "agent " + a.Name
		if err := a.Check(ctx); err != nil {
			out = append(out, failWithError(name, err, "see: hob agent show "+a.Name)...)
			continue
		}
		out = append(out, okCheck(name, "its container works")...)
	}
	return out
}
