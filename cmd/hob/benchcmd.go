package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"hob/cmd/hob/internal/bench"
)

func (a *app) benchCmd() *cobra.Command {
	var o bench.Options
	cmd := a.listing(&cobra.Command{
		Use: "bench", Short: "Measure this program on this machine", Args: cobra.NoArgs,
		RunE: a.run(func(c *cobra.Command, _ []string) error {
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
			var rows []row
			for _, f := range figures {
				r := row{"name": f.Name, "value": fmt.Sprintf("%.2f", f.Value), "unit": f.Unit, "about": f.About}
				if f.Target != 0 {
					sign, mark := "<=", "met"
					if f.AtLeast {
						sign = ">="
					}
					if !f.Met() {
						mark = "missed"
					}
					r["target"] = fmt.Sprintf("%s %g %s", sign, f.Target, mark)
				}
				rows = append(rows, r)
			}
			a.table(rows, []column{col("FIGURE", "name"), col("VALUE", "value"), col("UNIT", "unit"), col("TARGET", "target"), col("ABOUT", "about")})
			return nil
		}),
	})
	cmd.Flags().BoolVar(&o.Quick, "quick", false, "fewer rounds, more noise")
	return cmd
}
