package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func (a *cli) fileCmd() *cobra.Command {
	trust := a.addJSONFlag(&cobra.Command{
		Use: "trust PATH", Short: "Trust a file in a trusted folder", Args: cobra.ExactArgs(1), SuggestFor: []string{"vouch", "allow"},
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			path := args[0]
			if !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") {
				abs, err := filepath.Abs(path)
				if err != nil {
					return err
				}
				path = abs
			}
			return a.withClient(c.Context(), func(cl *client) error {
				out, err := cl.TrustFile(c.Context(), path)
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				fmt.Fprintf(a.out, "Trusted files: %d.\n", out.Files)
				if out.Left {
					fmt.Fprintln(a.out, "Some files were not read because they are too large or too many; they stay untrusted. Choose smaller folders.")
				}
				return nil
			})
		}),
	})
	return a.commandGroup(&cobra.Command{Use: "file", Short: "Manage trusted files"}, trust)
}
