package main

import "github.com/spf13/cobra"

func (a *app) memoryDocumentsCmd() *cobra.Command {
	columns := []column{col("ID", "id"), col("TITLE", "title"), col("KIND", "kind"), col("PARTS", "chunks"), col("FROM", "source"), col("TROUBLE", "error")}
	return a.listing(&cobra.Command{
		Use: "documents", Short: "List imported documents and failed imports", Args: cobra.NoArgs, SuggestFor: []string{"docs", "files"},
		RunE: a.run(func(c *cobra.Command, _ []string) error {
			return a.list(c.Context(), "/api/v1/documents", nil, "No documents yet.", columns...)
		}),
	})
}
