package service

import (
	"context"

	"hob/autonomy/agents"
	"hob/autonomy/api"
)

// Agents implements api.Agents.
func (sv *Service) Agents(ctx context.Context, q api.Query) ([]api.Agent, error) {
	out := []api.Agent{}
	for _, m := range sv.o.Agents.Members() {
		if q.Of == "" || q.Of == m.Name {
			out = append(out, sv.agentRow(ctx, m))
		}
	}
	return out, nil
}

func (sv *Service) agentRow(ctx context.Context, m agents.Member) api.Agent {
	c := sv.o.Config
	s, _ := c.Member(m.Name)
	r := api.Agent{
		Name: m.Name, About: m.About, Model: c.Agent.Model, Tools: len(m.Options.Catalogue.All()), Realm: m.Options.Realm,
		Level: string(sv.o.Guard.Level().Narrower(m.Options.Level)), Delegates: append([]string{}, m.Delegates...), Isolation: "none",
		Budget: s.BudgetShare, Default: c.Crew.Default == m.Name, Routes: []string{}, Folder: sv.agentFolder(m.Name),
	}
	if s.Model != "" {
		r.Model = s.Model
	}
	if s.Isolation != "" {
		r.Isolation = s.Isolation
	}
	for _, route := range sv.o.Agents.Routes() {
		if route.Agent == m.Name {
			r.Routes = append(r.Routes, route.String())
		}
	}
	if err := m.Refused(ctx); err != nil {
		r.Trouble = err.Error()
	}
	return r
}

// agentFolder returns the folder of an agent.
func (sv *Service) agentFolder(name string) string {
	if name == agents.Default {
		return sv.o.Paths.Home
	}
	return sv.o.Paths.AgentDir(name)
}

// Delegations implements api.Agents.
func (sv *Service) Delegations(ctx context.Context, q api.Query) ([]api.Delegation, error) {
	if q.Of == "" {
		list, err := sv.o.Agents.Tasks(ctx, q.All, q.Limit)
		return ConvertEach(list, apiDelegation), Classify(err)
	}
	t, err := sv.o.Agents.Task(ctx, q.Of)
	if err != nil {
		return nil, Classify(err)
	}
	return []api.Delegation{apiDelegation(t)}, nil
}

// CancelDelegation implements api.Agents.
func (sv *Service) CancelDelegation(ctx context.Context, id string) (api.Delegation, error) {
	t, err := sv.o.Agents.Cancel(ctx, id)
	return apiDelegation(t), Classify(err)
}
