package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/internal/app"
	"hob/cmd/hob/internal/bench"
)

func (a *cli) benchCmd() *cobra.Command {
	var o bench.Options
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "bench", Short: "Measure this program on this machine", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			exe, err := os.Executable()
			if err != nil {
				return fmt.Errorf("locate the hob program: %w", err)
			}
			o.Binary, o.Progress = exe, a.err
			figures, err := bench.Run(c.Context(), o)
			if err != nil {
				return err
			}
			if a.asJSON {
				return a.printJSON(figures)
			}
			printTable(a, figures, "FIGURE|VALUE|TARGET||WHAT", figureCells)
			return nil
		}),
	})
	cmd.AddCommand(a.benchMemoryCmd())
	cmd.Flags().BoolVar(&o.Quick, "quick", false, "run fewer rounds, with more noise")
	cmd.Flags().StringSliceVar(&o.Only, "only", nil, "parts to measure: "+strings.Join(bench.Parts(), ", "))
	cmd.Flags().IntVar(&o.Runs, "runs", 1, "number of runs; shows the best value of each figure")
	return cmd
}

func figureCells(f bench.Figure) []any {
	target, met := "", ""
	if f.Target != 0 {
		sign := "<="
		if f.AtLeast {
			sign = ">="
		}
		target, met = fmt.Sprintf("%s %g", sign, f.Target), "met"
		if !f.Met() {
			met = "missed"
		}
	}
	return []any{f.Name, formatRounded(f.Value) + " " + f.Unit, target, met, f.About}
}

// formatRounded formats v with 3 significant digits.
func formatRounded(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.4f", v)
}

func (a *cli) benchMemoryCmd() *cobra.Command {
	o := bench.MemoryOptions{}
	var chart string
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "memory", Short: "Measure the memory store while it grows", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			exe, err := os.Executable()
			if err != nil {
				return fmt.Errorf("locate the hob program: %w", err)
			}
			if o.Numbers < 0 || o.Numbers > 4096 {
				return errors.New("--vectors: must be between 0 and 4096")
			}
			o.Binary, o.Progress, o.Tables = exe, a.err, app.Migrations()
			list := []bench.Growth{}
			err = bench.Memory(c.Context(), o, func(g bench.Growth) {
				list = append(list, g)
				fmt.Fprintf(a.err, "%d rows: p50 %s ms, p95 %s ms\n", g.Rows, formatRounded(g.P50), formatRounded(g.P95))
			})
			if err != nil && len(list) == 0 {
				return err
			}
			if chart != "" {
				if err := os.WriteFile(chart, []byte(bench.GrowthChart(list)), 0o600); err != nil {
					return fmt.Errorf("write the chart: %w", err)
				}
			}
			if a.asJSON {
				return errors.Join(a.printJSON(list), err)
			}
			a.printGrowth(list, o.Numbers > 0)
			return err // print the figures measured so far despite the error
		}),
	})
	cmd.Flags().IntVar(&o.Rows, "n", 100_000, "number of rows")
	cmd.Flags().IntVar(&o.Numbers, "vectors", 0, "also measure generated vectors with this many dimensions")
	cmd.Flags().IntVar(&o.Queries, "queries", 300, "number of searches at each size")
	cmd.Flags().StringVar(&chart, "chart", "", "SVG file for the curves")
	return cmd
}

func (a *cli) printGrowth(list []bench.Growth, vectors bool) {
	titles := "ROWS|P50 MS|P95 MS|CPU MS|FOUND|STORED/S|INDEXED/S|DATABASE|INDEX|ANONYMOUS|FILE-BACKED"
	if vectors {
		titles += "|VECTORS/S|VECTORS|EXACT P95|FIRST PASS P95|RECALL"
	}
	printTable(a, list, titles, func(g bench.Growth) []any {
		cells := []any{
			g.Rows, formatRounded(g.P50), formatRounded(g.P95), formatRounded(g.CPU), fmt.Sprintf("%.0f %%", 100*g.Found), fmt.Sprintf("%.0f", g.Stored), fmt.Sprintf("%.0f", g.Indexed),
			bytesText(g.Database), bytesText(g.Index), bytesText(g.Anonymous), bytesText(g.Files),
		}
		if vectors {
			cells = append(cells, fmt.Sprintf("%.0f", g.Vectors), bytesText(g.VectorBytes), formatRounded(g.Exact95), formatRounded(g.First95), fmt.Sprintf("%.1f %%", 100*g.RecallAt))
		}
		return cells
	})
}
