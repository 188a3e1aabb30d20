package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
)

func (a *cli) notifyCmd() *cobra.Command {
	var held bool
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List sent and held notifications, with the reason", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			q := queryValues()
			if held {
				q.Set("state", "held")
			}
			return a.fetchAndPrintList(c.Context(), "/api/v1/notices", q, "No notices.",
				textColumn("ID", "id"), timeColumn(a.userZone(), "AT", "created_at"), textColumn("URGENCY", "urgency"), textColumn("CAUSE", "cause"), textColumn("STATE", "state"), timeColumn(a.userZone(), "UNTIL", "until"), textColumn("WHY", "why"), textColumn("TEXT", "text"))
		}),
	})
	list.Flags().BoolVar(&held, "held", false, "only held notifications")
	release := a.addJSONFlag(&cobra.Command{
		Use: "release [ID]", Short: "Deliver held notifications now: one, or all", Args: cobra.MaximumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := map[string]string{}
			if len(args) > 0 {
				in["id"] = args[0]
			}
			var out api.Released
			return a.manageNotices(c.Context(), "release", in, &out, func() string { return fmt.Sprintf("%d released.", out.Released) })
		}),
	})
	snooze := a.addJSONFlag(&cobra.Command{
		Use: "snooze ID TIME...", Short: "Repeat a notification later: 1h, 2d, tomorrow at 9", Args: cobra.MinimumNArgs(2),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			var out api.Notice
			return a.manageNotices(c.Context(), "snooze", map[string]string{"id": args[0], "for": strings.Join(args[1:], " ")}, &out, func() string {
				return fmt.Sprintf("%s will be sent at %s.", out.ID, formatTime(a.userZone(), out.Until))
			})
		}),
	})
	quiet := a.addJSONFlag(&cobra.Command{
		Use: "quiet [TIME|off]", Short: "Hold notifications that are not critical: 2h, until 9:00", Args: cobra.ArbitraryArgs,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			var out api.Quiet
			return a.manageNotices(c.Context(), "quiet", map[string]string{"for": strings.Join(args, " ")}, &out, func() string {
				if !out.Quiet {
					return "Quiet is off."
				}
				return fmt.Sprintf("Quiet until %s (%s).", formatTime(a.userZone(), out.Until), out.Why)
			})
		}),
	})
	return a.commandGroup(&cobra.Command{Use: "notify", Short: "Manage notifications", SuggestFor: []string{"notice", "notices", "notification"}}, list, release, snooze, quiet)
}

// manageNotices runs an action on notifications and prints the result.
func (a *cli) manageNotices(ctx context.Context, what string, in map[string]string, out any, say func() string) error {
	return a.withClient(ctx, func(c *client) error {
		if a.asJSON {
			var raw any
			if err := c.postJSON(ctx, "/api/v1/notices/"+what, in, &raw); err != nil {
				return err
			}
			return a.printJSON(raw)
		}
		if err := c.postJSON(ctx, "/api/v1/notices/"+what, in, out); err != nil {
			return err
		}
		fmt.Fprintln(a.out, say())
		return nil
	})
}
