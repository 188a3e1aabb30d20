package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"hob/autonomy/llm"
	"hob/tools"
)

// pseudoPrefix is the prefix of the names of external agents' actions in the ledger. No tool of
// Hob has it.
const pseudoPrefix = "agent_"

// unclear is an effect that no tool has: the guard asks about unknown effects.
const unclear tools.Effects = 1 << 7

// externalTool represents a tool of an external agent.
type externalTool struct {
	spec tools.Spec
	by   string
	says string // the agent's own words
}

func newPseudo(a llm.Action) externalTool {
	return externalTool{by: a.By, says: a.Title, spec: tools.Spec{
		Name: pseudoPrefix + a.Kind, Category: "agent", Description: "Something that an external agent does by itself.", Effects: effectsOf(a.Does),
	}}
}

// effectsOf converts effects for the guard.
func effectsOf(does llm.Effects) tools.Effects {
	if does == 0 {
		does = llm.Unclear
	}
	var e tools.Effects
	for _, p := range []struct {
		from llm.Effects
		to   tools.Effects
	}{
		{llm.Reads, tools.Read},
		{llm.Writes, tools.Write},
		{llm.Fetches, tools.Egress},
		{llm.Runs, tools.Exec},
		{llm.Destroys, tools.Destroy},
		{llm.Unclear, unclear | tools.Exec},
	} {
		if does&p.from != 0 {
			e |= p.to
			does &^= p.from
		}
	}
	if does != 0 { // a bit that this Hob does not know
		e |= unclear
	}
	return e
}

func (p externalTool) Spec() *tools.Spec { return &p.spec }

// Call is never used: the agent runs its actions itself.
func (p externalTool) Call(context.Context, tools.Call) (tools.Result, error) {
	return tools.Result{}, tools.Errorf(tools.Unsupported, "%s is done by %s itself", tools.Clean(p.spec.Name), tools.Clean(p.by))
}

// Summary implements tools.Summarizer. It shows the action first, as the agent states it for
// programs, then the agent's words for people, marked as such.
func (p externalTool) Summary(args json.RawMessage) string {
	verb := map[string]string{
		"read": "read", "search": "search", "think": "think about", "edit": "change files", "move": "move files", "delete": "delete",
		"execute": "run a program", "fetch": "fetch from the network", "switch_mode": "change how it works",
	}[strings.TrimPrefix(p.spec.Name, pseudoPrefix)]
	if verb == "" {
		verb = "do something that it does not name"
	}
	var in struct {
		Input json.RawMessage `json:"input"`
		Paths []string        `json:"paths"`
	}
	detail := ""
	if json.Unmarshal(args, &in) == nil {
		var b bytes.Buffer
		if len(in.Input) > 0 && json.Compact(&b, in.Input) == nil {
			detail = " " + b.String()
		}
		if len(in.Paths) > 0 {
			detail += " in " + strings.Join(in.Paths, ", ")
		}
	}
	out := fmt.Sprintf("let %s %s:%s", p.by, verb, detail)
	if p.says != "" {
		out += fmt.Sprintf(" (in its words: %q)", p.says)
	}
	return out
}
