package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hob/autonomy/bus"
	"hob/autonomy/session"
	"hob/autonomy/turn"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits of the session tools.
const (
	maxSessions = 200     // sessions in one list
	maxSent     = 32_000  // bytes of a message to another conversation
	maxScanned  = 2_000   // newest sessions that a list reads
	directCall  = "tool:" // prefix of the sessions of tool calls that the user made directly
)

// SessionRow is one conversation in the Data of sessions_list.
type SessionRow struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"` // "chat", "task" for delegated tasks, or "other" for background work and other people
	Agent     string    `json:"agent"`
	Channel   string    `json:"channel"`
	Turns     int       `json:"turns"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Current   bool      `json:"current,omitempty"` // the conversation of the call
	// Reachable reports whether sessions_send may send to the conversation.
	Reachable bool `json:"reachable"`
}

// SessionsTx lists conversations, latest first. An agent with its own memory sees only the
// conversations that it answers.
func (c *Registry) SessionsTx(ctx context.Context, tx *store.Tx, call tools.Call, q tools.SessionQuery) (tools.Result, error) {
	list, err := c.o.Sessions.List(ctx, maxScanned)
	if err != nil {
		return tools.Result{}, err
	}
	limit := cmp.Or(min(q.Limit, maxSessions), 50)
	rows, left, source := []SessionRow{}, 0, provenance.Tool
	for _, i := range list {
		if strings.HasPrefix(i.ID, directCall) || !q.Since.IsZero() && i.UpdatedAt.Before(q.Since) {
			continue
		}
		r, err := c.sessionRow(ctx, tx, call, i)
		switch {
		case err != nil:
			return tools.Result{}, err
		case call.Realm != "" && r.Agent != call.Agent, q.Agent != "" && r.Agent != q.Agent, !q.All && r.Kind != "chat":
			continue
		case len(rows) == limit:
			left++
			continue
		}
		if r.Kind == "other" { // other people may have chosen the id
			source = provenance.Outside
		}
		rows = append(rows, r)
	}
	return tools.Result{Text: describeSessions(rows, left, call.Now), Data: map[string]any{"sessions": rows, "left_out": left}, Source: source}, nil
}

func (c *Registry) sessionRow(ctx context.Context, tx *store.Tx, call tools.Call, i session.Info) (SessionRow, error) {
	r := SessionRow{ID: i.ID, Kind: "other", Channel: i.Channel, Turns: i.Turns, CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt, Current: i.ID == call.Session}
	m, err := c.CurrentAgent(ctx, MessageOrigin{Session: i.ID, Channel: i.Channel, Chat: i.Chat})
	if err != nil && !errors.Is(err, ErrNobody) {
		return r, err
	}
	r.Agent = m.Name
	if at := strings.LastIndexByte(i.ID, '/'); at >= 0 {
		if t, ok, err := taskTx(tx, `id = ?`, i.ID[at+1:]); err != nil {
			return r, err
		} else if ok && t.Own() == i.ID {
			r.Kind, r.Agent = "task", t.Agent
			return r, nil
		}
	}
	private, err := bus.IsPrivate(tx, i.ID)
	if private {
		r.Kind = "chat"
	}
	r.Reachable = private && !r.Current && r.Agent != ""
	return r, err
}

func describeSessions(rows []SessionRow, left int, now time.Time) string {
	if len(rows) == 0 {
		return "No conversation with the user matches, or there is none yet."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", textnorm.CountNoun(len(rows), "conversation", "conversations"))
	for _, r := range rows {
		fmt.Fprintf(&b, "\n- %s (%s, agent %s, %s, last active %s)", r.ID, r.Kind, cmp.Or(r.Agent, "none"), textnorm.CountNoun(r.Turns, "turn", "turns"), dateparse.Format(r.UpdatedAt.In(now.Location()), now))
		if r.Current {
			b.WriteString(", this conversation")
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n(%d older ones omitted)", left)
	}
	return b.String()
}

// SendTx puts a message into another conversation of the user. A turn there answers it, in that
// conversation, with at most the caller's rights. The turn cannot delegate or send further, so two
// conversations cannot answer each other without end.
func (c *Registry) SendTx(ctx context.Context, tx *store.Tx, call tools.Call, to, text string) error {
	who, ok := turn.CallerOf(ctx)
	if !ok {
		return tools.Errorf(tools.Unsupported, "only a turn can send to another conversation")
	}
	if err := c.checkLimits(tx, who, 1); err != nil {
		return err
	}
	if text = strings.TrimSpace(text); text == "" || len(text) > maxSent || !utf8.ValidString(text) {
		return tools.Errorf(tools.InvalidArguments, "the message must have 1 to %d bytes of UTF-8", maxSent)
	}
	info, r, err := c.reachableSession(ctx, tx, call, to)
	if err != nil {
		return err
	}
	w := tools.TaskRequest{Agent: r.Agent, Task: text}
	o, err := c.newPayload(who, w, 1)
	if err != nil {
		return err
	}
	o.Into, o.Report, o.Channel, o.Chat = to, to, info.Channel, info.Chat
	o.Tools = slices.DeleteFunc(o.Tools, func(n string) bool { return n == delegating || n == spawning || n == sending })
	ev, err := c.taskEvent(who, w, o)
	if err != nil {
		return err
	}
	ev.Session = to
	if _, err := c.o.Bus.Inbox.PutTx(tx, ev); err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO crew_tasks (id, call, n, parent, session, event, agent, task, background, state, created_at) VALUES (?,?,0,?,?,?,?,?,1,?,?)`,
		o.ID, call.ID, who.Turn.Event.ID, who.Turn.Event.Session, ev.ID, o.Agent, text, Open, time.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("agents: store a message to another conversation: %w", err)
	}
	c.due.InvalidateTx(tx, c.o.Bus.Inbox)
	c.publishTask(tx, Task{ID: o.ID, Parent: who.Turn.Event.ID, Session: who.Turn.Event.Session, Agent: o.Agent, State: Open})
	return nil
}

