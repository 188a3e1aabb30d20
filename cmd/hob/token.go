package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *cli) tokenCmd() *cobra.Command {
	rotate := &cobra.Command{
		Use: "rotate", Short: "Replace the token and disconnect its current users", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				if _, err := cl.RotateToken(c.Context()); err != nil {
					return err
				}
				fmt.Fprintln(a.out, "Replaced the token. Open the page again with: hob open")
				return nil
			})
		}),
	}
	return a.commandGroup(&cobra.Command{Use: "token", Short: "Manage the API token"}, rotate)
}
