package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/knowledge"
	"hob/platform/text/textnorm"
)

// forgetting holds the flags of forget.
type forgetting struct {
	query, source string
	keep, yes     bool
}

func (a *cli) forgetCmd() *cobra.Command {
	var f forgetting
	var dry bool
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "forget [ID]", Short: "Delete something permanently (cannot be undone)", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeMemory,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			given := 0
			for _, s := range append([]string{f.query, f.source}, args...) {
				if s != "" {
					given++
				}
			}
			if given != 1 {
				return usageErrorf("name what to delete: an ID, --query TEXT or --source FROM")
			}
			return a.withClient(c.Context(), func(cl *client) error {
				if dry {
					return a.showForget(c.Context(), cl, strings.Join(args, ""), f)
				}
				return a.forgetAndWait(c.Context(), cl, strings.Join(args, ""), f)
			})
		}),
	})
	cmd.Flags().StringVar(&f.query, "query", "", "delete items that match this text, and redact the text elsewhere")
	cmd.Flags().StringVar(&f.source, "source", "", `delete everything from this source: "event:ID", "session:ID", "mail:ID", "file:PATH", "url:URL", "import:NAME", "browser:all"`)
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "only show what would be deleted")
	cmd.Flags().BoolVar(&f.keep, "keep-backups", false, "keep older backups, which still contain the deleted items")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "skip the confirmation")
	return cmd
}

// forgetAndWait deletes the items and waits until the deletion is complete.
func (a *cli) forgetAndWait(ctx context.Context, c *client, id string, f forgetting) error {
	in := map[string]any{}
	for name, v := range map[string]string{"id": id, "query": f.query, "source": f.source} {
		if v != "" {
			in[name] = v
		}
	}
	if f.query != "" {
		in["everything"] = true
	}
	if _, err := c.PreviewErasure(ctx, api.Query{Of: id}); id != "" && errors.Is(err, api.ErrNotFound) {
		return &failure{code: exitFailed, cause: fmt.Sprintf("no item has the ID %q", id), remedy: fmt.Sprintf("delete by words with: hob memory forget --query %q", id)}
	}
	if f.keep {
		in["keep_backups"] = true
	}
	given := noPriorApproval
	if f.yes {
		given = commandApproval
	}
	out, err := a.callTool(ctx, c, given, "forget", in)
	if err != nil {
		return err
	}
	var data struct {
		Erasure string `json:"erasure"`
	}
	if json.Unmarshal(out.Data, &data) != nil || data.Erasure == "" {
		fmt.Fprintln(a.out, sanitizePrintable(out.Text))
		return nil
	}
	done, err := c.Erasures(ctx, api.Query{Of: data.Erasure})
	if err != nil {
		return err
	}
	if len(done) != 1 {
		return fmt.Errorf("deletion %s not found", data.Erasure)
	}
	if a.asJSON {
		return a.printJSON(done[0])
	}
	fmt.Fprintln(a.out, erasureText(done[0], f.keep))
	return nil
}

// erasureText describes the progress of a deletion.
func erasureText(e api.Erasure, kept bool) string {
	if e.State != "done" && e.Trouble != "" {
		return "Deleted, but some copies remain: " + sanitizePrintable(e.Trouble) + ". Hob retries automatically; check the progress with hob doctor."
	}
	if e.State != "done" {
		return "Deleted. A running conversation still contains it; Hob removes the last copies when that conversation ends."
	}
	text := fmt.Sprintf("Permanently deleted %s and redacted the text in %s.", countText(e.Rows+e.Files, "row or file", "rows and files"), countText(e.Scrubbed, "place", "places"))
	switch {
	case kept:
		text += " Older backups still contain it."
	case e.Backups > 0:
		text += fmt.Sprintf(" Replaced %s of the database that contained it with a new backup.", countText(e.Backups, "older copy", "older copies"))
	}
	return text
}

func countText(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// shownRows is the maximum number of rows of each kind that a dry run lists.
const shownRows = 20

func (a *cli) showForget(ctx context.Context, c *client, id string, f forgetting) error {
	list, err := c.PreviewErasure(ctx, api.Query{Of: id, Text: f.query, State: f.source, All: f.query != ""})
	if err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(list)
	}
	if f.source == knowledge.BrowserSource {
		fmt.Fprintln(a.out, "delete: all browser data, including cookies")
	}
	for _, g := range list {
		fmt.Fprint(a.out, sanitizePrintable(previewText(g)))
	}
	return nil
}

// previewText describes what a deletion would remove.
func previewText(g api.ErasurePreview) string {
	var b strings.Builder
	for i, f := range g.Facts {
		if i == shownRows {
			fmt.Fprintf(&b, "... and %d more facts\n", len(g.Facts)-i)
			break
		}
		fmt.Fprintf(&b, "delete: fact %s: %s\n", f.ID, textnorm.Ellipsize(f.Text, 100))
	}
	rows := func(what string, docs []api.Row) {
		for i, d := range docs {
			if i == shownRows {
				fmt.Fprintf(&b, "... and %d more\n", len(docs)-i)
				break
			}
			fmt.Fprintf(&b, "%s: %s %s: %s\n", what, d.Kind, d.Ref, textnorm.Ellipsize(strings.Join(strings.Fields(d.Title+" "+d.Text), " "), 100))
		}
	}
	rows("goes", g.Docs)
	rows("kept unless you name it, but was created with this text in the context", g.Made)
	for _, kind := range slices.Sorted(maps.Keys(g.Within)) {
		fmt.Fprintf(&b, "redacted in: %s\n", countText(g.Within[kind], "row of kind "+kind, "rows of kind "+kind))
	}
	fmt.Fprintf(&b, "A total of %s of the database would be deleted or changed. Nothing was changed.\n", countText(g.Places, "row", "rows"))
	return b.String()
}