// sending is the name of the tool that calls SendTx.
const sending = "sessions_send"

// reachableSession returns a conversation that the caller may send to: one in which only the user
// writes.
func (c *Registry) reachableSession(ctx context.Context, tx *store.Tx, call tools.Call, id string) (session.Info, SessionRow, error) {
	label := tools.Clean(textnorm.Ellipsize(id, 80))
	if id == call.Session { // a new conversation is not stored yet
		return session.Info{}, SessionRow{}, tools.Errorf(tools.InvalidArguments, "%q is this conversation; answer here", label)
	}
	info, ok, err := c.o.Sessions.Get(ctx, id)
	if err != nil {
		return info, SessionRow{}, err
	}
	if !ok || strings.HasPrefix(id, directCall) {
		return info, SessionRow{}, tools.Errorf(tools.NotFound, "there is no conversation %q; sessions_list shows them", label)
	}
	r, err := c.sessionRow(ctx, tx, call, info)
	switch {
	case err != nil:
		return info, r, err
	case r.Kind != "chat":
		return info, r, tools.Errorf(tools.PolicyDenied, "%q is not a conversation in which only the user writes; use send_message to write to other people", label)
	case !r.Reachable:
		return info, r, tools.Errorf(tools.Unsupported, "no agent answers in the conversation %q", label)
	}
	return info, r, nil
}

// SentTx returns the answer to a message sent with SendTx. After wait, it reports that the answer is
// still missing; the other conversation continues.
func (c *Registry) SentTx(ctx context.Context, tx *store.Tx, call tools.Call, to string, wait time.Duration) (tools.Outcome, error) {
	list, err := tasksTx(tx, `call = ?`, call.ID)
	if err != nil {
		return tools.Outcome{}, err
	}
	if len(list) == 0 {
		return tools.Outcome{Done: true, Err: tools.Errorf(tools.OutcomeUnknown, "the record of this message no longer exists")}, nil
	}
	t := list[0]
	out := tools.Outcome{Done: true}
	data := map[string]string{"session": to, "task": t.ID, "state": string(t.State)}
	switch {
	case t.State == Done:
		out.Rounds, out.Tokens = t.Rounds, t.Tokens
		from, err := origins.Of(tx, origins.Task, t.ID)
		if err != nil {
			return out, fmt.Errorf("agents: read origins of an answer: %w", err)
		}
		data["answer"] = t.Result
		out.Result = tools.Result{
			Text: fmt.Sprintf("The answer in the conversation %s:\n%s", textnorm.Ellipsize(to, 80), textnorm.Ellipsize(t.Result, shown)), Data: data,
			Source: provenance.Worst(provenance.Tool, t.Source), Origins: from,
		}
	case t.State.IsFinished():
		e := tools.Errorf(tools.Failed, "the turn in the conversation %s ended as %s: %s", tools.Clean(textnorm.Ellipsize(to, 80)), tools.Clean(t.State), tools.Clean(textnorm.Ellipsize(t.Result, 1000)))
		e.Source = provenance.Worst(provenance.Tool, t.Source)
		out.Err = e
	case time.Now().Before(t.CreatedAt.Add(wait)):
		return tools.Outcome{Until: t.CreatedAt.Add(wait)}, nil
	default:
		out.Result = tools.Result{
			Text: fmt.Sprintf("Sent to the conversation %s. It has not answered within %s; its answer will appear there. Status: agent_status {\"task\": %q}", textnorm.Ellipsize(to, 80), wait, t.ID), Data: data,
			Source: provenance.Tool,
		}
	}
	return out, nil
}

// AgentsTx lists the local agents.
func (c *Registry) AgentsTx(ctx context.Context, tx *store.Tx, call tools.Call) ([]tools.AgentRow, error) {
	from := c.members[cmp.Or(call.Agent, Default)]
	out := []tools.AgentRow{}
	for _, m := range c.Members() {
		r := tools.AgentRow{Name: m.Name, About: m.About, Kind: "local", Current: m.Name == from.Name, Container: m.Isolated, Delegable: from.mayDelegateTo(m.Name) && (m.Isolated || !from.Isolated)}
		if m.Options.Catalog != nil {
			r.Tools = len(m.Options.Catalog.All())
		}
		if err := m.Refused(ctx); err != nil {
			r.Problem, r.Delegable = err.Error(), false
		}
		if err := tx.QueryRow(`SELECT count(*) FROM crew_tasks INDEXED BY crew_tasks_open WHERE state IN ('queued', 'open') AND agent = ?`, m.Name).Scan(&r.OpenTasks); err != nil {
			return nil, fmt.Errorf("agents: count open tasks: %w", err)
		}
		out = append(out, r)
	}
	return out, nil
}
