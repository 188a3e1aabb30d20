package service

import (
	"context"
	"encoding/json"
	"fmt"

	"hob/autonomy/agents"
	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/tools"
)

// Call implements api.Tools.
func (sv *Service) Call(ctx context.Context, session, tool string, args json.RawMessage) (api.ToolOutcome, error) {
	if _, ok := sv.o.Catalog.Get(tool); !ok {
		return api.ToolOutcome{}, fmt.Errorf("tool %q: %w; list the tools with: hob tool list", tool, api.ErrNotFound)
	}
	id, err := sv.o.Intake.Call(ctx, session, tool, args)
	if err != nil {
		return api.ToolOutcome{}, Classify(err)
	}
	s, err := sv.Wait(ctx, id)
	if err != nil {
		return api.ToolOutcome{}, err
	}
	return sv.callOutcome(ctx, s)
}

// callOutcome returns the outcome of an event that consists of one call.
func (sv *Service) callOutcome(ctx context.Context, s api.EventStatus) (api.ToolOutcome, error) {
	calls, err := sv.o.Bus.Ledger.Calls(ctx, s.ID)
	if err != nil {
		return api.ToolOutcome{}, err
	}
	out := api.ToolOutcome{Text: s.Answer, Event: s.ID, Approvals: s.Approvals}
	if len(calls) == 0 {
		if s.Error != "" {
			out.Code, out.Error = string(tools.Failed), s.Error
		}
		return out, nil
	}
	c := calls[len(calls)-1]
	out.Call, out.Data = c.Call, c.Data
	switch {
	case c.Code != "":
		out.Code, out.Error = c.Code, c.Result
	case c.UndoLabel != "":
		out.Undo = c.Call
	}
	if c.State == bus.CallDone {
		out.Text = c.Result
	}
	return out, nil
}

// Tools implements api.Tools.
func (sv *Service) Tools(_ context.Context, q api.Query) ([]api.Tool, error) {
	out := []api.Tool{}
	all := sv.o.Catalog.All()
	if q.Text != "" {
		all = sv.o.Catalog.Search(q.Text, q.Limit)
	}
	for _, t := range all[:min(len(all), q.Limit)] {
		out = append(out, apiTool(t))
	}
	return out, nil
}

func apiTool(t tools.Tool) api.Tool {
	s := t.Spec()
	p := s.Platforms
	if len(p) == 0 {
		p = []string{"darwin", "linux", "windows"}
	}
	return api.Tool{Name: s.Name, Category: s.Category, Description: s.Description, Effects: s.All().Names(), Platforms: p, Own: s.Own, Core: s.Core, Schema: s.Schema.Raw()}
}

// Undoable implements api.Undo.
func (sv *Service) Undoable(ctx context.Context, q api.Query) ([]api.LedgerEntry, error) {
	list, err := sv.o.Undo.ListUndoable(ctx, q.Limit)
	return ConvertEach(list, apiLedgerEntry), Classify(err)
}

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
		Name: m.Name, About: m.About, Model: c.Agent.Model, Tools: len(m.Options.Catalog.All()), Realm: m.Options.Realm,
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
