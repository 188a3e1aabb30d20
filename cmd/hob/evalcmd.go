package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/internal/evaluate"
	"hob/knowledge/index"
)

func (a *cli) evalCmd() *cobra.Command {
	return a.commandGroup(&cobra.Command{Use: "eval", Short: "Measure the quality of memory search"}, a.evalRetrievalCmd())
}

func (a *cli) evalRetrievalCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "retrieval DIR...", Short: "Measure retrieval with collections in the BEIR layout", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, dirs []string) error {
			_, cfg, err := a.loadHome()
			if err != nil {
				return err
			}
			k := cfg.Knowledge
			o := evaluate.Options{Tuning: index.TuningOf(k), HalfLife: k.Ranking.HalfLife.Duration, Index: index.OptionsOf(k)}
			wipe := func() {}
			if _, tty := terminalFD(a.err); tty && !a.asJSON {
				o.Progress = func(done, all int) { fmt.Fprint(a.err, controlSequence(a.err, clearLine)+questionBar(done, all)) }
				wipe = func() { fmt.Fprint(a.err, controlSequence(a.err, clearLine)) }
			}
			r, err := evaluate.Run(c.Context(), dirs, o)
			wipe()
			if err != nil {
				return err
			}
			if a.asJSON {
				return a.printJSON(r)
			}
			a.printEvaluation(r)
			return nil
		}),
	})
}

// printEvaluation prints the figures for each folder, for all folders, and by category.
func (a *cli) printEvaluation(r evaluate.Report) {
	list := r.Folders
	if len(list) > 1 {
		all := r.Figures
		all.Name = "all"
		list = append(slices.Clone(list), all)
	}
	const titles = "|ROWS|QUESTIONS|RECALL@5|RECALL@10|ANY@10|ALL@10|MRR|NDCG@10|P50|P95"
	printTable(a, list, "FOLDER"+titles, evaluationCells)
	if len(r.Categories) > 0 {
		fmt.Fprintln(a.out)
		printTable(a, r.Categories, "CATEGORY"+titles, evaluationCells)
	}
}

func evaluationCells(f evaluate.Figures) []any {
	cells := []any{f.Name, countOrNone(f.Rows), f.Questions}
	for _, v := range []float64{f.Recall5, f.Recall10, f.Any10, f.All10, f.MRR, f.NDCG10} {
		cells = append(cells, fmt.Sprintf("%.3f", v))
	}
	return append(cells, fmt.Sprintf("%.1f ms", f.P50), fmt.Sprintf("%.1f ms", f.P95))
}

// questionBar returns a progress bar.
func questionBar(done, all int) string {
	const width = 30
	full := width * done / max(all, 1)
	return fmt.Sprintf("[%s%s] %d of %d questions", strings.Repeat("#", full), strings.Repeat(".", width-full), done, all)
}
