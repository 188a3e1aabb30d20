package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/tools/health"
	"hob/tools/money"
)

func (a *cli) noteCmd() *cobra.Command {
	add := a.addJSONFlag(&cobra.Command{
		Use: "add TEXT...", Short: "Write a note", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "title", "in")
			in["text"] = joinWords(args)
			return a.runTool(c.Context(), false, "create_note", in)
		}),
	})
	add.Flags().String("title", "", "title (default: the first line)")
	add.Flags().String("in", "", `"hob", or one of your notes apps: "apple/Work"`)
	list := a.addJSONFlag(&cobra.Command{
		Use: "list [WORDS...]", Short: "List all notes, or the notes that match WORDS",
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Note, error) { return cl.Notes(c.Context(), api.Query{Text: joinWords(args)}) },
				"No notes. Add one with: hob note add the boiler was serviced", "NOTE|CHANGED|ID", func(n api.Note) []any {
					return []any{noteExcerpt(n), n.UpdatedAt, n.ID}
				})
		}),
	})
	show := a.onOne("show NOTE...", "Show one note in full", "read_note", "note")
	remove := a.onOne("remove NOTE...", "Delete a note (undo restores it)", "delete_note", "note")
	for _, c := range []*cobra.Command{show, remove} {
		c.ValidArgsFunction = a.completeNotes
	}
	return a.commandGroup(&cobra.Command{Use: "note", Short: "Manage notes", SuggestFor: []string{"notes", "memo"}}, add, list, show, remove)
}

// noteExcerpt returns the title of a note and the beginning of its text.
func noteExcerpt(n api.Note) string {
	start, shortened := strings.CutSuffix(n.Title, "…")
	body, found := strings.CutPrefix(n.Text, start)
	switch body = strings.TrimSpace(body); {
	case found && shortened: // the text continues the sentence
		return clipLine(oneLine(n.Text), 200)
	case body == "":
		return n.Title
	}
	return clipLine(oneLine(n.Title+": "+body), 200)
}

func (a *cli) completeNotes(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return completeItems(c, a, args, (*client).Notes, func(n api.Note) string { return n.ID + "\t" + n.Title })
}

func (a *cli) completeReminders(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return completeItems(c, a, args, (*client).Reminders, func(w api.Watcher) string { return w.ID + "\t" + w.Action })
}

// completeItems completes the first argument with the lines of a list.
func completeItems[T any](c *cobra.Command, a *cli, args []string, list func(*client, context.Context, api.Query) ([]T, error), line func(T) string) (out []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_ = a.withClient(c.Context(), func(cl *client) error { // the shell has no place for an error
		all, err := list(cl, c.Context(), api.Query{})
		for _, x := range all {
			out = append(out, line(x))
		}
		return err
	})
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (a *cli) expenseCmd() *cobra.Command {
	add := a.addJSONFlag(&cobra.Command{
		Use: "add AMOUNT [CATEGORY...]", Short: "Log an expense", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "currency", "vendor", "date", "note")
			var amount json.Number
			if err := json.Unmarshal([]byte(args[0]), &amount); err != nil {
				return &failure{code: exitUsage, cause: fmt.Sprintf("%q is not an amount", clipTo(args[0], 60)), remedy: "write the number first: hob expense add 12.50 lunch --currency EUR"}
			}
			in["amount"] = amount
			if category := joinWords(args[1:]); category != "" {
				in["category"] = category
			}
			return a.runTool(c.Context(), false, "log_expense", in)
		}),
	})
	add.Flags().String("currency", "", "ISO code (default: agent.currency, otherwise EUR)")
	add.Flags().String("vendor", "", "shop or person who was paid")
	add.Flags().String("date", "", `day: "yesterday", "2026-03-01" (default: today)`)
	add.Flags().String("note", "", "note on the expense")
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the expenses of a period, oldest first", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printToolList(c.Context(), a, "spending_summary", changedFlags(c, "period", "category"), "expenses",
				"No expenses in this period. Add one with: hob expense add 12.50 lunch", "EXPENSE|AMOUNT|DAY|VENDOR|NOTE|ID", func(e money.Expense) []any {
					return []any{e.Category, e.Amount + " " + e.Currency, calendarDay(e.Day), e.Vendor, e.Note, e.ID}
				})
		}),
	})
	sum := a.addJSONFlag(&cobra.Command{
		Use: "sum", Short: "Sum up the expenses of a period by category", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return a.runTool(c.Context(), false, "spending_summary", changedFlags(c, "period", "category"))
		}),
	})
	for _, c := range []*cobra.Command{list, sum} {
		c.Flags().String("period", "", "today, this_week, last_month, 2026-03 or all (default: this_month)")
		c.Flags().String("category", "", "only this category, vendor or note")
		_ = c.RegisterFlagCompletionFunc("period", cobra.FixedCompletions([]string{"today", "yesterday", "this_week", "last_week", "this_month", "last_month", "this_year", "all"}, cobra.ShellCompDirectiveNoFileComp))
	}
	return a.commandGroup(&cobra.Command{Use: "expense", Short: "Manage expenses", SuggestFor: []string{"expenses", "spent", "spending", "budget", "budgets"}}, append(a.moneyCmds(), add, list, sum)...)
}

func (a *cli) habitCmd() *cobra.Command {
	log := a.addJSONFlag(&cobra.Command{
		Use: "log HABIT...", Short: "Log that you did a habit", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := changedFlags(c, "unit", "date", "note")
			if c.Flags().Changed("value") {
				in["value"], _ = c.Flags().GetFloat64("value")
			}
			in["habit"] = joinWords(args)
			return a.runTool(c.Context(), false, "log_habit", in)
		}),
	})
	log.Flags().Float64("value", 0, "amount, for example 30")
	log.Flags().String("unit", "", "unit of the value: minutes, km")
	log.Flags().String("date", "", `day: "yesterday", "2026-03-01" (default: today)`)
	log.Flags().String("note", "", "note on the entry")
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the habits with their streaks", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printToolList(c.Context(), a, "habit_streak", map[string]any{}, "streaks",
				"No habits. Log one with: hob habit log reading", "HABIT|STREAK|LAST|LONGEST|TOTAL", func(s health.Streak) []any {
					return []any{s.Habit, countText(s.Current, "day", "days"), calendarDay(s.Last), s.Longest, s.Total}
				})
		}),
	})
	return a.commandGroup(&cobra.Command{Use: "habit", Short: "Log habits and show streaks", SuggestFor: []string{"habits", "streak", "streaks"}}, append(a.habitCmds(), log, list)...)
}

// printToolList runs a tool and prints the list that the data of its result holds under key.
func printToolList[T any](ctx context.Context, a *cli, tool string, args any, key, empty, titles string, cells cellsOf[T]) error {
	return a.withClient(ctx, func(c *client) error {
		out, err := a.callTool(ctx, c, noPriorApproval, tool, args)
		if err != nil {
			return err
		}
		var data map[string]json.RawMessage
		var list []T
		if err := json.Unmarshal(out.Data, &data); err != nil {
			return fmt.Errorf("read the result of %s: %w", tool, err)
		}
		if err := json.Unmarshal(data[key], &list); err != nil {
			return fmt.Errorf("read the %s in the result of %s: %w", key, tool, err)
		}
		return printList(a, list, empty, titles, cells)
	})
}
