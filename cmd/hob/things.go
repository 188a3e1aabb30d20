package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
)

func (a *cli) taskCmd() *cobra.Command {
	var all bool
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the open tasks", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Task, error) { return cl.Tasks(c.Context(), api.Query{All: all}) }, "No open tasks.",
				"ID|STATUS|PRIORITY|DUE|PROJECT|TITLE", func(t api.Task) []any {
					return []any{t.ID, t.Status, t.Priority, dueText(t.Due), t.Project, t.Title}
				})
		}),
	})
	list.Flags().BoolVarP(&all, "all", "a", false, "include completed tasks")
	add := &cobra.Command{
		Use: "add TITLE...", Short: "Add a task", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "due", "priority", "project", "notes")
			in["title"] = joinWords(args)
			return a.runTool(c.Context(), false, "create_task", in)
		}),
	}
	taskFlags(add)
	edit := &cobra.Command{
		Use: "edit TASK...", Short: "Change a task", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "title", "due", "priority", "project", "notes", "status")
			if len(in) == 0 {
				return usageErrorf("say what to change: --title, --due, --priority, --project, --notes or --status")
			}
			in["task"] = joinWords(args)
			return a.runTool(c.Context(), false, "update_task", in)
		}),
	}
	taskFlags(edit)
	edit.Flags().String("title", "", "new title")
	edit.Flags().String("status", "", "open or done")
	return a.commandGroup(&cobra.Command{Use: "task", Short: "Manage tasks", SuggestFor: []string{"todo", "todos"}}, list, add, edit,
		a.onOne("done TASK...", "Mark a task as done", "complete_task", "task"),
		a.onOne("remove TASK...", "Delete a task (undo restores it)", "delete_task", "task"))
}

func taskFlags(c *cobra.Command) {
	c.Flags().String("due", "", `due date or everyday words: "tomorrow at 9"`)
	c.Flags().String("priority", "", "low, medium, high or critical")
	c.Flags().String("project", "", "project of the task")
	c.Flags().String("notes", "", "notes on the task")
}

// onOne returns a command that calls a tool for one item, identified by its id or by words from its
// title.
func (a *cli) onOne(use, short, tool, arg string) *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: use, Short: short, Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.runTool(c.Context(), false, tool, map[string]any{arg: joinWords(args)})
		}),
	})
}

// resumeCommand is like onOne, but for a tool that pauses items: it sets the argument resume.
func (a *cli) resumeCommand(use, short, tool, arg string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.runTool(c.Context(), false, tool, map[string]any{arg: joinWords(args), "resume": true})
		}),
	}
}

func (a *cli) watchCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the watchers", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Watcher, error) { return cl.Watchers(c.Context(), api.Query{}) }, "No watchers. Add one with: hob watch add ~/Downloads --pattern '*.pdf'",
				"ID|KIND|STATE|FIRED|LAST|REPORTS TO|WATCHES", func(w api.Watcher) []any {
					return []any{w.ID, w.Kind, w.State, w.Fired, w.FiredAt, w.Report, cmp.Or(w.Describe, w.Title)}
				})
		}),
	})
	return a.commandGroup(&cobra.Command{Use: "watch", Short: "Manage watchers of files, feeds and other sources", SuggestFor: []string{"watcher", "watchers"}}, list, a.thingShow("watcher", (*client).Watchers), a.watchAdd(), a.watchChange(), a.watchTry(),
		a.onOne("remove WATCHER...", "Remove a watcher", "cancel_watcher", "watcher"),
		a.onOne("pause WATCHER...", "Pause a watcher", "pause_watcher", "watcher"),
		a.resumeCommand("resume WATCHER...", "Resume a paused watcher", "pause_watcher", "watcher"))
}

func (a *cli) reminderCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List upcoming reminders", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Watcher, error) { return cl.Reminders(c.Context(), api.Query{}) }, `No reminders. Add one with: hob reminder add stretch --at "in 20 minutes"`,
				"ID|WHEN|NEXT|REPORTS TO|SAYS", func(w api.Watcher) []any {
					return []any{w.ID, cmp.Or(w.When, w.Describe), a.nextTimes(w), w.Report, w.Action}
				})
		}),
	})
	add := a.addJSONFlag(&cobra.Command{
		Use: "add TEXT...", Short: "Add a one-time or repeating reminder", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "every", "at")
			if len(in) != 1 {
				return usageErrorf("set the time with exactly one of --every and --at")
			}
			in["text"] = joinWords(args)
			return a.runTool(c.Context(), false, "create_reminder", in)
		}),
	})
	add.Flags().String("at", "", `once: "in 20 minutes", "tomorrow at 9", "2026-12-24 18:00"`)
	add.Flags().String("every", "", `repeat time as cron or everyday words: "weekday at 8:30", "30 8 * * 1-5"`)
	return a.commandGroup(&cobra.Command{Use: "reminder", Short: "Manage reminders", SuggestFor: []string{"remind", "alarm"}}, list, a.thingShow("reminder", (*client).Reminders), add,
		a.onOne("remove REMINDER...", "Cancel a reminder (undo restores it)", "cancel_reminder", "reminder"))
}

func (a *cli) scheduleCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the schedules", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Watcher, error) { return cl.Schedules(c.Context(), api.Query{}) }, `No schedules. Add one with: hob schedule add "brief me" --every "every weekday at 8:00"`,
				"ID|STATE|WHEN|NEXT|LAST|DOES", func(w api.Watcher) []any {
					return []any{w.ID, w.State, cmp.Or(w.When, w.Describe), a.nextTimes(w), w.FiredAt, w.Action}
				})
		}),
	})
	add := &cobra.Command{
		Use: "add ACTION...", Short: "Add a one-time or repeating schedule", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "every", "at", "missed")
			if (in["every"] == nil) == (in["at"] == nil) {
				return usageErrorf("set the time with exactly one of --every and --at")
			}
			in["action"] = joinWords(args)
			return a.runTool(c.Context(), false, "create_schedule", in)
		}),
	}
	add.Flags().String("every", "", `repeat time as cron or everyday words: "every weekday at 8:00", "0 8 * * 1-5"`)
	add.Flags().String("at", "", `once: "tomorrow at 9", "2026-12-24 18:00"`)
	add.Flags().String("missed", "", "policy for runs missed while Hob was off: run_once (default), skip, run_all")
	return a.commandGroup(&cobra.Command{Use: "schedule", Short: "Manage schedules", SuggestFor: []string{"cron", "timer"}}, list, a.thingShow("schedule", (*client).Schedules), add,
		a.onOne("remove SCHEDULE...", "Remove a schedule", "cancel_schedule", "schedule"),
		a.onOne("pause SCHEDULE...", "Pause a schedule", "pause_schedule", "schedule"),
		a.resumeCommand("resume SCHEDULE...", "Resume a paused schedule", "pause_schedule", "schedule"))
}

func (a *cli) briefCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "brief [DAY...]", Short: "Show the plan for today or another day", Aliases: []string{"today"}, SuggestFor: []string{"plan", "briefing", "agenda"},
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := map[string]any{}
			if len(args) > 0 {
				in["date"] = joinWords(args)
			}
			return a.runTool(c.Context(), false, "daily_briefing", in)
		}),
	})
}
