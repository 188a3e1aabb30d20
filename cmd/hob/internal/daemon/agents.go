package daemon

import (
	"context"
	"strings"

	"hob/autonomy/agents"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/channels/web"
)

// agentRow is an agent as lists show it.
type agentRow struct {
	Name      string   `json:"name"`
	About     string   `json:"about"`
	Model     string   `json:"model"` // as configured
	Tools     int      `json:"tools"`
	Realm     string   `json:"realm"`
	Level     string   `json:"level"`
	Delegates []string `json:"delegates"`
	Isolation string   `json:"isolation"`
	Budget    float64  `json:"budget_share"`
	Default   bool     `json:"default"` // answers where no route fits
	Routes    []string `json:"routes"`
	Folder    string   `json:"folder"`
	Trouble   string   `json:"trouble,omitempty"` // why it cannot work now
}

func (b *backend) listAgents(ctx context.Context, q web.Query) (any, error) {
	out := []agentRow{}
	for _, m := range b.d.crew.Members() {
		if q.Of == "" || q.Of == m.Name {
			out = append(out, b.agentRow(ctx, m))
		}
	}
	return out, nil
}

func (b *backend) agentRow(ctx context.Context, m agents.Member) agentRow {
	c := b.d.opt.Config
	s, _ := c.Member(m.Name)
	r := agentRow{
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

func (b *backend) listDelegations(ctx context.Context, q web.Query) (any, error) {
	if q.Of == "" {
		return b.d.crew.Tasks(ctx, q.All, q.Limit)
	}
	t, err := b.d.crew.Task(ctx, q.Of)
	if err != nil {
		return nil, err
	}
	return []agents.Task{t}, nil
}

// questionsBelow returns the approval requests of tasks that a turn delegated. They are shown
// in its conversation, and the turn waits for the answers.
func (b *backend) questionsBelow(ctx context.Context, e bus.Event) ([]any, error) {
	if e.State != bus.Pending || e.NotBefore.IsZero() {
		return nil, nil
	}
	return b.questionsUnder(ctx, e.Session, func(t agents.Task) bool { return !t.Background && (t.Parent == e.ID || t.Session != e.Session) })
}

// questionsUnder returns the approval requests of running tasks that a conversation, or one
// below it, delegated.
func (b *backend) questionsUnder(ctx context.Context, session string, meant func(agents.Task) bool) ([]any, error) {
	list, err := b.d.crew.Tasks(ctx, false, 1000)
	if err != nil {
		return nil, err
	}
	var out []any
	for _, t := range list {
		if t.Session != session && !strings.HasPrefix(t.Session, session+"/") || !meant(t) {
			continue
		}
		waiting, err := b.d.guard.Approvals(ctx, guard.Pending, "", t.Event, 100)
		if err != nil {
			return nil, err
		}
		for _, a := range waiting {
			out = append(out, a)
		}
	}
	return out, nil
}
