package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) notifyCmd() *cobra.Command {
	var held bool
	list := a.listing(&cobra.Command{
		Use: "list", Short: "List sent and held notifications, with the reason", Args: cobra.NoArgs,
		RunE: a.run(func(c *cobra.Command, _ []string) error {
			q := query()
			if held {
				q.Set("state", "held")
			}
			return a.list(c.Context(), "/api/v1/notices", q, "No notices.",
				col("ID", "id"), at(a.zone(), "AT", "created_at"), col("URGENCY", "urgency"), col("CAUSE", "cause"), col("STATE", "state"), at(a.zone(), "UNTIL", "until"), col("WHY", "why"), col("TEXT", "text"))
		}),
	})
	list.Flags().BoolVar(&held, "held", false, "only held notifications")
	release := a.listing(&cobra.Command{
		Use: "release [ID]", Short: "Deliver held notifications now: one, or all", Args: cobra.MaximumNArgs(1),
		RunE: a.run(func(c *cobra.Command, args []string) error {
			in := map[string]string{}
			if len(args) > 0 {
				in["id"] = args[0]
			}
			var out struct{ Released int }
			return a.notices(c.Context(), "release", in, &out, func() string { return fmt.Sprintf("%d released.", out.Released) })
		}),
	})
	snooze := a.listing(&cobra.Command{
		Use: "snooze ID TIME...", Short: "Repeat a notification later: 1h, 2d, tomorrow at 9", Args: cobra.MinimumNArgs(2),
		RunE: a.run(func(c *cobra.Command, args []string) error {
			var out struct {
				ID    string
				Until time.Time
			}
			return a.notices(c.Context(), "snooze", map[string]string{"id": args[0], "for": strings.Join(args[1:], " ")}, &out, func() string {
				return fmt.Sprintf("%s will be sent at %s.", out.ID, localTime(a.zone(), out.Until.Format(time.RFC3339)))
			})
		}),
	})
	quiet := a.listing(&cobra.Command{
		Use: "quiet [TIME|off]", Short: "Hold notifications that are not critical: 2h, until 9:00", Args: cobra.ArbitraryArgs,
		RunE: a.run(func(c *cobra.Command, args []string) error {
			var out struct {
				Quiet bool
				Until time.Time
				Why   string
			}
			return a.notices(c.Context(), "quiet", map[string]string{"for": strings.Join(args, " ")}, &out, func() string {
				if !out.Quiet {
					return "Quiet is off."
				}
				return fmt.Sprintf("Quiet until %s (%s).", localTime(a.zone(), out.Until.Format(time.RFC3339)), out.Why)
			})
		}),
	})
	return a.group(&cobra.Command{Use: "notify", Short: "Manage notifications", SuggestFor: []string{"notice", "notices", "notification"}}, list, release, snooze, quiet)
}

// notices runs an action on notifications and prints the result.
func (a *app) notices(ctx context.Context, what string, in map[string]string, out any, say func() string) error {
	return a.with(ctx, func(c *client) error {
		if a.asJSON {
			var raw any
			if err := c.post(ctx, "/api/v1/notices/"+what, in, &raw); err != nil {
				return err
			}
			return a.printJSON(raw)
		}
		if err := c.post(ctx, "/api/v1/notices/"+what, in, out); err != nil {
			return err
		}
		fmt.Fprintln(a.out, say())
		return nil
	})
}
