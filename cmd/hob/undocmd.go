package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
)

// undoFlags contains the flags of `hob undo`.
type undoFlags struct {
	last             int
	list, turn, redo bool
}

func (a *cli) undoCmd() *cobra.Command {
	var f undoFlags
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "undo [ID | WORDS | list]", Short: "Undo Hob's actions", Args: cobra.ArbitraryArgs,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "list" {
				f.list, args = true, nil
			}
			in, err := f.toolArguments(args)
			if err != nil {
				return err
			}
			if f.list {
				return printFetched(c.Context(), a, func(cl *client) ([]api.LedgerEntry, error) { return cl.Undoable(c.Context(), api.Query{}) }, "There is nothing to undo.",
					"UNDO WOULD|WHEN|ID|TOOL", func(e api.LedgerEntry) []any {
						return []any{e.UndoLabel, e.FinishedAt, e.Call, e.Tool}
					})
			}
			return a.runUndo(c.Context(), in)
		}),
	})
	cmd.Flags().IntVar(&f.last, "last", 0, "undo the last N actions")
	cmd.Flags().BoolVar(&f.turn, "turn", false, "undo all actions of the last answer")
	cmd.Flags().BoolVar(&f.redo, "redo", false, "redo the last undone action, or the action ID (only files and configuration)")
	cmd.Flags().BoolVar(&f.list, "list", false, "list the actions that can be undone")
	return cmd
}

// toolArguments returns the arguments of the tool.
func (f undoFlags) toolArguments(args []string) (map[string]any, error) {
	chosen := 0
	for _, set := range []bool{len(args) > 0, f.last != 0, f.turn} {
		if set {
			chosen++
		}
	}
	switch {
	case f.list && (chosen > 0 || f.redo):
		return nil, usageErrorf("--list shows the actions that can be undone; remove ID and the other flags")
	case f.last < 0:
		return nil, usageErrorf("--last must be 1 or more, not %s", strconv.Itoa(f.last))
	case chosen > 1:
		return nil, usageErrorf("give only one of ID, --last and --turn")
	case f.redo && (f.last > 0 || f.turn):
		return nil, usageErrorf("--redo repeats one action; remove --last and --turn")
	}
	in := map[string]any{}
	if len(args) > 0 {
		in["id"] = strings.Join(args, " ")
	}
	if f.last > 0 {
		in["last"] = f.last
	}
	if f.turn {
		in["turn"] = true
	}
	if f.redo {
		in["redo"] = true
	}
	return in, nil
}

// runUndo calls the tool and prints the result. A partial undo is a failure.
func (a *cli) runUndo(ctx context.Context, in map[string]any) error {
	return a.withClient(ctx, func(c *client) error {
		out, err := a.callTool(ctx, c, commandApproval, "undo", in)
		if err != nil {
			return err
		}
		var done struct {
			Undone []json.RawMessage `json:"undone"`
			Left   []json.RawMessage `json:"not_undone"`
		}
		if len(out.Data) > 0 {
			if err := json.Unmarshal(out.Data, &done); err != nil {
				return fmt.Errorf("decode the undone actions: %w", err)
			}
		}
		if a.asJSON {
			err = a.printJSON(out)
		} else {
			a.printWrapped(sanitizePrintable(out.Text))
		}
		switch {
		case err == nil && len(done.Left) > 0 && len(done.Undone) == 0: // the text says why
			err = &failure{code: exitFailed, cause: "nothing was undone", remedy: "see the actions that can be undone with: hob undo --list"}
		case err == nil && len(done.Left) > 0:
			err = &failure{
				code: exitFailed, cause: fmt.Sprintf("%d of %d actions were not undone", len(done.Left), len(done.Left)+len(done.Undone)),
				remedy: "see the remaining actions with: hob undo --list",
			}
		}
		return err
	})
}
