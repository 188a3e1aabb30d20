package canvas

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/plot"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type evalIn struct {
	Title   string `json:"title,omitempty" jsonschema:"the widget; default the newest table or chart"`
	Where   string `json:"where,omitempty" jsonschema:"condition on a column, such as amount > 10 or city = Oslo"`
	Group   string `json:"group,omitempty" jsonschema:"column: one row for each of its values"`
	Measure string `json:"measure,omitempty" jsonschema:"sum, average, minimum, maximum or count"`
	Column  string `json:"column,omitempty" jsonschema:"column to measure; default the last one"`
	Sort    string `json:"sort,omitempty" jsonschema:"column to sort by; -column: descending"`
	Limit   int    `json:"limit,omitempty"`
	Save    string `json:"save,omitempty" jsonschema:"title of a widget that shows the result"`
}

func (d Deps) computeOnCanvas() tools.Tool {
	return tools.New(tools.Def[evalIn]{
		Spec: tools.Spec{
			Name: "canvas_eval", Category: "canvas", Effects: tools.Write,
			Description: "Compute with the rows of a table or chart on the canvas: filter, group, measure, sort.",
			Keywords:    "canvas evaluate script javascript compute calculate sum average total filter sort group widget",
		},
		Summary: func(in evalIn) string {
			if in.Save == "" {
				return "Compute with the rows of a widget"
			}
			return "Show the computed widget " + strconv.Quote(cleanTitle(in.Save))
		},
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in evalIn) (tools.Result, error) {
			w, err := widgetWithRows(tx, in.Title)
			if err != nil {
				return tools.Result{}, err
			}
			w.Content, _ = c.CredentialViewer().Show(w.Title, w.Content)
			g, err := parseGrid(w.Content)
			if err == nil {
				g, err = in.computeRows(g)
			}
			if err != nil {
				return tools.Result{}, tools.Quoting(err, w.Provenance)
			}
			out := tools.Result{Text: g.formatCSV(), Data: struct {
				ID         string            `json:"id"`
				Provenance provenance.Source `json:"provenance"`
				Columns    []string          `json:"columns"`
				Rows       [][]string        `json:"rows"`
			}{w.ID, w.Provenance, g.head, g.rows}, Source: worstSource([]Widget{w})}
			if strings.TrimSpace(in.Save) == "" {
				return out, nil
			}
			c.Provenance = provenance.Worst(w.Provenance, c.Provenance) // the new widget contains text of the old one
			saved, err := pushWidget(tx, c, pushIn{Title: in.Save, Content: out.Text, ContentType: w.Kind})
			if err != nil {
				return tools.Result{}, err
			}
			out.Text, out.Undo = saved.Text+"\n"+out.Text, saved.Undo
			return out, nil
		},
		UndoTx: undoChange,
	})
}

// widgetWithRows returns the widget with a title, or the newest one that contains rows.
func widgetWithRows(tx *store.Tx, title string) (Widget, error) {
	if strings.TrimSpace(title) != "" {
		w, err := requireWidget(tx, title)
		if err == nil && !hasRows(w.Kind) {
			err = tools.Quoting(tools.Errorf(tools.InvalidArguments, "the widget %q is no table and no chart", tools.Clean(w.Title)), w.Provenance)
		}
		return w, err
	}
	list, err := queryWidgets(tx, `ORDER BY updated_at DESC, id`)
	if err != nil {
		return Widget{}, err
	}
	for _, w := range list {
		if hasRows(w.Kind) {
			return w, nil
		}
	}
	return Widget{}, tools.Errorf(tools.NotFound, "there is no table and no chart on the canvas; add one with canvas_push")
}

