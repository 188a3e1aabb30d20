package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"hob/autonomy/explain"
)

func (a *cli) whyCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "why [event|tick|notification|silence] [ID|last|WORDS...]", SuggestFor: []string{"explain", "log", "logs"}, Short: "Explain why Hob did or said something, or did not",
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				var out map[string]any
				q := explain.ParseQuestion(joinWords(args))
				if err := cl.getJSON(c.Context(), "/api/v1/why", queryValues("kind", q.Kind, "id", q.About), &out); err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				fmt.Fprintln(a.out, sanitizePrintable(row(out).textField("text")))
				return nil
			})
		}),
	})
}
