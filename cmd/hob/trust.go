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
				q := explain.ParseQuestion(joinWords(args))
				out, err := cl.Why(c.Context(), q.Kind, q.About)
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				fmt.Fprintln(a.out, sanitizePrintable(out.Text))
				return nil
			})
		}),
	})
}
