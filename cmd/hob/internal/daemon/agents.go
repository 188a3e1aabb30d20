package daemon

import (
	"context"
	"strings"

	"hob/autonomy/agents"
	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
)

// Agents implements api.Agents.
func (b *backend) Agents(ctx context.Context, q api.Query) ([]api.Agent, error) {
	out := []api.Agent{}
	for _, m := range b.d.crew.Members() {
		if q.Of == "" || q.Of == m.Name {
			out = append(out, b.agentRow(ctx, m))
		}
	}
	return out, nil
}

func (b *backend) agentRow(ctx context.Context, m agents.Member) api.Agent {
	c := b.d.opt.Config
	s, _ := c.Member(m.Name)
	r := api.Agent{
		Name: m.Name, About: m.About, Model: c.Agent.Model, Tools: len(m.Options.Catalogue.All()), Realm: m.Options.Realm,
		Level: string(b.d.guard.Level().Narrower(m.Options.Level)), Delegates: append([]string{}, m.Delegates...), Isolation: "none",
		Budget: s.BudgetShare, Default: c.Crew.Default == m.Name, Routes: []string{}, Folder: b.d.opt.Paths.AgentDir(m.Name),
	}
	if m.Name == agents.Default {
		r.Folder = b.d.opt.Paths.Home
	}
	if s.Model != "" {
		r.Model = s.Model
	}
	if s.Isolation != "" {
		r.Isolation = s.Isolation
	}
	for _, route := range b.d.crew.Routes() {
		if route.Agent == m.Name {
			r.Routes = append(r.Routes, route.String())
		}
	}
	if err := m.Refused(ctx); err != nil {
		r.Trouble = err.Error()
	}
	return r
}

// Delegations implements api.Agents.
func (b *backend) Delegations(ctx context.Context, q api.Query) ([]api.Delegation, error) {
	if q.Of == "" {
		list, err := b.d.crew.Tasks(ctx, q.All, q.Limit)
		return mapEach(list, apiDelegation), classifyError(err)
	}
	t, err := b.d.crew.Task(ctx, q.Of)
	if err != nil {
		return nil, classifyError(err)
	}
	return []api.Delegation{apiDelegation(t)}, nil
}

// CancelDelegation implements api.Agents.
func (b *backend) CancelDelegation(ctx context.Context, id string) (api.Delegation, error) {
	t, err := b.d.crew.Cancel(ctx, id)
	return apiDelegation(t), classifyError(err)
}

// questionsBelow returns the approval requests of tasks that a turn delegated. They are shown
// in its conversation, and the turn waits for the answers.
func (b *backend) questionsBelow(ctx context.Context, e bus.Event) ([]api.Approval, error) {
	if e.State != bus.Pending || e.NotBefore.IsZero() {
		return nil, nil
	}
	return b.questionsUnder(ctx, e.Session, func(t agents.Task) bool { return !t.Background && (t.Parent == e.ID || t.Session != e.Session) })
}

// questionsUnder returns the approval requests of running tasks that a conversation, or one
// below it, delegated.
func (b *backend) questionsUnder(ctx context.Context, session string, meant func(agents.Task) bool) ([]api.Approval, error) {
	list, err := b.d.crew.Tasks(ctx, false, 1000)
	if err != nil {
		return nil, err
	}
	var out []api.Approval
	for _, t := range list {
		if t.Session != session && !strings.HasPrefix(t.Session, session+"/") || !meant(t) {
			continue
		}
		waiting, err := b.d.guard.Approvals(ctx, guard.Pending, "", t.Event, 100)
		if err != nil {
			return nil, err
		}
		out = append(out, mapEach(waiting, apiApproval)...)
	}
	return out, nil
}
