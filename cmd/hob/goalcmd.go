package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
)

func (a *cli) goalCmd() *cobra.Command {
	var all bool
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the goals", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.GoalDetails, error) { return cl.Goals(c.Context(), api.Query{All: all}) }, `No goals. Add one with: hob goal add "when a task is overdue then tell me"`,
				"GOAL|STATUS|NEXT|ID|PRIORITY|EVERY|SOURCE", func(g api.GoalDetails) []any {
					return []any{g.Description, g.Status, g.NextAt, g.ID, g.Priority, g.CheckEvery, g.Source}
				})
		}),
	})
	list.Flags().BoolVarP(&all, "all", "a", false, "include completed and abandoned goals")
	add := a.addJSONFlag(&cobra.Command{
		Use: "add GOAL...", Short: "Add a goal", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := goalGiven(c)
			in["description"] = joinWords(args)
			return a.runTool(c.Context(), false, "create_goal", in)
		}),
	})
	goalFlags(add)
	edit := a.addJSONFlag(&cobra.Command{
		Use: "edit GOAL...", Short: "Change a goal", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := goalGiven(c)
			for k, v := range changedFlags(c, "description") {
				in[k] = v
			}
			if len(in) == 0 {
				return usageErrorf("say what to change: --description, --success, --priority, --every or --next")
			}
			in["goal"] = joinWords(args)
			return a.runTool(c.Context(), false, "update_goal", in)
		}),
	})
	goalFlags(edit)
	edit.Flags().String("description", "", "new description of the goal")
	show := a.addJSONFlag(&cobra.Command{
		Use: "show GOAL...", Short: "Show a goal and its history", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.showGoal(c.Context(), joinWords(args)) }),
	})
	return a.commandGroup(&cobra.Command{Use: "goal", Short: "Manage goals", SuggestFor: []string{"goals", "objective"}}, list, add, show, edit,
		a.onOne("pause GOAL...", "Pause a goal", "pause_goal", "goal"),
		a.resumeCommand("resume GOAL...", "Resume a paused or finished goal", "pause_goal", "goal"),
		a.onOne("done GOAL...", "Mark a goal as reached", "complete_goal", "goal"),
		a.onOne("remove GOAL...", "Remove a goal (undo restores it)", "delete_goal", "goal"))
}

func goalFlags(c *cobra.Command) {
	c.Flags().String("success", "", "success condition, in everyday words")
	c.Flags().Int("priority", 0, "priority from 1 (lowest) to 5 (default 3)")
	c.Flags().String("every", "", `review interval: "6h", "2 days" (default 1h)`)
	c.Flags().String("next", "", `time of the next review: "tomorrow at 9"`)
}

// goalGiven converts the flags for a goal to tool arguments.
func goalGiven(c *cobra.Command) map[string]any {
	in := changedFlags(c, "success", "every", "next")
	if n, err := c.Flags().GetInt("priority"); err == nil && c.Flags().Changed("priority") {
		in["priority"] = n
	}
	for flag, arg := range map[string]string{"every": "check_every", "next": "next_review"} {
		if v, ok := in[flag]; ok {
			delete(in, flag)
			in[arg] = v
		}
	}
	return in
}

func (a *cli) showGoal(ctx context.Context, words string) error {
	return a.withClient(ctx, func(c *client) error {
		all, err := c.Goals(ctx, api.Query{All: true})
		if err != nil {
			return err
		}
		goal, err := pickThing(all, "goal", words, func(g api.GoalDetails) (id, text string) { return g.ID, g.Description })
		if err != nil {
			return err
		}
		list, err := c.Goals(ctx, api.Query{Of: goal.ID, Limit: 20})
		if err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(list)
		}
		for _, g := range list {
			a.printGoal(g)
		}
		return nil
	})
}

func (a *cli) printGoal(g api.GoalDetails) {
	fmt.Fprintln(a.out, g.Description)
	for _, l := range [][2]string{
		{"id", g.ID},
		{"status", g.Status},
		{"reached when", g.Success},
		{"priority", fmt.Sprint(g.Priority)},
		{"reviewed every", g.CheckEvery},
		{"next review", formatTime(a.userZone(), g.NextAt)},
		{"created via", g.Source},
		{"provenance", string(g.Provenance)},
		{"reports to", g.Report},
	} {
		if l[1] != "" {
			fmt.Fprintf(a.out, "  %-16s %s\n", l[0]+":", l[1])
		}
	}
	if g.Quiet > 0 {
		fmt.Fprintf(a.out, "  %-16s %d review(s)\n", "unchanged for:", g.Quiet)
	}
	for _, r := range g.Reviews {
		fmt.Fprintf(a.out, "%s  %s: %s", formatTime(a.userZone(), r.At), r.Phase, r.Decision)
		if r.By != "" {
			fmt.Fprintf(a.out, " by %s, %.0f %% sure", r.By, 100*r.Confidence)
		}
		for _, more := range []string{r.Reason, r.Action, r.Error} {
			if more = strings.TrimSpace(more); more != "" {
				fmt.Fprintf(a.out, "\n    %s", more)
			}
		}
		fmt.Fprintf(a.out, "\n    hob why %s\n", r.Event)
	}
}
