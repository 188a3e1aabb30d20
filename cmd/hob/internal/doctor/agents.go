package doctor

import "context"

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
