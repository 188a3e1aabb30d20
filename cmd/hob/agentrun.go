package main

import (
	"github.com/spf13/cobra"

	"hob/cmd/hob/internal/containertool"
)

// agentRunCmd serves one tool call inside a container. It is not for people.
func (a *cli) agentRunCmd() *cobra.Command {
	return &cobra.Command{
		Use: containertool.Command, Short: "Run one tool call in a container", Args: cobra.NoArgs, Hidden: true,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error { return containertool.Serve(c.Context(), a.in, a.out) }),
	}
}
