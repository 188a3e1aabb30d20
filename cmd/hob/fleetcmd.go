package main

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/channels/web"
	"hob/platform/retry"
	"hob/platform/store"
)

func (a *cli) fleetCmd() *cobra.Command {
	status := a.addJSONFlag(&cobra.Command{
		Use: "status", Short: "List the instances and what each of them does", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Instance, error) { return cl.Instances(c.Context()) }, "No instances.",
				"INSTANCE|STATE|HOST|VERSION|STARTED|SEEN|CLAIMED|LEADER OF", func(x api.Instance) []any {
					return []any{x.Instance, x.State, x.Host, x.Version, x.Started, x.Seen, x.Claimed, strings.Join(x.LeaderOf, ", ")}
				})
		}),
	})
	return a.commandGroup(&cobra.Command{Use: "fleet", Short: "Show the instances that share a database"}, status)
}

// openWhenReachable opens the engine. While the database that it shares cannot be reached, it waits,
// and the address of the API answers with the cause.
func (a *cli) openWhenReachable(ctx context.Context, o engineOptions) (engine, error) {
	e, err := a.openOrLast(ctx, o)
	if !errors.Is(err, store.ErrAway) {
		return e, err
	}
	o.Log.Warn("the daemon waits for its database", "err", err)
	var cause atomic.Value
	cause.Store(err.Error())
	stop, lerr := web.AnswerOutage(ctx, o.Config.Web, func() error { return errors.New(cause.Load().(string)) })
	if lerr != nil {
		return nil, errors.Join(err, lerr)
	}
	defer stop()
	for errors.Is(err, store.ErrAway) {
		if retry.Sleep(ctx, time.Second) != nil {
			return nil, ctx.Err()
		}
		if e, err = a.openOrLast(ctx, o); err != nil {
			cause.Store(err.Error())
		}
	}
	return e, err
}
