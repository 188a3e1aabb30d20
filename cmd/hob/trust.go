package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"hob/autonomy"
)

func (a *app) whyCmd() *cobra.Command {
	return a.listing(&cobra.Command{
		Use: "why [event|tick|notification|silence] [ID|last|WORDS...]", SuggestFor: []string{"explain", "log", "logs"}, Short: "Explain why Hob did or said something, or did not",
		RunE: a.run(func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(cl *client) error {
				var out map[string]any
				q := autonomy.AskedWhy(words(args))
				if err := cl.get(c.Context(), "/api/v1/why", query("kind", q.Kind, "id", q.About), &out); err != nil {
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
