package canvas

import (
	"encoding/csv"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"hob/platform/text/plot"
	"hob/platform/text/textnorm"
	"hob/tools"
)

const (
	maxRows    = 500
	maxColumns = 20
)

// grid is a table with headings.
type grid struct {
	head []string
	rows [][]string // each as long as head
}

// parseGrid parses CSV with a header row. Columns are separated by commas, semicolons or tabs.
func parseGrid(content string) (grid, error) {
	r := csv.NewReader(strings.NewReader(content))
	r.Comma = findSeparator(content)
	r.TrimLeadingSpace = r.Comma != '\t' // otherwise, empty values before a tab would be skipped
	r.LazyQuotes, r.FieldsPerRecord = true, -1
	var g grid
	for {
		row, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			if len(g.rows) == 0 {
				return g, tools.Errorf(tools.InvalidArguments, "the table has no rows; write CSV with a header row and at least one more")
			}
			return g, nil
		case err != nil:
			return g, tools.Errorf(tools.InvalidArguments, "the content is not CSV: %w; put values with commas in quotes", tools.CleanErr(err))
		case g.head == nil:
			g.head = row
		case len(row) > len(g.head):
			line, _ := r.FieldPos(0)
			return g, tools.Errorf(tools.InvalidArguments, "line %d has %d values, but the header row has %d; put values with commas in quotes", line, len(row), len(g.head))
		default:
			g.rows = append(g.rows, append(row, make([]string, len(g.head)-len(row))...))
		}
		if len(row) > maxColumns || len(g.rows) > maxRows {
			return g, tools.Errorf(tools.InvalidArguments, "the table is larger than %d columns and %d rows; show a part of it", maxColumns, maxRows)
		}
	}
}

// findSeparator returns the separator that occurs most often in the first line.
func findSeparator(content string) rune {
	first, _, _ := strings.Cut(content, "\n")
	best := ','
	for _, c := range ";\t" {
		if strings.Count(first, string(c)) > strings.Count(first, string(best)) {
			best = c
		}
	}
	return best
}

// formatCSV writes a table in the form that parseGrid reads.
func (g grid) formatCSV() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.WriteAll(append([][]string{g.head}, g.rows...)) // a builder accepts everything
	return strings.TrimSuffix(b.String(), "\n")
}

// findColumn returns the index of a column by its heading.
func (g grid) findColumn(name string) (int, error) {
	for i, h := range g.head {
		if textnorm.EqualFolded(h, name) {
			return i, nil
		}
	}
	var names []string
	for _, h := range g.head {
		names = append(names, strconv.Quote(h))
	}
	return 0, tools.Errorf(tools.InvalidArguments, "there is no column %q; the columns are %s", tools.Clean(textnorm.Ellipsize(name, 40)), tools.Clean(strings.Join(names, ", ")))
}

// parseNumber parses a value as a number. It accepts currency signs, a percent sign and commas that
// separate thousands.
func parseNumber(s string) (float64, bool) {
	s = strings.Trim(strings.TrimSpace(s), "€$£¥% ")
	if whole, _, _ := strings.Cut(s, "."); strings.Contains(whole, ",") {
		parts := strings.Split(whole, ",")
		if slices.ContainsFunc(parts[1:], func(p string) bool { return len(p) != 3 }) {
			return 0, false
		}
		s = strings.ReplaceAll(s, ",", "")
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsNaN(f) && math.Abs(f) <= 1e15
}

// chartData interprets a table as a chart: the first column contains the labels, and each other
// column is a series.
func (g grid) chartData() (plot.Chart, error) {
	var c plot.Chart
	switch n := len(g.head) - 1; {
	case n < 1:
		return c, tools.Errorf(tools.InvalidArguments, "a chart needs a column with labels and at least one column with numbers")
	case n > plot.MaxSeries || len(g.rows) > plot.MaxLabels:
		return c, tools.Errorf(tools.InvalidArguments, "a chart can have at most %d columns of numbers and %d rows; show a part, or use a table", plot.MaxSeries, plot.MaxLabels)
	}
	for i, name := range g.head[1:] {
		s := plot.Series{Name: name}
		for n, row := range g.rows {
			v, ok := parseNumber(row[i+1])
			switch {
			case strings.TrimSpace(row[i+1]) == "":
				v = math.NaN()
			case !ok:
				return c, tools.Errorf(tools.InvalidArguments, "row %d: %q is not a number; a chart needs numbers in all columns except the first", n+1, tools.Clean(textnorm.Ellipsize(row[i+1], 40)))
			}
			s.Values = append(s.Values, v)
		}
		c.Series = append(c.Series, s)
	}
	for _, row := range g.rows {
		c.Labels = append(c.Labels, row[0])
	}
	return c, nil
}
