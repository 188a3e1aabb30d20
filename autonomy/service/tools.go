package service

import (
	"context"
	"encoding/json"
	"fmt"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/tools"
)

// Call implements api.Tools.
func (sv *Service) Call(ctx context.Context, session, tool string, args json.RawMessage) (api.ToolOutcome, error) {
	if _, ok := sv.o.Catalogue.Get(tool); !ok {
		return api.ToolOutcome{}, fmt.Errorf("tool %q: %w; list them with: hob tool list", tool, api.ErrNotFound)
	}
	id, err := sv.o.Intake.Call(ctx, session, tool, args)
	if err != nil {
		return api.ToolOutcome{}, Classify(err)
	}
	s, err := sv.Wait(ctx, id)
	if err != nil {
		return api.ToolOutcome{}, err
	}
	calls, err := sv.o.Bus.Ledger.Calls(ctx, id)
	if err != nil {
		return api.ToolOutcome{}, err
	}
	out := api.ToolOutcome{Text: s.Answer, Event: id, Approvals: s.Approvals}
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
	all := sv.o.Catalogue.All()
	if q.Text != "" {
		all = sv.o.Catalogue.Search(q.Text, q.Limit)
	}
	for _, t := range all[:min(len(all), q.Limit)] {
		s := t.Spec()
		p := s.Platforms
		if len(p) == 0 {
			p = []string{"darwin", "linux", "windows"}
		}
		out = append(out, api.Tool{
			Name: s.Name, Category: s.Category, Description: s.Description, Effects: s.All().Names(), Platforms: p, Own: s.Own, Core: s.Core, Schema: s.Schema.Raw(),
		})
	}
	return out, nil
}

// Undoable implements api.Undo.
func (sv *Service) Undoable(ctx context.Context, q api.Query) ([]api.LedgerEntry, error) {
	list, err := sv.o.Bus.Ledger.Undoable(ctx, q.Limit)
	return ConvertEach(list, apiLedgerEntry), Classify(err)
}
