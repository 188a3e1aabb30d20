package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
)

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
