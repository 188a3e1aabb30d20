package main

import "github.com/spf13/cobra"

func (a *app) briefCmd() *cobra.Command {
	return a.listing(&cobra.Command{
		Use: "brief [DAY...]", Short: "Show the plan of today or another day", Aliases: []string{"today"}, SuggestFor: []string{"plan", "briefing", "agenda"},
		RunE: a.run(func(c *cobra.Command, args []string) error {
			in := map[string]any{}
			if len(args) > 0 {
				in["date"] = words(args)
			}
			return a.do(c.Context(), false, "daily_briefing", in)
		}),
	})
}
