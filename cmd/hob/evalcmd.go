package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/internal/daemon"
	"hob/cmd/hob/internal/evaluate"
)

func (a *app) evalCmd() *cobra.Command {
	return a.group(&cobra.Command{Use: "eval", Short: "Measure the quality of memory search"}, a.evalRetrievalCmd())
}

func (a *app) evalRetrievalCmd() *cobra.Command {
	return a.listing(&cobra.Command{
		Use: "retrieval DIR...", Short: "Measure retrieval with collections in the BEIR layout", Args: cobra.MinimumNArgs(1),
		RunE: a.run(func(c *cobra.Command, dirs []string) error {
			_, cfg, err := a.home()
			if err != nil {
				return err
			}
			k := cfg.Knowledge
			o := evaluate.Options{Tuning: daemon.Tuning(k), HalfLife: k.Ranking.HalfLife.Duration, Index: daemon.IndexOptions(k)}
			wipe := func() {}
			if _, tty := terminal(a.err); tty && !a.asJSON {
				o.Progress = func(done, all int) { fmt.Fprint(a.err, control(a.err, clearLine)+questionBar(done, all)) }
				wipe = func() { fmt.Fprint(a.err, control(a.err, clearLine)) }
			}
			r, err := evaluate.Run(c.Context(), dirs, o)
			wipe()
			if err != nil {
				return err
			}
			if a.asJSON {
				return a.printJSON(r)
			}
			a.evaluated(r)
			return nil
		}),
	})
}

// evaluated prints the figures of each folder, of all, and by category.
func (a *app) evaluated(r evaluate.Report) {
	rows := figureRows(r.Folders)
	if len(rows) > 1 {
		all := r.Figures
		all.Name = "all"
		rows = append(rows, figureRows([]evaluate.Figures{all})...)
	}
	columns := func(first string) []column {
		return []column{
			col(first, "name"), col("ROWS", "rows"), col("QUESTIONS", "questions"), col("RECALL@5", "r5"), col("RECALL@10", "r10"), col("ANY@10", "any"),
			col("ALL@10", "all"), col("MRR", "mrr"), col("NDCG@10", "ndcg"), col("P50", "p50"), col("P95", "p95"),
		}
	}
	a.table(rows, columns("FOLDER"))
	if len(r.Categories) > 0 {
		fmt.Fprintln(a.out)
		a.table(figureRows(r.Categories), columns("CATEGORY"))
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

// questionBar shows the progress.
func questionBar(done, all int) string {
	const width = 30
	full := width * done / max(all, 1)
	return fmt.Sprintf("[%s%s] %d of %d questions", strings.Repeat("#", full), strings.Repeat(".", width-full), done, all)
}
