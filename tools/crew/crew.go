// Package crew provides tools that delegate tasks to other agents. delegate_tasks starts tasks and
// returns their results, delegation_result reads the complete text of a truncated result,
// spawn_background_task starts a task without waiting for it, agent_status shows progress, stop_task
// stops a task, agents_list lists the agents, and sessions_list and sessions_send reach the user's
// other conversations. The tools contain no policy: the engine decides who may delegate to whom
// and what a sub-agent may do.
package crew

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/platform/store"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Engine runs tasks as turns. Its methods run in the transaction that records the call.
type Engine interface {
	BeginTx(ctx context.Context, tx *store.Tx, c tools.Call, tasks []tools.TaskRequest) error
	OutcomeTx(ctx context.Context, tx *store.Tx, c tools.Call) (tools.Outcome, error)
	ReadTx(ctx context.Context, tx *store.Tx, c tools.Call, task string, offset int) (tools.Result, error)
	// StatusTx describes the progress of one task, or of all active ones. StopTx stops a task.
	StatusTx(ctx context.Context, tx *store.Tx, c tools.Call, task string) (tools.Result, error)
	StopTx(ctx context.Context, tx *store.Tx, c tools.Call, task string) (tools.Result, error)
	// SessionsTx lists conversations, and AgentsTx the local agents.
	SessionsTx(ctx context.Context, tx *store.Tx, c tools.Call, q tools.SessionQuery) (tools.Result, error)
	AgentsTx(ctx context.Context, tx *store.Tx, c tools.Call) ([]tools.AgentRow, error)
	// SendTx puts a message into another conversation of the user, where a turn answers it. SentTx
	// returns the answer, or after wait that it is still missing.
	SendTx(ctx context.Context, tx *store.Tx, c tools.Call, to, text string) error
	SentTx(ctx context.Context, tx *store.Tx, c tools.Call, to string, wait time.Duration) (tools.Outcome, error)
}

// Tools returns the category's tools. remote names the agents on the network that delegate_to_agent
// can reach.
func Tools(e Engine, remote []string) []tools.Tool {
	return []tools.Tool{delegateTasks(e), delegationResult(e), spawnBackgroundTask(e), agentStatus(e), stopTask(e), sessionsList(e), sessionsSend(e), agentsList(e, remote)}
}

type delegateIn struct {
	Tasks []tools.TaskRequest `json:"tasks"`
}

// delegate implements delegate_tasks. The tasks that it starts continue to run after the call has
// returned.
type delegate struct {
	tools.TxTool
	engine Engine
}

var _ tools.Waiter = delegate{}

func delegateTasks(e Engine) tools.Tool {
	t := tools.New(tools.Def[delegateIn]{
		Spec: tools.Spec{
			Name: "delegate_tasks", Category: "crew", Effects: tools.Write, Starts: tools.AnyEffect,
			Description: "Delegate tasks to sub-agents that work at the same time, and get their results.",
			Keywords:    "parallel subagent background helper team split agent delegate assistant simultaneously concurrently",
		},
		Summary: func(in delegateIn) string {
			var list []string
			for _, t := range in.Tasks {
				list = append(list, textnorm.Ellipsize(t.Task, 80))
			}
			return fmt.Sprintf("Delegate %d task(s): %s", len(list), strings.Join(list, "; "))
		},
		RunTx: func(ctx context.Context, tx *store.Tx, c tools.Call, in delegateIn) (tools.Result, error) {
			return tools.Result{}, e.BeginTx(ctx, tx, c, in.Tasks)
		},
	})
	return delegate{TxTool: t.(tools.TxTool), engine: e} //nolint:forcetypeassert // a Def with RunTx is own
}

// OutcomeTx implements tools.Waiter.
func (d delegate) OutcomeTx(ctx context.Context, tx *store.Tx, c tools.Call) (tools.Outcome, error) {
	return d.engine.OutcomeTx(ctx, tx, c)
}

// Check validates the arguments against the schema; see tools.Check.
func (d delegate) Check(args json.RawMessage) error { return tools.Check(d.TxTool, args) }

// Summary implements tools.Summarizer.
func (d delegate) Summary(args json.RawMessage) string {
	return d.TxTool.(tools.Summarizer).Summary(args)
} //nolint:forcetypeassert // made by tools.New

type resultIn struct {
	Task   string `json:"task,omitempty" jsonschema:"its id; empty lists this conversation's tasks"`
	Offset int    `json:"offset,omitempty" jsonschema:"characters to skip"`
}

func delegationResult(e Engine) tools.Tool {
	return tools.New(tools.Def[resultIn]{
		Spec: tools.Spec{
			Name: "delegation_result", Category: "crew", Effects: tools.Read,
			Description: "Read the full result of a delegated task, or list the delegated tasks.",
			Keywords:    "subagent background task status progress finished delegated",
		},
		RunTx: func(ctx context.Context, tx *store.Tx, c tools.Call, in resultIn) (tools.Result, error) {
			return e.ReadTx(ctx, tx, c, strings.TrimSpace(in.Task), in.Offset)
		},
	})
}