// computeRows applies the steps in the order: where, group and measure, sort, limit.
func (in evalIn) computeRows(g grid) (grid, error) {
	var err error
	if in.Where != "" {
		if g, err = filterRows(g, in.Where); err != nil {
			return g, err
		}
	}
	if in.Group != "" || in.Measure != "" {
		if g, err = in.measureRows(g); err != nil {
			return g, err
		}
	}
	if name, descending := strings.CutPrefix(strings.TrimSpace(in.Sort), "-"); name != "" {
		at, err := g.findColumn(name)
		if err != nil {
			return g, err
		}
		sorting.StableByFunc(g.rows, func(x, y []string) int {
			if descending {
				x, y = y, x
			}
			return compareValues(x[at], y[at])
		})
	}
	if in.Limit < 0 {
		return g, tools.Errorf(tools.InvalidArguments, "limit must not be negative")
	}
	if in.Limit > 0 && in.Limit < len(g.rows) {
		g.rows = g.rows[:in.Limit]
	}
	if len(g.rows) == 0 {
		return g, tools.Errorf(tools.NotFound, "no row matches")
	}
	return g, nil
}

// compareValues compares two values as numbers if both are numbers, otherwise as text.
func compareValues(a, b string) int {
	x, isX := parseNumber(a)
	y, isY := parseNumber(b)
	if isX && isY {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(textnorm.Fold(strings.TrimSpace(a)), textnorm.Fold(strings.TrimSpace(b)))
}

// filterRows returns the rows that match a condition such as "amount > 10".
func filterRows(g grid, where string) (grid, error) {
	for _, op := range []string{"<=", ">=", "!=", "<", ">", "="} {
		column, value, found := strings.Cut(where, op)
		if !found {
			continue
		}
		at, err := g.findColumn(column)
		if err != nil {
			return g, err
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		g.rows = slices.DeleteFunc(g.rows, func(row []string) bool {
			n := compareValues(row[at], value)
			switch op {
			case "<=":
				return n > 0
			case ">=":
				return n < 0
			case "!=":
				return n == 0
			case "<":
				return n >= 0
			case ">":
				return n <= 0
			}
			return n != 0
		})
		return g, nil
	}
	return g, tools.Errorf(tools.InvalidArguments, "where must compare a column with a value, such as amount > 10, not %q", tools.Clean(textnorm.Ellipsize(where, 60)))
}

// measureRows returns one row for each value of the group column, or one for all rows.
func (in evalIn) measureRows(g grid) (grid, error) {
	measure := cmp.Or(strings.ToLower(strings.TrimSpace(in.Measure)), "sum")
	if !slices.Contains([]string{"sum", "average", "minimum", "maximum", "count"}, measure) {
		return g, tools.Errorf(tools.InvalidArguments, "measure must be sum, average, minimum, maximum or count, not %q", tools.Clean(textnorm.Ellipsize(measure, 40)))
	}
	group, column := -1, len(g.head)-1
	var err error
	if in.Group != "" {
		if group, err = g.findColumn(in.Group); err != nil {
			return g, err
		}
	}
	if in.Column != "" {
		if column, err = g.findColumn(in.Column); err != nil {
			return g, err
		}
	}
	var names []string
	numbers, counts := map[string][]float64{}, map[string]int{}
	for _, row := range g.rows {
		name := "all rows"
		if group >= 0 {
			name = strings.TrimSpace(row[group])
		}
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
		if v, ok := parseNumber(row[column]); ok {
			numbers[name] = append(numbers[name], v)
		}
	}
	out := grid{head: []string{"group", fmt.Sprintf("%s of %s", measure, g.head[column])}}
	if group >= 0 {
		out.head[0] = g.head[group]
	}
	if measure == "count" {
		out.head[1] = measure
	}
	for _, name := range names {
		value := strconv.Itoa(counts[name])
		if measure != "count" {
			value = measureNumbers(measure, numbers[name])
		}
		out.rows = append(out.rows, []string{name, value})
	}
	return out, nil
}

// measureNumbers returns "" if there are no numbers.
func measureNumbers(measure string, list []float64) string {
	if len(list) == 0 {
		return ""
	}
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	switch measure {
	case "average":
		return plot.FormatNumber(sum / float64(len(list)))
	case "minimum":
		return plot.FormatNumber(slices.Min(list))
	case "maximum":
		return plot.FormatNumber(slices.Max(list))
	}
	return plot.FormatNumber(math.Round(sum*1e8) / 1e8)
}
