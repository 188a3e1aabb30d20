package crew

import (
	"context"
	"fmt"
	"strings"

	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type spawnIn struct {
	Task     string   `json:"task" jsonschema:"what to do, complete and in plain words: the agent sees nothing else"`
	Input    string   `json:"input,omitempty" jsonschema:"material for the task"`
	Agent    string   `json:"agent,omitempty" jsonschema:"agent that does it; default yourself"`
	Tools    []string `json:"tools,omitempty" jsonschema:"only these tools, as names or patterns"`
	FollowUp bool     `json:"follow_up,omitempty" jsonschema:"continue here with the result"`
}

// spawnBackgroundTask returns spawn_background_task, which starts one task and does not wait for
// it.
func spawnBackgroundTask(e Engine) tools.Tool {
	t := tools.New(tools.Def[spawnIn]{
		Spec: tools.Spec{
			Name: "spawn_background_task", Category: "crew", Effects: tools.Write, Starts: tools.AnyEffect,
			Description: "Start a longer task in the background and continue immediately; the user is notified of its result.",
			Keywords:    "async meanwhile long running later start job detach work on it while",
		},
		Summary: func(in spawnIn) string { return "Start in the background: " + textnorm.Ellipsize(in.Task, 160) },
		RunTx: func(ctx context.Context, tx *store.Tx, c tools.Call, in spawnIn) (tools.Result, error) {
			return tools.Result{}, e.BeginTx(ctx, tx, c, []tools.TaskRequest{{Agent: in.Agent, Task: in.Task, Input: in.Input, Tools: in.Tools, Background: true, FollowUp: in.FollowUp}})
		},
	})
	return delegate{TxTool: t.(tools.TxTool), engine: e} //nolint:forcetypeassert // a Def with RunTx is own
}

type statusIn struct {
	Task string `json:"task,omitempty" jsonschema:"its id; empty: all that are queued or running"`
}

func agentStatus(e Engine) tools.Tool {
	return tools.New(tools.Def[statusIn]{
		Spec: tools.Spec{
			Name: "agent_status", Category: "crew", Effects: tools.Read,
			Description: "Show the progress of background tasks and sub-agents: what they are doing, since when, and what they are waiting for.",
			Keywords:    "progress running tasks subagents background how far still working",
		},
		Summary: func(statusIn) string { return "Show the progress of the tasks" },
		RunTx: func(ctx context.Context, tx *store.Tx, c tools.Call, in statusIn) (tools.Result, error) {
			return e.StatusTx(ctx, tx, c, strings.TrimSpace(in.Task))
		},
	})
}

type stopIn struct {
	Task string `json:"task" jsonschema:"its id"`
}

func stopTask(e Engine) tools.Tool {
	return tools.New(tools.Def[stopIn]{
		Spec: tools.Spec{
			Name: "stop_task", Category: "crew", Effects: tools.Write,
			Description: "Stop a background task or a sub-agent of this conversation, and everything that it has delegated.",
			Keywords:    "cancel kill abort halt background subagent",
		},
		Summary: func(in stopIn) string { return fmt.Sprintf("Stop the task %s", textnorm.Ellipsize(in.Task, 40)) },
		RunTx: func(ctx context.Context, tx *store.Tx, c tools.Call, in stopIn) (tools.Result, error) {
			return e.StopTx(ctx, tx, c, strings.TrimSpace(in.Task))
		},
	})
}
