package daemon

import (
	"context"
	"fmt"

	"hob/autonomy"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/channels/web"
)

// Answer implements web.Backend.
func (b *backend) Answer(ctx context.Context, _, approval string, a web.Answer) (any, error) {
	ans := guard.Answer{Approved: a.Approved, Scope: a.Scope, Note: a.Note, Uses: a.Uses, By: a.By, Beforehand: a.Beforehand}
	if a.Expires != "" {
		d, err := autonomy.ParseGrantDuration(a.Expires)
		if err != nil {
			return nil, fmt.Errorf("%w: expires: %w", web.ErrInvalid, err)
		}
		ans.For = d
	}
	rows, err := b.d.loop.Answer(ctx, approval, ans)
	if err != nil {
		return nil, classifyError(err)
	}
	if guard.IsBatch(approval) {
		return rows, nil
	}
	return rows[0], nil
}

// Shown implements web.Backend.
func (b *backend) Shown(ctx context.Context, client string, d web.Display) error {
	what := bus.Display{Delivery: d.Delivery, Event: d.Event, Approvals: d.Approvals}
	if d.Withdrawn {
		return classifyError(b.d.bus.RemoveDisplay(ctx, client, what))
	}
	return classifyError(b.d.bus.MarkShown(ctx, client, what))
}

// Grant implements web.Backend.
func (b *backend) Grant(ctx context.Context, n web.NewGrant) (any, error) {
	t, ok := b.d.catalogue.Get(n.Tool)
	if !ok {
		return nil, fmt.Errorf("tool %q: %w; list them with: hob tool list", n.Tool, web.ErrNotFound)
	}
	g := guard.NewGrant{Tool: t, Pattern: n.Pattern, Args: n.Arguments, Session: n.Session, Name: n.Name, Outside: n.Outside, Uses: n.Uses, By: n.By}
	if n.Expires != "" {
		d, err := autonomy.ParseGrantDuration(n.Expires)
		if err != nil {
			return nil, fmt.Errorf("%w: expires: %w", web.ErrInvalid, err)
		}
		g.For = d
	}
	row, err := b.d.loop.Grant(ctx, g)
	return row, classifyError(err)
}

// Revoke implements web.Backend.
func (b *backend) Revoke(ctx context.Context, grant, by string) (any, error) {
	row, err := b.d.loop.Revoke(ctx, grant, by)
	return row, classifyError(err)
}

func (b *backend) listGrants(ctx context.Context, q web.Query) (any, error) {
	return b.d.guard.Grants(ctx, q.All, q.Of, q.Limit)
}
