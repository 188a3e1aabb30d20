package crew

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits of the wait for an answer, in seconds.
const (
	defaultWait = 60
	longestWait = 600
)

type sessionsIn struct {
	Agent  string `json:"agent,omitempty" jsonschema:"only conversations that this agent answers"`
	Active int    `json:"active_minutes,omitempty" jsonschema:"only conversations active in the last N minutes"`
	All    bool   `json:"all,omitempty" jsonschema:"also delegated tasks, background work and chats with other people"`
	Limit  int    `json:"limit,omitempty" jsonschema:"default 50"`
}

func sessionsList(e Engine) tools.Tool {
	return tools.New(tools.Def[sessionsIn]{
		Spec: tools.Spec{
			Name: "sessions_list", Category: "crew", Effects: tools.Read,
			Description: "List the conversations with Hob: where they run, which agent answers, and when they were last active.",
			Keywords:    "sessions conversations chats threads open other which",
		},
		Summary: func(sessionsIn) string { return "List the conversations" },
		RunTx: func(ctx context.Context, tx *store.Tx, c tools.Call, in sessionsIn) (tools.Result, error) {
			if in.Active < 0 || in.Limit < 0 {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "active_minutes and limit must be positive")
			}
			q := tools.SessionQuery{Agent: strings.TrimSpace(in.Agent), All: in.All, Limit: in.Limit}
			if in.Active > 0 {
				q.Since = c.Now.Add(-time.Duration(in.Active) * time.Minute)
			}
			return e.SessionsTx(ctx, tx, c, q)
		},
	})
}

type sendIn struct {
	Session string `json:"session" jsonschema:"id of the conversation"`
	Message string `json:"message" jsonschema:"what to say there; that conversation sees nothing else of this one"`
	Timeout int    `json:"timeout_seconds,omitempty" jsonschema:"how long to wait for the answer, default 60, at most 600"`
}

// sender implements sessions_send, which waits for the answer of the other conversation.
type sender struct {
	tools.TxTool
	engine Engine
}

var _ tools.Waiter = sender{}

func sessionsSend(e Engine) tools.Tool {
	t := tools.New(tools.Def[sendIn]{
		Spec: tools.Spec{
			Name: "sessions_send", Category: "crew", Effects: tools.Write, Starts: tools.AnyEffect,
			Description: "Say something in another conversation of the user with Hob, and get the answer given there.",
			Keywords:    "session conversation tell other chat pass on forward say ask there",
		},
		Summary: func(in sendIn) string {
			return fmt.Sprintf("Say in the conversation %s: %s", textnorm.Ellipsize(in.Session, 60), textnorm.Ellipsize(in.Message, 160))
		},
		RunTx: func(ctx context.Context, tx *store.Tx, c tools.Call, in sendIn) (tools.Result, error) {
			if in.Timeout < 0 || in.Timeout > longestWait {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "timeout_seconds must be 1 to %d", longestWait)
			}
			return tools.Result{}, e.SendTx(ctx, tx, c, strings.TrimSpace(in.Session), in.Message)
		},
	})
	return sender{TxTool: t.(tools.TxTool), engine: e} //nolint:forcetypeassert // a Def with RunTx is own
}

// OutcomeTx implements tools.Waiter.
func (s sender) OutcomeTx(ctx context.Context, tx *store.Tx, c tools.Call) (tools.Outcome, error) {
	var in sendIn
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return tools.Outcome{}, fmt.Errorf("crew: decode a call: %w", err)
	}
	return s.engine.SentTx(ctx, tx, c, strings.TrimSpace(in.Session), time.Duration(cmp.Or(in.Timeout, defaultWait))*time.Second)
}

// Check validates the arguments against the schema; see tools.Check.
func (s sender) Check(args json.RawMessage) error { return tools.Check(s.TxTool, args) }

// Summary implements tools.Summarizer.
func (s sender) Summary(args json.RawMessage) string {
	return s.TxTool.(tools.Summarizer).Summary(args) //nolint:forcetypeassert // made by tools.New
}

type agentsIn struct{}

func agentsList(e Engine, remote []string) tools.Tool {
	return tools.New(tools.Def[agentsIn]{
		Spec: tools.Spec{
			Name: "agents_list", Category: "crew", Effects: tools.Read,
			Description: "List the agents: those of this computer and those on the network, and which of them tasks may be delegated to.",
			Keywords:    "agents subagents helpers assistants who team available delegate",
		},
		Summary: func(agentsIn) string { return "List the agents" },
		RunTx: func(ctx context.Context, tx *store.Tx, c tools.Call, _ agentsIn) (tools.Result, error) {
			list, err := e.AgentsTx(ctx, tx, c)
			if err != nil {
				return tools.Result{}, err
			}
			for _, name := range remote {
				list = append(list, tools.AgentRow{Name: name, Kind: "remote", Delegable: true})
			}
			return tools.Result{Text: describeAgents(list), Data: map[string]any{"agents": list}, Source: provenance.Tool}, nil
		},
	})
}

func describeAgents(list []tools.AgentRow) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", textnorm.CountNoun(len(list), "agent", "agents"))
	for _, a := range list {
		var parts []string
		if a.Current {
			parts = append(parts, "answers here")
		}
		if a.Kind == "remote" {
			parts = append(parts, "on the network")
		}
		if a.Tools > 0 {
			parts = append(parts, textnorm.CountNoun(a.Tools, "tool", "tools"))
		}
		if a.Container {
			parts = append(parts, "in a container")
		}
		if a.OpenTasks > 0 {
			parts = append(parts, textnorm.CountNoun(a.OpenTasks, "open task", "open tasks"))
		}
		switch {
		case a.Problem != "":
			parts = append(parts, "not available: "+a.Problem)
		case !a.Delegable:
			parts = append(parts, "takes no tasks from here")
		}
		fmt.Fprintf(&b, "\n- %s (%s)", a.Name, strings.Join(parts, ", "))
		if a.About != "" {
			fmt.Fprintf(&b, ": %s", textnorm.Ellipsize(a.About, 160))
		}
	}
	return b.String()
}
