package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/cmd/hob/internal/setup"
)

func (a *cli) notifyCmd() *cobra.Command {
	var held bool
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List sent and deferred notifications, with the reason", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			q := api.Query{}
			if held {
				q.State = "held"
			}
			return printFetched(c.Context(), a, func(cl *client) ([]api.Notice, error) { return cl.Notices(c.Context(), q) }, "No notifications.",
				"TEXT|STATE|AT|ID|URGENCY|UNTIL|WHY|CAUSE", func(n api.Notice) []any {
					return []any{n.Text, n.State, n.CreatedAt, n.ID, n.Urgency, n.Until, n.Why, n.Cause}
				})
		}),
	})
	list.Flags().BoolVar(&held, "held", false, "only deferred notifications")
	release := a.addJSONFlag(&cobra.Command{
		Use: "release [ID]", Short: "Deliver one or all deferred notifications now", Args: cobra.MaximumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.manageNotices(c.Context(), func(cl *client) (any, string, error) {
				out, err := cl.ReleaseNotices(c.Context(), strings.Join(args, ""))
				return out, fmt.Sprintf("%d released.", out.Released), err
			})
		}),
	})
	snooze := a.addJSONFlag(&cobra.Command{
		Use: "snooze ID TIME...", Short: "Repeat a notification later: 1h, 2d, tomorrow at 9", Args: cobra.MinimumNArgs(2),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.manageNotices(c.Context(), func(cl *client) (any, string, error) {
				out, err := cl.SnoozeNotice(c.Context(), args[0], strings.Join(args[1:], " "))
				return out, fmt.Sprintf("%s will be sent at %s.", out.ID, formatTime(a.userZone(), out.Until)), err
			})
		}),
	})
	quiet := a.addJSONFlag(&cobra.Command{
		Use: "quiet [TIME|HOURS|off]", Short: "Set quiet hours: 22:00-07:00 daily, 2h, until 9:00", Args: cobra.ArbitraryArgs,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			if start, end, err := setup.ParseHours(strings.Join(args, " ")); err == nil && (start != "" || len(args) == 1 && args[0] == "none") {
				return a.setQuietHours(c.Context(), start, end)
			}
			return a.manageNotices(c.Context(), func(cl *client) (any, string, error) {
				out, err := cl.SetQuiet(c.Context(), strings.Join(args, " "))
				if err != nil {
					return out, "", err
				}
				if _, cfg, err := a.loadHome(); !out.Quiet && err == nil {
					return out, "Not quiet now. Quiet hours: " + cfg.DescribeSetup()["quiet hours"] + ".", nil
				}
				return out, fmt.Sprintf("Quiet until %s (%s).", formatTime(a.userZone(), out.Until), out.Why), err
			})
		}),
	})
	return a.commandGroup(&cobra.Command{Use: "notify", Short: "Manage notifications", SuggestFor: []string{"notice", "notices", "notification", "quiet"}}, list, release, snooze, quiet)
}

// setQuietHours sets the quiet hours of every day.
func (a *cli) setQuietHours(ctx context.Context, start, end string) error {
	p, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	if len(cfg.Notify.Quiet) > 1 {
		return &failure{code: exitFailed, cause: "the configuration contains several quiet hours", remedy: "edit the file: hob config path"}
	}
	err = a.editConfig(ctx, p, "quiet hours", func() error {
		_, err := config.SetAll(p.ConfigFile(), []config.Value{{Key: "notify.quiet_hours.start", Value: start}, {Key: "notify.quiet_hours.end", Value: end}})
		return err
	})
	if err != nil {
		return err
	}
	if err := a.restartToApply(ctx, p); err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(map[string]string{"start": start, "end": end})
	}
	if start == "" {
		fmt.Fprintln(a.out, "There are no quiet hours now.")
		return nil
	}
	fmt.Fprintf(a.out, "Quiet hours: every day from %s to %s. End them with: hob notify quiet none\n", start, end)
	return nil
}

// manageNotices runs an action on notifications. The action returns its result and a sentence about
// the result. manageNotices prints one of the two.
func (a *cli) manageNotices(ctx context.Context, act func(c *client) (any, string, error)) error {
	return a.withClient(ctx, func(c *client) error {
		out, text, err := act(c)
		if err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(out)
		}
		fmt.Fprintln(a.out, text)
		return nil
	})
}

func (a *cli) pauseCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "pause [TIME]", Short: "Pause background work, for a given time or until hob resume", Args: cobra.ArbitraryArgs,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			what := strings.TrimSpace(strings.Join(args, " "))
			if what == "" {
				what = "on"
			}
			return a.changePause(c.Context(), what)
		}),
	})
}

func (a *cli) resumeCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "resume", Short: "End a pause", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error { return a.changePause(c.Context(), "off") }),
	})
}

// changePause changes the pause and prints the new state.
func (a *cli) changePause(ctx context.Context, what string) error {
	return a.withClient(ctx, func(c *client) error {
		out, err := c.SetPause(ctx, what)
		if err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(out)
		}
		fmt.Fprintln(a.out, sanitizePrintable(out.Text))
		return nil
	})
}
