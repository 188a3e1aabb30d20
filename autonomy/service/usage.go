package service

import (
	"context"

	"hob/autonomy/api"
	"hob/autonomy/usage"
)

// Usage implements api.Usage.
func (sv *Service) Usage(ctx context.Context, q api.Query) ([]api.UsageRow, error) {
	days, err := sv.o.Usage.Days(ctx, q.Limit)
	if err != nil {
		return nil, Classify(err)
	}
	out := []api.UsageRow{}
	for _, u := range days {
		out = append(out, api.UsageRow{
			Day: u.Day, Model: u.Model, Turns: u.Turns, ModelCalls: u.Calls, Input: u.Usage.Input, Output: u.Usage.Output,
			CacheRead: u.Usage.CacheRead, CacheWrite: u.Usage.CacheWrite, CostUSD: ConvertPtr(u.Cost, usage.Micros.USD),
			Unpriced: u.Unpriced, Estimated: u.Estimated, Local: u.Local,
		})
	}
	return out, nil
}

// Budget implements api.Usage.
func (sv *Service) Budget(ctx context.Context) ([]api.BudgetRow, error) {
	periods, err := sv.o.Usage.Periods(ctx)
	if err != nil {
		return nil, Classify(err)
	}
	out := []api.BudgetRow{}
	for _, p := range periods {
		r := api.BudgetRow{
			Period: p.Name, Which: p.Which, From: p.From, CostUSD: p.Cost.USD(), CountedUSD: p.Counted.USD(), Tokens: p.Tokens, Calls: p.Calls,
			Unpriced: p.Unpriced, PricesAsOf: sv.o.PricesAsOf(),
		}
		if p.Cap > 0 {
			r.CapUSD = new(p.Cap.USD())
		}
		if p.CapToken > 0 {
			r.CapTokens = &p.CapToken
		}
		out = append(out, r)
	}
	return out, nil
}
