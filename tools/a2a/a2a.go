// Package a2a provides the tool delegate_to_agent, which delegates a task to another agent: to an
// agent of this process, or over A2A 1.0 (https://a2a-protocol.org) to one on the network. Models can
// select only configured agents and no other address. All text from a remote agent is untrusted.
//
// A remote call is a row of a2a_calls (see tools.Waiter): the turn waits in the database, and Run does the
// work. After a restart, Run continues with the id of the task at the agent. If it is unknown
// whether a message arrived, Run does not send it again.
package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/config"
	"hob/platform/net/safehttp"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits.
const (
	maxTask  = 100_000 // bytes of a task
	maxOpen  = 16      // calls at the same time
	maxText  = 200_000 // maximum bytes of an answer that are kept
	callTime = time.Hour
	keepTime = 30 * 24 * time.Hour // time for which ended calls are kept
)

// toolName is the name of the tool.
const toolName = "delegate_to_agent"

// Local delegates tasks to the agents of this process; *agents.Registry implements it.
type Local interface {
	BeginTx(ctx context.Context, tx *store.Tx, c tools.Call, tasks []tools.TaskRequest) error
	OutcomeTx(ctx context.Context, tx *store.Tx, c tools.Call) (tools.Outcome, error)
}

// Options holds the options of New. All are required, except Local and LocalNames.
type Options struct {
	Store   *store.Store
	Network *safehttp.Client
	Agents  []config.A2AAgent
	// Local runs tasks of the agents LocalNames. A remote agent takes precedence over a local agent
	// with the same name.
	Local      Local
	LocalNames []string
	// Secret resolves the reference to a token.
	Secret func(ctx context.Context, ref string) (string, error)
	// Resume resumes the turn of an event whose call has ended.
	Resume func(tx *store.Tx, event string) error
	// Publish publishes the progress of a call to the live feed.
	Publish func(typ, event, session string, data any)
	Log     *slog.Logger
}

// Client delegates tasks. Its methods may be called concurrently.
type Client struct {
	o    Options
	wake chan struct{} // signals work for Run

	mu      sync.Mutex
	running map[string]context.CancelFunc // calls that Run works on
}

// New returns a client over a database opened with Migrations.
func New(o Options) *Client {
	return &Client{o: o, wake: make(chan struct{}, 1), running: map[string]context.CancelFunc{}}
}

// Migrations returns the package's table.
func Migrations() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "a2a", Steps: []string{`
CREATE TABLE a2a_calls (
	call TEXT PRIMARY KEY, event TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL, task TEXT NOT NULL,
	remote TEXT NOT NULL DEFAULT '', context TEXT NOT NULL DEFAULT '', state TEXT NOT NULL, result TEXT NOT NULL DEFAULT '',
	outside INTEGER NOT NULL DEFAULT 1, code TEXT NOT NULL DEFAULT '', canceling INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX a2a_calls_open ON a2a_calls(session) WHERE state IN ('new', 'sending', 'open') OR canceling = 1;
CREATE INDEX a2a_calls_session ON a2a_calls(session, agent, created_at);
`}}}
}

// Eraser returns the eraser for tasks and answers.
func Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{
		Name: "a2a_calls", Key: []string{"call"}, Text: []string{"task", "result"}, Event: "event", Session: "session", Call: "call",
		Whole: map[string]any{"task": erase.Mark, "result": erase.Mark},
	}}}
}

// The states of a call.
const (
	stateNew     = "new"
	stateSending = "sending" // a crash in this state leaves the outcome unknown
	stateOpen    = "open"    // the agent has the task, whose id is stored
	stateDone    = "done"
	stateInput   = "input" // the agent asked a question; the next call continues the task
	stateFailed  = "failed"
	stateStopped = "stopped"
)

// openStates is an SQL condition that selects the calls that have not ended.
const openStates = `state IN ('new', 'sending', 'open')`

// callRow is a call.
type callRow struct {
	call, event, session, agent, task string
	remote, context                   string // ids at the agent
	state, result                     string
	outside                           bool // whether result contains text of the agent
	code                              tools.Code
	canceling                         bool // whether Hob must still cancel the task at the agent
	created                           time.Time
}

const callColumns = `call, event, session, agent, task, remote, context, state, result, outside, code, canceling, created_at`

func scanCall(r interface{ Scan(...any) error }) (c callRow, err error) {
	var created int64
	err = r.Scan(&c.call, &c.event, &c.session, &c.agent, &c.task, &c.remote, &c.context, &c.state, &c.result, &c.outside, &c.code, &c.canceling, &created)
	c.created = store.Time(created)
	return c, err
}

