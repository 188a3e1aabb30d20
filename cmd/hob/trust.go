package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) whyCmd() *cobra.Command {
	return a.listing(&cobra.Command{
		Use: "why [ID]", SuggestFor: []string{"explain", "log", "logs"}, Short: "Why Hob did or said something", Args: cobra.MaximumNArgs(1),
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
