package main

import (
	"github.com/spf13/cobra"

	"hob/cmd/hob/internal/boxed"
)

// agentRunCmd serves one tool call inside a container. It is not for people.
func (a *app) agentRunCmd() *cobra.Command {
	return &cobra.Command{
		Use: boxed.Command, Short: "Run one tool call in a container", Args: cobra.NoArgs, Hidden: true,
		RunE: a.run(func(c *cobra.Command, _ []string) error { return boxed.Serve(c.Context(), a.in, a.out) }),
	}
}
