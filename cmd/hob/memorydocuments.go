package main

import (
	"github.com/spf13/cobra"

	"hob/autonomy/api"
)

func (a *cli) memoryDocumentsCmd() *cobra.Command {
	columns := []column{textColumn("ID", "id"), textColumn("TITLE", "title"), textColumn("KIND", "kind"), textColumn("PARTS", "chunks"), textColumn("FROM", "source"), textColumn("TROUBLE", "error")}
	return a.addJSONFlag(&cobra.Command{
		Use: "documents", Short: "List imported documents and failed imports", Args: cobra.NoArgs, SuggestFor: []string{"docs", "files"},
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return a.fetchAndPrintList(c.Context(), func(cl *client) (any, error) { return cl.Documents(c.Context(), api.Query{}) }, "No documents yet.", columns...)
		}),
	})
}
