package service

import (
	"context"
	"errors"
	"fmt"

	"hob/autonomy/api"
	"hob/autonomy/explain"
	"hob/autonomy/guard"
	"hob/autonomy/trace"
	"hob/tools"
)

// Why implements api.Explanations.
func (sv *Service) Why(ctx context.Context, kind, about string) (api.Explanation, error) {
	x, err := sv.o.Explain.Explain(ctx, tools.ExplainRequest{Kind: kind, About: about})
	if errors.Is(err, explain.ErrUnclear) {
		return api.Explanation{}, fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	if err != nil {
		return api.Explanation{}, Classify(err)
	}
	out := api.Explanation{Text: x.Text(sv.o.Zone())}
	switch x := x.(type) {
	case explain.Why:
		out.Why = ConvertPtr(&x, apiWhy)
	case explain.Tick:
		out.Tick = ConvertPtr(&x, apiTick)
	case explain.SilenceReport:
		out.Silence = ConvertPtr(&x, apiSilence)
	}
	return out, nil
}

func apiWhy(x explain.Why) api.Why {
	return api.Why{
		Event:      apiEvent(x.Event),
		Trace:      ConvertPtr(x.Trace, apiTrace),
		Nothing:    x.Nothing,
		Origins:    x.Origins,
		Thing:      ConvertPtr(x.Thing, apiItemOrigin),
		Calls:      ConvertEach(x.Calls, apiLedgerEntry),
		Approvals:  ConvertEach(x.Approvals, guard.Approval.API),
		Audit:      ConvertEach(x.Audit, apiAuditRecord),
		Deliveries: ConvertEach(x.Deliveries, apiDelivery),
		Spent:      ConvertPtr(x.Spent, apiSpent),
		Ticks:      ConvertEach(x.Ticks, apiTickOfEvent),
		Notices:    ConvertEach(x.Notices, apiNotice),
		Goal:       ConvertPtr(x.Goal, apiReview),
	}
}

func apiTrace(x trace.Turn) api.Trace {
	return api.Trace{
		How:       x.How,
		Model:     x.Model,
		Rounds:    x.Rounds,
		Usage:     apiTokenUsage(x.Usage),
		Tainted:   x.Tainted,
		StartedAt: x.StartedAt,
		EndedAt:   x.EndedAt,
	}
}

func apiItemOrigin(x explain.ItemOrigin) api.ItemOrigin { return api.ItemOrigin(x) }

func apiSpent(x explain.Spent) api.Spent {
	return api.Spent{
		Model:   x.Model,
		Reason:  x.Reason,
		Calls:   x.Calls,
		CostUSD: x.CostUSD,
	}
}

func apiTick(x explain.Tick) api.Tick {
	return api.Tick{
		ID:      x.ID,
		At:      x.At,
		Woke:    x.Woke,
		Events:  ConvertEach(x.Events, apiWhy),
		Nothing: x.Nothing,
	}
}

func apiTickOfEvent(x trace.Tick) api.TickOfEvent { return api.TickOfEvent(x) }

func apiSilence(x explain.SilenceReport) api.Silence {
	return api.Silence{
		About:      x.About,
		Since:      x.Since,
		Watchers:   ConvertEach(x.Watchers, apiSilentWatcher),
		Passed:     ConvertEach(x.Passed, apiSuppressedSignal),
		Goals:      ConvertEach(x.Goals, apiGoalSilence),
		Events:     ConvertEach(x.Events, apiSuppressedEvent),
		Deliveries: ConvertEach(x.Deliveries, apiDelivery),
		Told:       ConvertEach(x.Told, apiDelivery),
		Notices:    ConvertEach(x.Notices, apiNotice),
		Denied:     ConvertEach(x.Denied, apiAuditRecord),
	}
}

func apiGoalSilence(x explain.GoalSilence) api.GoalSilence {
	return api.GoalSilence{
		Goal: apiGoal(x.Goal),
		Rule: x.Rule,
		Last: ConvertPtr(x.Last, apiReview),
	}
}

func apiSuppressedEvent(x explain.SuppressedEvent) api.SuppressedEvent {
	return api.SuppressedEvent{
		Event: apiEvent(x.Event),
		Rule:  x.Rule,
	}
}
