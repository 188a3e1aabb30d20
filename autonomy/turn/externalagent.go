package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/platform/store"
	"hob/platform/text/sorting"
	"hob/tools"
)

// externalAgent connects an agent that runs its own actions (llm.Info.Acts) to the turn. The
// actions pass the same policy check as the model's calls and are recorded in the same way.
type externalAgent struct {
	o      *Options
	t      *Turn
	conv   *conversation
	rec    *stepRecorder
	hist   *callHistory
	policy *policyCheck
	chain  *hookChain
	feed   *liveFeed
	exec   *toolExecutor
	// offered lists the tools that the turn offers to a model, and to an agent over MCP.
	offered []llm.Tool
	before  []llm.Action // the agent's actions in this turn before Hob was interrupted
}

// newBroker opens a broker for a model call. leave closes the broker and may be called twice.
func (x *externalAgent) newBroker(ctx context.Context) (d *permissionBroker, leave func()) {
	d = &permissionBroker{externalAgent: x, steps: map[string]*pendingAction{}}
	d.ctx, d.stop = context.WithCancel(ctx)
	return d, func() { d.closeActions(ctx) }
}

// settleLeftovers cleans up after the broker of an interrupted turn. Open approval requests expire,
// because the agent that sent them is no longer running. Started actions get an unknown outcome.
// settleLeftovers notifies the owner of both.
func (x *externalAgent) settleLeftovers(ctx context.Context) error {
	waiting, err := x.o.Guard.Approvals(ctx, guard.Pending, "", x.t.Event.ID, 100)
	if err != nil {
		return err
	}
	waiting = slices.DeleteFunc(waiting, func(a guard.Approval) bool { return !isAgentCall(a.Tool, a.Call) })
	var lost []bus.Entry
	for _, e := range x.rec.ledger {
		if !isAgentCall(e.Tool, e.Call) {
			continue
		}
		x.before = append(x.before, actionFromEntry(e))
		if e.State == bus.CallStarted {
			lost = append(lost, e)
		}
	}
	if len(waiting) == 0 && len(lost) == 0 {
		return nil
	}
	sorting.ByFunc(lost, func(x, y bus.Entry) int { return x.StartedAt.Compare(y.StartedAt) })
	err = x.o.Store.Write(ctx, func(tx *store.Tx) error {
		for _, a := range waiting {
			if _, err := x.o.Guard.EndTx(tx, a.ID, guard.Cancelled); err != nil {
				return err
			}
		}
		for _, e := range lost {
			s := &callStep{call: llm.ToolCall{ID: e.Call}, tool: externalTool{spec: tools.Spec{Name: e.Tool, Effects: unclear}}, args: e.Args}
			s.err = tools.Errorf(tools.OutcomeUnknown, "Hob was interrupted while the agent performed this action, so it is unknown whether the action took effect")
			if err := x.rec.recordEndTx(tx, s, unknownEntry(e, s.err)); err != nil {
				return err
			}
		}
		return x.policy.notifyTx(tx, lapsedText(waiting, lost))
	})
	if err != nil {
		return fmt.Errorf("turn: close the interrupted actions of an external agent: %w", err)
	}
	return nil
}

// lapsedText returns the notice about approval requests that expired and outcomes that became
// unknown in an interruption.
func lapsedText(waiting []guard.Approval, lost []bus.Entry) string {
	var b strings.Builder
	b.WriteString("I was interrupted while I was working on this, so I am starting again.")
	for _, a := range waiting {
		fmt.Fprintf(&b, "\nMy question %s has expired (%s). I will ask again if I still need to.", a.ID, a.Summary)
	}
	for _, e := range lost {
		fmt.Fprintf(&b, "\nIt is not known whether this took effect: %s", firstOf(externalTool{spec: tools.Spec{Name: e.Tool}, by: actionFromEntry(e).By}.Summary(e.Args), 300))
	}
	return b.String()
}

func firstOf(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// actionFromEntry converts a ledger entry into an action for the agent.
func actionFromEntry(e bus.Entry) llm.Action {
	var in struct {
		Agent string `json:"agent"`
		Title string `json:"title"`
	}
	_ = json.Unmarshal(e.Args, &in) // without a title the action is still reported
	a := llm.Action{ID: e.Call, By: in.Agent, Kind: strings.TrimPrefix(e.Tool, pseudoPrefix), Title: in.Title}
	switch e.State {
	case bus.CallStarted, bus.CallUnknown:
		a.State = llm.Begun
	case bus.CallDone:
		a.State = llm.Ended
	case bus.CallFailed:
		a.State = llm.Failed
	case bus.CallDenied:
		a.State = llm.Dropped
	}
	return a
}

// pseudoPrefix is the ledger name prefix for the actions of external agents. No Hob tool has a name
// with this prefix.
const pseudoPrefix = "agent_"

// unclear is an effect that no tool declares. The guard requires approval for unknown effects.
const unclear tools.Effects = 1 << 7

// externalTool represents a tool of an external agent.
type externalTool struct {
	spec tools.Spec
	by   string
	says string // the agent's own description of the action
}

func newPseudo(a llm.Action) externalTool {
	return externalTool{by: a.By, says: a.Title, spec: tools.Spec{
		Name: pseudoPrefix + a.Kind, Category: "agent", Description: "An action that an external agent performs itself.", Effects: effectsOf(a.Does),
	}}
}

// effectsOf converts the agent's effects to tool effects for the guard.
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
	if does != 0 { // an effect that this version of Hob does not know
		e |= unclear
	}
	return e
}

func (p externalTool) Spec() *tools.Spec { return &p.spec }

// Call is never used: the agent runs its actions itself.
func (p externalTool) Call(context.Context, tools.Call) (tools.Result, error) {
	return tools.Result{}, tools.Errorf(tools.Unsupported, "%s is an action that %s performs itself", tools.Clean(p.spec.Name), tools.Clean(p.by))
}

// plainArguments returns the texts and numbers of a JSON object without the syntax of JSON, for a
// sentence. It replaces nested values with an ellipsis: the details of a request show them. A single
// value needs no name.
func plainArguments(object json.RawMessage) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(object, &in) != nil {
		return ""
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(in)) {
		value := string(in[name])
		if strings.ContainsAny(value[:1], "{[") {
			value = "…"
		} else if value[0] == '"' {
			_ = json.Unmarshal(in[name], &value) // in is valid JSON
		}
		if len(in) > 1 {
			value = name + " " + value
		}
		out = append(out, value)
	}
	return strings.Join(out, ", ")
}

// Summary implements tools.Summarizer. It shows the machine-readable action first, then the agent's
// own description, which is marked as such.
func (p externalTool) Summary(args json.RawMessage) string {
	verb := map[string]string{
		"read": "read", "search": "search", "think": "think about", "edit": "change files", "move": "move files", "delete": "delete",
		"execute": "run a program", "fetch": "fetch from the network", "switch_mode": "switch its mode",
	}[strings.TrimPrefix(p.spec.Name, pseudoPrefix)]
	if verb == "" {
		verb = "do something that it does not describe"
	}
	var in struct {
		Input json.RawMessage `json:"input"`
		Paths []string        `json:"paths"`
	}
	detail := ""
	if json.Unmarshal(args, &in) == nil {
		if text := plainArguments(in.Input); text != "" {
			detail = " " + text
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
