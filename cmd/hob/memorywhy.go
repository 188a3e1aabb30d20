package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
)

func (a *cli) memoryWhyCmd() *cobra.Command {
	var only string
	c := a.addJSONFlag(&cobra.Command{
		Use: "why QUERY...", Short: "Explain the results of a search and their order", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			q, err := a.memoryQuery(c, joinWords(args))
			if err != nil {
				return err
			}
			return a.withClient(c.Context(), func(cl *client) error {
				if only != "" && q.Limit == 0 {
					q.Limit = 1000
				}
				found, err := cl.ExplainSearch(c.Context(), q)
				if err != nil {
					return err
				}
				return a.printWhy(found, only)
			})
		}),
	})
	memoryFlags(c)
	c.Flags().StringVar(&only, "id", "", "only the item with this ID, and its rank")
	return c
}

func (a *cli) printWhy(w api.ExplainedSearch, only string) error {
	rank := slices.IndexFunc(w.Hits, func(h api.MemoryRow) bool { return h.ID == only })
	if only != "" && rank < 0 {
		return &failure{code: exitFailed, cause: fmt.Sprintf("%q is not among the %d results of this search", only, len(w.Hits)), remedy: "show the item with: hob memory show " + shellWord(only)}
	}
	if a.asJSON {
		return a.printJSON(w)
	}
	fmt.Fprintf(a.out, "%s %s\n", a.colorize(a.out, bold, "Route:"), sanitizePrintable(w.Route.Kind))
	for _, r := range w.Route.Reasons {
		fmt.Fprintf(a.out, "  - %s\n", oneLine(r))
	}
	if w.Withheld > 0 {
		fmt.Fprintf(a.out, "Omitted %d results that look like credentials; search for them by name.\n", w.Withheld)
	}
	if len(w.Hits) == 0 {
		fmt.Fprintln(a.out, "Nothing matches.")
		return nil
	}
	most, zone := 0.0, a.userZone()
	for _, h := range w.Hits {
		for _, p := range h.Parts {
			most = max(most, math.Abs(p.Value))
		}
	}
	for i, h := range w.Hits {
		if only == "" || i == rank {
			a.whyHit(zone, i+1, h, most)
		}
	}
	return nil
}

func (a *cli) whyHit(zone *time.Location, rank int, h api.MemoryRow, most float64) {
	head := fmt.Sprintf("%d. %s %s", rank, h.Kind, h.ID)
	fmt.Fprintf(a.out, "\n%s  %s\n", a.colorize(a.out, bold, sanitizePrintable(head)), a.colorize(a.out, dim, fmt.Sprintf("score %.4g, %s", h.Score, formatTime(zone, h.At))))
	fmt.Fprintf(a.out, "   %s\n", clipLine(oneLine(h.Text), 160))
	for _, p := range h.Parts {
		color := green
		if p.Value < 0 {
			color = red
		}
		fmt.Fprintf(a.out, "   %-22s %9.4f  %s\n", clipLine(oneLine(p.Name), 22), p.Value, a.colorize(a.out, color, relativeBar(math.Abs(p.Value), most, 24)))
	}
}

// relativeBar draws a value in proportion to the maximum.
func relativeBar(v, most float64, width int) string {
	if most <= 0 || v <= 0 || math.IsNaN(v/most) {
		return ""
	}
	if s := drawBar(v/most, width); s != "" {
		return s
	}
	return "▏" // a small value must be distinguishable from 0
}
