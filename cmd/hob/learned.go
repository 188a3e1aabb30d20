package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
)

// lessonsCmd shows and changes what Hob learned.
func (a *cli) lessonsCmd() *cobra.Command {
	var all bool
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the lessons", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Lesson, error) { return cl.Lessons(c.Context(), api.Query{All: all}) }, "No lessons yet.",
				"LESSON|STATE|LAST|ID|SURE|USED", func(l api.Lesson) []any {
					return []any{l.Text, l.State, l.SeenAt, l.ID, l.Confidence, l.Uses}
				})
		}),
	})
	list.Flags().BoolVarP(&all, "all", "a", false, "include retired and archived lessons")
	show := a.addJSONFlag(&cobra.Command{
		Use: "show ID", Short: "Show the source of a lesson", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.showLesson(c, args[0]) }),
	})
	edit := a.addJSONFlag(&cobra.Command{
		Use: "edit ID TEXT...", Short: "Reword a lesson, or reactivate a retired one", Args: cobra.MinimumNArgs(2),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.applyChange(c, changeLesson, args[0], api.LearnedChange{Text: joinWords(args[1:])}, "Changed.")
		}),
	})
	retire := a.addJSONFlag(&cobra.Command{
		Use: "retire ID", Short: "Stop using a lesson", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.applyChange(c, changeLesson, args[0], api.LearnedChange{Retire: true}, "Retired. Reactivate it with hob memory lessons edit.")
		}),
	})
	remove := a.addJSONFlag(&cobra.Command{
		Use: "delete ID", Short: "Delete a lesson permanently", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.applyChange(c, changeLesson, args[0], api.LearnedChange{Delete: true}, "Deleted.")
		}),
	})
	return a.commandGroup(&cobra.Command{Use: "lessons", Short: "Manage lessons from mistakes and corrections", Aliases: []string{"lesson"}}, list, show, edit, retire, remove)
}

func (a *cli) showLesson(c *cobra.Command, id string) error {
	return a.withClient(c.Context(), func(cl *client) error {
		list, err := cl.Lessons(c.Context(), api.Query{All: true})
		if err != nil {
			return err
		}
		zone := a.userZone()
		for _, l := range list {
			if l.ID != id {
				continue
			}
			if a.asJSON {
				return a.printJSON(l)
			}
			fmt.Fprintf(a.out, "%s\n\n", sanitizePrintable(l.Text))
			for _, f := range []struct {
				title string
				value any
			}{
				{"state", l.State},
				{"sure", l.Confidence},
				{"seen", l.Evidence},
				{"used", l.Uses},
				{"based on", l.Provenance},
				{"session", l.Session},
				{"event", l.Event},
				{"since", l.CreatedAt},
				{"last", l.SeenAt},
				{"retired", l.RetiredAt},
				{"retired by", l.RetiredBy},
			} {
				if v := formatCell(time.Now().In(zone), f.value); v != "" {
					fmt.Fprintf(a.out, "%-11s %s\n", f.title, sanitizePrintable(v))
				}
			}
			return nil
		}
		return &failure{code: exitFailed, cause: fmt.Sprintf("lesson %q not found", id), remedy: "see: hob memory lessons list --all"}
	})
}

// countOrNone returns n, or nil for 0.
func countOrNone(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

// userCmd shows and changes what Hob knows about its user.
func (a *cli) userCmd() *cobra.Command {
	show := func(c *cobra.Command, _ []string) error {
		return printFetched(c.Context(), a, func(cl *client) ([]api.UserEntry, error) { return cl.UserEntries(c.Context()) }, "Hob knows nothing about you yet.",
			"TEXT|WHAT|WHEN|ID|FROM|MESSAGES", func(e api.UserEntry) []any {
				return []any{e.Text, e.What, e.At, e.ID, e.SaidBy, countOrNone(e.Messages)}
			})
	}
	list := a.addJSONFlag(&cobra.Command{Use: "list", Short: "List what Hob knows about you", Args: cobra.NoArgs, RunE: a.runCommand(show)})
	replace := a.addJSONFlag(&cobra.Command{
		Use: "replace ID TEXT...", Short: "Reword a preference", Args: cobra.MinimumNArgs(2),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.applyChange(c, changeUserEntry, args[0], api.LearnedChange{Text: joinWords(args[1:])}, "Changed.")
		}),
	})
	remove := a.addJSONFlag(&cobra.Command{
		Use: "delete ID", Short: "Delete something that Hob knows about you", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.applyChange(c, changeUserEntry, args[0], api.LearnedChange{Delete: true}, "Deleted.")
		}),
	})
	user := a.commandGroup(&cobra.Command{Use: "user", Short: "Manage what Hob knows about you"}, list, replace, remove)
	unknown := user.RunE
	a.addJSONFlag(user)
	user.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return a.runCommand(show)(c, args)
		}
		return unknown(c, args)
	}
	return user
}

func changeLesson(ctx context.Context, c *client, id string, change api.LearnedChange) (any, error) {
	return c.ChangeLesson(ctx, id, change)
}

func changeUserEntry(ctx context.Context, c *client, id string, change api.LearnedChange) (any, error) {
	return c.ChangeUserEntry(ctx, id, change)
}

// applyChange applies a change to one entry and prints the result.
func (a *cli) applyChange(c *cobra.Command, apply func(context.Context, *client, string, api.LearnedChange) (any, error), id string, change api.LearnedChange, said string) error {
	return a.withClient(c.Context(), func(cl *client) error {
		out, err := apply(c.Context(), cl, strings.TrimSpace(id), change)
		if err != nil {
			return err
		}
		if a.asJSON {
			return a.printJSON(out)
		}
		fmt.Fprintln(a.out, said)
		return nil
	})
}
