package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/internal/bench"
)

func (a *cli) benchCmd() *cobra.Command {
	var o bench.Options
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "bench", Short: "Measure this program on this machine", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			exe, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			o.Binary, o.Progress = exe, a.err
			figures, err := bench.Run(c.Context(), o)
			if err != nil {
				return err
			}
			if a.asJSON {
				return a.printJSON(figures)
			}
			a.printTable(benchRows(figures), []column{textColumn("FIGURE", "name"), textColumn("VALUE", "value"), textColumn("TARGET", "target"), textColumn("", "met"), textColumn("WHAT", "about")})
			return nil
		}),
	})
	cmd.AddCommand(a.benchMemoryCmd())
	cmd.Flags().BoolVar(&o.Quick, "quick", false, "run fewer rounds, with more noise")
	cmd.Flags().StringSliceVar(&o.Only, "only", nil, "parts to measure: "+strings.Join(bench.Parts(), ", "))
	cmd.Flags().IntVar(&o.Runs, "runs", 1, "number of runs; shows the best value of each figure")
	return cmd
}

func benchRows(figures []bench.Figure) []row {
	var rows []row
	for _, f := range figures {
		r := row{"name": f.Name, "value": formatRounded(f.Value) + " " + f.Unit, "about": f.About}
		if f.Target != 0 {
			sign, met := "<=", "met"
			if f.AtLeast {
				sign = ">="
			}
			if !f.Met() {
				met = "missed"
			}
			r["target"], r["met"] = fmt.Sprintf("%s %g", sign, f.Target), met
		}
		rows = append(rows, r)
	}
	return rows
}

// formatRounded keeps three digits that say something.
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
