package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"

	"hob/autonomy"
	"hob/autonomy/guard"
	"hob/channels/web"
	"hob/platform/system"
)

// peer finds out who is behind a connection: whatever Hob has started runs as
// the owner and could read the token, and never speaks for him.
func (d *Daemon) peer(client, server string, thorough bool) web.Peer {
	c, err := system.ClientOf(client, server, system.Tree{PID: os.Getpid(), Roots: d.agents.Pids()}, thorough)
	if err != nil {
		d.opt.Log.Warn("cannot find out who is behind a connection", "err", err)
		if !errors.Is(err, errors.ErrUnsupported) && !thorough {
			return web.PeerHob // it has gone, or hides
		}
		return web.PeerUnknown
	}
	switch c {
	case system.ClientOwner, system.ClientRemote:
		return web.PeerOwner
	case system.ClientHob:
		return web.PeerHob
	case system.ClientStranger:
		return web.PeerOther
	}
	return web.PeerUnknown
}

// Answer implements web.Backend.
func (b *backend) Answer(ctx context.Context, _, approval string, a web.Answer) (any, error) {
	ans := guard.Answer{Approved: a.Approved, Scope: a.Scope, Note: a.Note, Uses: a.Uses, By: a.By}
	if a.Expires != "" {
		d, err := autonomy.Lasting(a.Expires)
		if err != nil {
			return nil, fmt.Errorf("%w: expires: %w", web.ErrInvalid, err)
		}
		ans.For = d
	}
	rows, err := b.d.loop.Answer(ctx, approval, ans)
	if err != nil {
		return nil, classify(err)
	}
	if guard.IsBatch(approval) {
		return rows, nil
	}
	return rows[0], nil
}

// Grant implements web.Backend.
func (b *backend) Grant(ctx context.Context, n web.NewGrant) (any, error) {
	t, ok := b.d.catalogue.Get(n.Tool)
	if !ok {
		return nil, fmt.Errorf("tool %q: %w; list them with: hob tool list", n.Tool, web.ErrNotFound)
	}
	g := guard.NewGrant{Tool: t, Pattern: n.Pattern, Args: n.Arguments, Session: n.Session, Name: n.Name, Outside: n.Outside, Uses: n.Uses, By: n.By}
	if n.Expires != "" {
		d, err := autonomy.Lasting(n.Expires)
		if err != nil {
			return nil, fmt.Errorf("%w: expires: %w", web.ErrInvalid, err)
		}
		g.For = d
	}
	row, err := b.d.loop.Grant(ctx, g)
	return row, classify(err)
}

// Revoke implements web.Backend.
func (b *backend) Revoke(ctx context.Context, grant, by string) (any, error) {
	row, err := b.d.loop.Revoke(ctx, grant, by)
	return row, classify(err)
}

func (b *backend) listGrants(ctx context.Context, q web.Query) (any, error) {
	return b.d.guard.Grants(ctx, q.All, q.Of, q.Limit)
}
