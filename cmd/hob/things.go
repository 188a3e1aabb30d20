package main

import (
	"cmp"
	"maps"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/platform/text/sorting"
	"hob/watchers"
)

func (a *cli) taskCmd() *cobra.Command {
	var all bool
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the open tasks", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Task, error) {
				tasks, err := cl.Tasks(c.Context(), api.Query{All: all})
				sorting.StableByFunc(tasks, compareDue)
				return tasks, err
			}, "No open tasks. Add one with: hob task add call the plumber",
				"TASK|DUE|ID|PRIORITY|PROJECT|STATUS", func(t api.Task) []any {
					status := t.Status
					if status == "open" {
						status = "" // most tasks are open
					}
					return []any{t.Title, dueText(t.Due), t.ID, t.Priority, t.Project, status}
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
			return printFetched(c.Context(), a, func(cl *client) ([]api.Watcher, error) { return watchersOf(c.Context(), cl, false) }, "No watchers. Add one with: hob watch add ~/Downloads --pattern '*.pdf'",
				"WATCHES|STATE|LAST|ID|KIND|FIRED|REPORTS TO", func(w api.Watcher) []any {
					return []any{cmp.Or(w.Describe, w.Title), w.State, w.FiredAt, w.ID, w.Kind, w.Fired, w.Report}
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
			return printFetched(c.Context(), a, func(cl *client) ([]api.Watcher, error) {
				return sortedByNext(cl.Reminders(c.Context(), api.Query{}))
			}, `No reminders. Add one with: hob reminder add stretch --at "in 20 minutes"`,
				"REMINDER|NEXT|ID|REPEATS|PRIORITY|REPORTS TO", func(w api.Watcher) []any {
					repeats := ""
					if w.Kind != watchers.KindOneshot {
						repeats = cmp.Or(w.When, w.Describe)
					}
					return []any{w.Action, w.NextAt, w.ID, repeats, w.Priority, w.Report}
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
			maps.Copy(in, changedFlags(c, "priority"))
			return a.runTool(c.Context(), false, "create_reminder", in)
		}),
	})
	add.Flags().String("at", "", `once: "in 20 minutes", "tomorrow at 9", "2026-12-24 18:00"`)
	add.Flags().String("priority", "", "low (may wait for quiet hours and digests), medium, high or critical")
	add.Flags().String("every", "", `repeat time as cron or everyday words: "weekday at 8:30", "30 8 * * 1-5"`)
	move := a.addJSONFlag(&cobra.Command{
		Use: "move REMINDER...", Short: "Change the time or the priority of a reminder", Args: cobra.MinimumNArgs(1), Aliases: []string{"snooze"},
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "at", "every", "priority")
			if by, _ := c.Flags().GetString("by"); by != "" {
				in["shift"] = by
			}
			times := len(in)
			if in["priority"] != nil {
				times--
			}
			if len(in) == 0 || times > 1 {
				return usageErrorf("set --priority, or the new time with exactly one of --at, --by and --every")
			}
			in["reminder"] = joinWords(args)
			return a.runTool(c.Context(), false, "update_reminder", in)
		}),
	})
	move.Flags().String("at", "", `new time: "16:00" keeps the day, "tomorrow" keeps the time of day`)
	move.Flags().String("by", "", `how much later: "30m", "1h30m"; negative means earlier`)
	move.Flags().String("priority", "", "low, medium, high, critical, or none for the default")
	move.Flags().String("every", "", `new repeat time: "weekday at 8:30"`)
	cancel := a.onOne("cancel REMINDER...", "Cancel a reminder (undo restores it)", "cancel_reminder", "reminder")
	cancel.Aliases = []string{"remove"}
	for _, c := range []*cobra.Command{move, cancel} {
		c.ValidArgsFunction = a.completeReminders
	}
	return a.commandGroup(&cobra.Command{Use: "reminder", Short: "Manage reminders", SuggestFor: []string{"remind", "alarm"}}, list, a.thingShow("reminder", (*client).Reminders), add, move, cancel)
}

func (a *cli) scheduleCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the schedules", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Watcher, error) {
				return sortedByNext(cl.Schedules(c.Context(), api.Query{}))
			}, `No schedules. Add one with: hob schedule add "brief me" --every "every weekday at 8:00"`,
				"ACTION|NEXT|ID|WHEN|STATE|LAST", func(w api.Watcher) []any {
					return []any{w.Action, w.NextAt, w.ID, cmp.Or(w.When, w.Describe), w.State, w.FiredAt}
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
