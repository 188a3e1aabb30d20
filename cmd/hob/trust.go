package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
)

func (a *app) approvalsCmd() *cobra.Command {
	var all bool
	list := a.listing(&cobra.Command{
		Use: "list", Short: "List what waits for your yes", Args: cobra.NoArgs,
		RunE: a.run(func(c *cobra.Command, _ []string) error {
			q := query("state", "pending")
			if all {
				q = nil
			}
			return a.list(c.Context(), "/api/v1/approvals", q, "Nothing waits for you.",
				col("ID", "id"), col("STATE", "state"), col("SESSION", "session"), at(a.zone(), "UNTIL", "expires_at"), col("WHAT", "summary"), col("WHY ASKED", "reason"))
		}),
	})
	list.Flags().BoolVarP(&all, "all", "a", false, "also those that are decided")
	return a.group(&cobra.Command{Use: "approvals", Short: "Questions that wait for your yes"}, list)
}

func (a *app) approveCmd() *cobra.Command {
	var lasting string
	cmd := &cobra.Command{
		Use: "approve [ID]", Short: "Say yes to a question", Args: cobra.MaximumNArgs(1),
		RunE: a.run(func(c *cobra.Command, args []string) error {
			in := map[string]any{"approved": true}
			if lasting != "" {
				in["scope"], in["expires"] = "session", lasting
			}
			return a.decide(c.Context(), words(args), in, "Approved: ")
		}),
	}
	cmd.Flags().StringVar(&lasting, "for", "", `say yes to the same in this conversation for a time: "1h"`)
	return cmd
}

func (a *app) denyCmd() *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use: "deny [ID]", Short: "Say no to a question", Args: cobra.MaximumNArgs(1),
		RunE: a.run(func(c *cobra.Command, args []string) error {
			return a.decide(c.Context(), words(args), map[string]any{"approved": false, "note": note}, "Denied: ")
		}),
	}
	cmd.Flags().StringVar(&note, "note", "", "why not, for the model to read")
	return cmd
}

// decide answers the question with the id, or the only one there is.
func (a *app) decide(ctx context.Context, id string, in map[string]any, said string) error {
	return a.with(ctx, func(c *client) error {
		var waiting []approval
		if err := c.get(ctx, "/api/v1/approvals", query("state", "pending"), &waiting); err != nil {
			return err
		}
		var q *approval
		for i := range waiting {
			if waiting[i].ID == id || (id == "" && len(waiting) == 1) {
				q = &waiting[i]
			}
		}
		switch {
		case q == nil && id != "":
			return &failure{code: exitFailed, cause: fmt.Sprintf("no question %q waits for an answer", id), remedy: "see: hob approvals list --all"}
		case q == nil && len(waiting) == 0:
			return &failure{code: exitFailed, cause: "no question waits for an answer", remedy: "see: hob approvals list --all"}
		case q == nil:
			return &failure{code: exitUsage, cause: fmt.Sprintf("%d questions wait for an answer", len(waiting)), remedy: "name one: hob approvals list"}
		}
		path := "/api/v1/sessions/" + pathPart(q.Session) + "/approvals/" + pathPart(q.ID)
		if err := c.post(ctx, path, in, nil); err != nil {
			return err
		}
		fmt.Fprintln(a.out, said+q.what())
		return nil
	})
}

func (a *app) whyCmd() *cobra.Command {
	return a.listing(&cobra.Command{
		Use: "why [ID]", SuggestFor: []string{"explain", "audit", "log", "logs"}, Short: "Why Hob did or said something", Args: cobra.MaximumNArgs(1),
		RunE: a.run(func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(cl *client) error {
				var out map[string]any
				if err := cl.get(c.Context(), "/api/v1/why", query("id", words(args)), &out); err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				fmt.Fprintln(a.out, printable(row(out).text("text")))
				return nil
			})
		}),
	})
}

func (a *app) undoCmd() *cobra.Command {
	var last int
	var list bool
	cmd := a.listing(&cobra.Command{
		Use: "undo [ID]", Short: "Take back what Hob did", Args: cobra.MaximumNArgs(1),
		RunE: a.run(func(c *cobra.Command, args []string) error {
			in := map[string]any{}
			switch {
			case list && (len(args) > 0 || last > 0):
				return usage("--list shows what can be taken back; leave out ID and --last")
			case list:
				return a.list(c.Context(), "/api/v1/undo", nil, "There is nothing to undo.",
					col("ID", "call"), at(a.zone(), "WHEN", "finished_at"), col("TOOL", "tool"), col("UNDO WOULD", "undo_label"))
			case len(args) == 1 && last > 0:
				return usage("give an ID or --last, not both")
			case len(args) == 1:
				in["id"] = args[0]
			case last < 0:
				return usage("--last must be 1 or more, not %s", strconv.Itoa(last))
			case last > 0:
				in["last"] = last
			}
			return a.do(c.Context(), true, "undo", in)
		}),
	})
	cmd.Flags().IntVar(&last, "last", 0, "take back the last N actions")
	cmd.Flags().BoolVar(&list, "list", false, "show what can be taken back")
	return cmd
}
