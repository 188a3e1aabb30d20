package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/platform/text/graphdraw"
)

// relationLine describes a relation from the perspective of one of its entities.
func relationLine(r api.GraphEdge, of string) string {
	line := "← " + oneLine(r.Name) + " " + oneLine(r.FromName)
	if r.From == of {
		line = oneLine(r.Name) + " → " + oneLine(r.ToName)
	}
	if r.Over {
		line += " (no longer)"
	}
	return line
}

func (a *cli) memoryGraphCmd() *cobra.Command {
	var dot bool
	var svg string
	c := a.addJSONFlag(&cobra.Command{
		Use: "graph [NAME...]", Short: "Draw a graph of stored people, items and relations", ValidArgsFunction: a.completeMemory,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			if dot && svg != "" {
				return usageErrorf("choose one of --dot and --svg")
			}
			limit, err := givenLimit(c)
			if err != nil {
				return err
			}
			return a.withClient(c.Context(), func(cl *client) error {
				g, err := cl.MemoryGraph(c.Context(), joinWords(args), limit)
				if err != nil {
					return err
				}
				return a.drawGraph(c.Context(), g, dot, svg)
			})
		}),
	})
	c.Flags().BoolVar(&dot, "dot", false, "print Graphviz DOT")
	c.Flags().StringVar(&svg, "svg", "", "new SVG file for the picture; - is standard output")
	c.Flags().Int("limit", 200, "maximum number of people and items")
	c.MarkFlagsMutuallyExclusive("json", "dot", "svg")
	return c
}

func (a *cli) drawGraph(ctx context.Context, g api.MemoryGraph, dot bool, svg string) error {
	if a.asJSON {
		return a.printJSON(g)
	}
	p := graphdraw.Graph{}
	for _, e := range g.Entities {
		p.Nodes = append(p.Nodes, graphdraw.Node{ID: e.ID, Name: e.Name, Kind: e.Kind})
	}
	for _, r := range g.Relations { // several facts may contain the same relation
		if e := (graphdraw.Edge{From: r.From, Label: r.Name, To: r.To}); !slices.Contains(p.Edges, e) {
			p.Edges = append(p.Edges, e)
		}
	}
	switch {
	case len(p.Nodes) == 0:
		fmt.Fprintln(a.err, "No people or things are known yet.")
		return nil
	case dot:
		fmt.Fprint(a.out, p.DOT())
		return nil
	case svg == "-":
		fmt.Fprint(a.out, p.SVG())
		return nil
	case svg != "":
		if err := newFile(svg, []byte(p.SVG())); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "Saved a picture of %s and %s to %s\n", countText(len(p.Nodes), "entry", "entries"), countText(len(p.Edges), "relation", "relations"), sanitizePrintable(svg))
		return ctx.Err()
	}
	fmt.Fprint(a.out, p.Tree(g.Root, func(n graphdraw.Node, text string) string {
		if n.Kind == "person" {
			return a.colorize(a.out, green, text)
		}
		return a.colorize(a.out, bold, text)
	}))
	return nil
}

// newFile writes a file that must not exist yet.
func newFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return &failure{code: exitFailed, cause: path + " exists already", remedy: "choose another name, or remove the file first", err: err}
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
