package daemon

import (
	"context"
	"fmt"

	"hob/autonomy"
	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
)

// Answer implements api.Approvals.
func (b *backend) Answer(ctx context.Context, approval string, a api.Answer) (api.Decision, error) {
	ans := guard.Answer{Approved: a.Approved, Scope: a.Scope, Note: a.Note, Uses: a.Uses, By: a.By, Beforehand: a.Beforehand}
	if a.Expires != "" {
		d, err := autonomy.ParseGrantDuration(a.Expires)
		if err != nil {
			return api.Decision{}, fmt.Errorf("%w: expires: %w", api.ErrInvalid, err)
		}
		ans.For = d
	}
	rows, err := b.d.loop.Answer(ctx, approval, ans)
	if err != nil {
		return api.Decision{}, classifyError(err)
	}
	return api.Decision{Batch: guard.IsBatch(approval), Approvals: mapEach(rows, apiApproval)}, nil
}

// Shown implements api.Deliveries.
func (b *backend) Shown(ctx context.Context, client string, d api.Display) error {
	what := bus.Display{Delivery: d.Delivery, Event: d.Event, Approvals: d.Approvals}
	if d.Withdrawn {
		return classifyError(b.d.bus.RemoveDisplay(ctx, client, what))
	}
	return classifyError(b.d.bus.MarkShown(ctx, client, what))
}

// Grant implements api.Approvals.
func (b *backend) Grant(ctx context.Context, n api.NewGrant) (api.Grant, error) {
	t, ok := b.d.catalogue.Get(n.Tool)
	if !ok {
		return api.Grant{}, fmt.Errorf("tool %q: %w; list them with: hob tool list", n.Tool, api.ErrNotFound)
	}
	g := guard.NewGrant{Tool: t, Pattern: n.Pattern, Args: n.Arguments, Session: n.Session, Name: n.Name, Outside: n.Outside, Uses: n.Uses, By: n.By}
	if n.Expires != "" {
		d, err := autonomy.ParseGrantDuration(n.Expires)
		if err != nil {
			return api.Grant{}, fmt.Errorf("%w: expires: %w", api.ErrInvalid, err)
		}
		g.For = d
	}
	row, err := b.d.loop.Grant(ctx, g)
	return apiGrant(row), classifyError(err)
}

// Revoke implements api.Approvals.
func (b *backend) Revoke(ctx context.Context, grant, by string) (api.Grant, error) {
	row, err := b.d.loop.Revoke(ctx, grant, by)
	return apiGrant(row), classifyError(err)
}

// Grants implements api.Approvals.
func (b *backend) Grants(ctx context.Context, q api.Query) ([]api.Grant, error) {
	list, err := b.d.guard.Grants(ctx, q.All, q.Of, q.Limit)
	return mapEach(list, apiGrant), classifyError(err)
}