func selectCalls(ctx context.Context, q store.Querier, where string, args ...any) (out []callRow, err error) {
	rows, err := q.Query(`SELECT `+callColumns+` FROM a2a_calls WHERE `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("a2a: read calls: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() && ctx.Err() == nil {
		c, err := scanCall(rows)
		if err != nil {
			return nil, fmt.Errorf("a2a: read calls: %w", err)
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

type delegateIn struct {
	Agent string `json:"agent"`
	Task  string `json:"task" jsonschema:"everything the agent needs to know; it sees nothing else"`
}

// delegateTool implements delegate_to_agent.
type delegateTool struct {
	tools.TxTool
	client *Client
}

var _ tools.Waiter = delegateTool{}

// Tools returns the tool. It returns nil if there is no agent.
func (c *Client) Tools() []tools.Tool {
	if c == nil || len(c.o.Agents)+len(c.o.LocalNames) == 0 {
		return nil
	}
	spec := tools.Spec{
		Name: toolName, Category: "crew", Effects: tools.Send,
		Description: "Give a task to another agent, on this computer or on the network, and get its answer. If it asks something, answer with another call.",
		Keywords:    "a2a remote external peer agent delegate assistant ask local " + strings.Join(c.allNames(), " "),
	}
	if c.o.Local != nil {
		spec.Effects, spec.Starts = spec.Effects|tools.Write, tools.AnyEffect
	}
	t := tools.New(tools.Def[delegateIn]{
		Spec:      spec,
		Arguments: map[string]string{"agent": "one of: " + strings.Join(c.allNames(), ", ")},
		Judge: func(_ context.Context, in delegateIn) tools.CallAssessment {
			if c.isLocal(in.Agent) {
				return tools.CallAssessment{Effects: tools.Write, Why: "the agent runs on this computer"}
			}
			return tools.CallAssessment{Effects: tools.Send}
		},
		Summary: func(in delegateIn) string {
			verb := "Send to"
			if c.isLocal(in.Agent) {
				verb = "Delegate to"
			}
			return fmt.Sprintf("%s the agent %s: %s", verb, in.Agent, textnorm.Ellipsize(in.Task, 200))
		},
		RunTx: func(ctx context.Context, tx *store.Tx, call tools.Call, in delegateIn) (tools.Result, error) {
			if c.isLocal(in.Agent) {
				return tools.Result{}, c.o.Local.BeginTx(ctx, tx, call, []tools.TaskRequest{{Agent: in.Agent, Task: in.Task}})
			}
			return tools.Result{}, c.beginTx(ctx, tx, call, in)
		},
	})
	return []tools.Tool{delegateTool{TxTool: t.(tools.TxTool), client: c}} //nolint:forcetypeassert // a Def with RunTx is own
}

// allNames returns the names of all agents, the remote ones first.
func (c *Client) allNames() []string {
	return append(c.Names(), slices.DeleteFunc(slices.Clone(c.o.LocalNames), func(n string) bool { return !c.isLocal(n) })...)
}

func (c *Client) isLocal(name string) bool {
	return c.o.Local != nil && slices.Contains(c.o.LocalNames, name) && !slices.Contains(c.Names(), name)
}

// Names returns the names of the configured agents.
func (c *Client) Names() (out []string) {
	if c == nil {
		return nil
	}
	for _, a := range c.o.Agents {
		out = append(out, a.Name)
	}
	return out
}

func (c *Client) findAgent(name string) (config.A2AAgent, error) {
	i := slices.IndexFunc(c.o.Agents, func(a config.A2AAgent) bool { return a.Name == name })
	if i < 0 {
		return config.A2AAgent{}, tools.Errorf(tools.NotFound, "there is no agent %q; the configured agents are: %s", tools.Clean(name), tools.Clean(strings.Join(c.allNames(), ", ")))
	}
	return c.o.Agents[i], nil
}

// Check validates the arguments before the user is asked; see tools.Check.
func (d delegateTool) Check(args json.RawMessage) error {
	if err := tools.Check(d.TxTool, args); err != nil {
		return err
	}
	var in delegateIn
	if err := json.Unmarshal(args, &in); err != nil {
		return tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	}
	return d.client.checkArguments(in)
}

func (c *Client) checkArguments(in delegateIn) error {
	if !c.isLocal(in.Agent) {
		if _, err := c.findAgent(in.Agent); err != nil {
			return err
		}
	}
	if strings.TrimSpace(in.Task) == "" || len(in.Task) > maxTask {
		return tools.Errorf(tools.InvalidArguments, "the task must have 1 to %d bytes", maxTask)
	}
	return nil
}

// Judge implements tools.CallAssessor.
func (d delegateTool) Judge(ctx context.Context, args json.RawMessage) tools.CallAssessment {
	return d.TxTool.(tools.CallAssessor).Judge(ctx, args) //nolint:forcetypeassert // made by tools.New
}

// Summary implements tools.Summarizer.
func (d delegateTool) Summary(args json.RawMessage) string {
	return d.TxTool.(tools.Summarizer).Summary(args) //nolint:forcetypeassert // made by tools.New
}

// OutcomeTx implements tools.Waiter.
func (d delegateTool) OutcomeTx(ctx context.Context, tx *store.Tx, call tools.Call) (tools.Outcome, error) {
	var in delegateIn
	if err := json.Unmarshal(call.Args, &in); err == nil && d.client.isLocal(in.Agent) {
		return d.client.o.Local.OutcomeTx(ctx, tx, call)
	}
	return d.client.outcomeTx(ctx, tx, call)
}

// beginTx stores a call for Run. If the agent's last message in this conversation is a question,
// the call answers this question.
func (c *Client) beginTx(ctx context.Context, tx *store.Tx, call tools.Call, in delegateIn) error {
	if err := c.checkArguments(in); err != nil {
		return err
	}
	open, err := selectCalls(ctx, tx, openStates)
	if err != nil {
		return err
	}
	if len(open) >= maxOpen {
		return tools.Errorf(tools.Conflict, "%d tasks are already with other agents, and the limit is %d; wait until some have ended", len(open), maxOpen)
	}
	before, err := selectCalls(ctx, tx, `session = ? AND agent = ? ORDER BY created_at DESC, call DESC LIMIT 1`, call.Session, in.Agent)
	if err != nil {
		return err
	}
	var remote, context string
	if len(before) > 0 && before[0].state == stateInput {
		remote, context = before[0].remote, before[0].context
	}
	now := time.Now()
	_, err = tx.Exec(`INSERT INTO a2a_calls (call, event, session, agent, task, remote, context, state, created_at) VALUES (?,?,?,?,?,?,?,?,?)`,
		call.ID, call.Event, call.Session, in.Agent, in.Task, remote, context, stateNew, now.UnixMilli())
	if err != nil {
		return fmt.Errorf("a2a: store call: %w", err)
	}
	if _, err := tx.Exec(`DELETE FROM a2a_calls WHERE created_at < ? AND canceling = 0 AND NOT `+openStates, now.Add(-keepTime).UnixMilli()); err != nil {
		return fmt.Errorf("a2a: remove old calls: %w", err)
	}
	tx.AfterCommit(c.signalWake)
	return nil
}

// outcomeTx returns the outcome of a call. A call that exceeds the time limit fails.
func (c *Client) outcomeTx(ctx context.Context, tx *store.Tx, call tools.Call) (tools.Outcome, error) {
	list, err := selectCalls(ctx, tx, `call = ?`, call.ID)
	if err != nil {
		return tools.Outcome{}, err
	}
	if len(list) == 0 {
		return tools.Outcome{Done: true, Err: tools.Errorf(tools.OutcomeUnknown, "the record of this call no longer exists")}, nil
	}
	row := list[0]
	out := tools.Outcome{Done: true}
	switch row.state {
	case stateDone, stateInput:
		out.Result = tools.Result{Text: row.result, Source: provenance.Outside, Origins: row.answerOrigins(), Data: map[string]string{"agent": row.agent, "task": row.remote, "state": row.state}}
	case stateFailed:
		e := tools.Errorf(row.code, "%s", tools.Clean(row.result))
		if row.outside {
			e.Source = provenance.Outside
		}
		out.Err = e
	case stateStopped:
		out.Stopped, out.Err = true, tools.Errorf(tools.Cancelled, "the user stopped this turn and its tasks")
	default:
		until := row.created.Add(callTime)
		if time.Now().Before(until) {
			return tools.Outcome{Until: until}, nil
		}
		why := fmt.Sprintf("the agent did not finish within %s, so the task was canceled", callTime)
		if err := c.closeTx(tx, row, stateFailed, why, tools.TimedOut); err != nil {
			return tools.Outcome{}, err
		}
		out.Err = tools.Errorf(tools.TimedOut, "%s", tools.Clean(why))
	}
	return out, nil
}

func (r callRow) answerOrigins() []provenance.Origin {
	return []provenance.Origin{{Kind: "agent", Label: r.agent, Via: toolName, Event: r.event}}
}

// closeTx ends an open call with Hob's own text and cancels the task at the agent.
func (c *Client) closeTx(tx *store.Tx, row callRow, state, why string, code tools.Code) error {
	_, err := tx.Exec(`UPDATE a2a_calls SET state = ?, result = ?, outside = 0, code = ?, canceling = iif(remote <> '' OR state = 'sending', 1, 0) WHERE call = ? AND `+openStates,
		state, why, code, row.call)
	if err != nil {
		return fmt.Errorf("a2a: close call: %w", err)
	}
	tx.AfterCommit(func() {
		c.mu.Lock()
		cancel := c.running[row.call]
		c.mu.Unlock()
		if cancel != nil {
			cancel()
		}
		c.signalWake()
	})
	return nil
}

// Stop ends the open calls of a conversation. It reports whether any call was open.
func (c *Client) Stop(ctx context.Context, session string) (stopped bool, err error) {
	err = c.o.Store.Write(ctx, func(tx *store.Tx) error {
		list, err := selectCalls(ctx, tx, `session = ? AND `+openStates, session)
		if err != nil {
			return err
		}
		stopped = len(list) > 0
		for _, row := range list {
			if err := c.closeTx(tx, row, stateStopped, "stopped by the user", tools.Cancelled); err != nil {
				return err
			}
			if err := c.o.Resume(tx, row.event); err != nil {
				return err
			}
		}
		return nil
	})
	return stopped, err
}

func (c *Client) signalWake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
