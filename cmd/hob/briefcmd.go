package main

import "github.com/spf13/cobra"

func (a *cli) briefCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "brief [DAY...]", Short: "Show the plan of today or another day", Aliases: []string{"today"}, SuggestFor: []string{"plan", "briefing", "agenda"},
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := map[string]any{}
			if len(args) > 0 {
				in["date"] = joinWords(args)
			}
			return a.runTool(c.Context(), false, "daily_briefing", in)
		}),
	})
}
