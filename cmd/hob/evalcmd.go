package main

import (
	"fmt"
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
	rows := figureRows(r.Folders)
	if len(rows) > 1 {
		all := r.Figures
		all.Name = "all"
		rows = append(rows, figureRows([]evaluate.Figures{all})...)
	}
	columns := func(first string) []column {
		return []column{
			textColumn(first, "name"), textColumn("ROWS", "rows"), textColumn("QUESTIONS", "questions"), textColumn("RECALL@5", "r5"), textColumn("RECALL@10", "r10"), textColumn("ANY@10", "any"),
			textColumn("ALL@10", "all"), textColumn("MRR", "mrr"), textColumn("NDCG@10", "ndcg"), textColumn("P50", "p50"), textColumn("P95", "p95"),
		}
	}
	a.printTable(rows, columns("FOLDER"))
	if len(r.Categories) > 0 {
		fmt.Fprintln(a.out)
		a.printTable(figureRows(r.Categories), columns("CATEGORY"))
	}
}

func figureRows(list []evaluate.Figures) (rows []row) {
	for _, f := range list {
		r := row{"name": f.Name, "questions": fmt.Sprint(f.Questions), "p50": fmt.Sprintf("%.1f ms", f.P50), "p95": fmt.Sprintf("%.1f ms", f.P95)}
		if f.Rows > 0 {
			r["rows"] = fmt.Sprint(f.Rows)
		}
		for name, v := range map[string]float64{"r5": f.Recall5, "r10": f.Recall10, "any": f.Any10, "all": f.All10, "mrr": f.MRR, "ndcg": f.NDCG10} {
			r[name] = fmt.Sprintf("%.3f", v)
		}
		rows = append(rows, r)
	}
	return rows
}

// questionBar returns a progress bar.
func questionBar(done, all int) string {
	const width = 30
	full := width * done / max(all, 1)
	return fmt.Sprintf("[%s%s] %d of %d questions", strings.Repeat("#", full), strings.Repeat(".", width-full), done, all)
}
