package database

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/textnorm"
)

// Limits of a result.
const (
	maxCell    = 2_000 // characters of one value
	maxColumns = 200
	maxTables  = 500
)

// table is a bounded result. Zero limits mean maxTables rows and no size limit.
type table struct {
	Columns []string    `json:"columns"`
	Rows    [][]*string `json:"rows"` // nil means NULL
	// Cut is true if more rows exist than Rows contains.
	Cut bool `json:"cut,omitempty"`
	// Note is Hob's own remark below the rows.
	Note string `json:"-"`

	maxRows, maxBytes, bytes int
}

// setColumns sets the column names.
func (t *table) setColumns(names []string) {
	if len(names) > maxColumns {
		names, t.Note = names[:maxColumns], fmt.Sprintf("Only the first %d of %d columns are shown.", maxColumns, len(names))
	}
	t.Columns = nil
	for _, n := range names {
		t.Columns = append(t.Columns, cleanCell(n))
	}
}

// addRow appends a row and reports whether another row fits.
func (t *table) addRow(row []*string) bool {
	limit := t.maxRows
	if limit <= 0 {
		limit = maxTables
	}
	if len(t.Rows) >= limit {
		t.Cut = true
		return false
	}
	var out []*string
	size := 0
	for _, v := range row[:min(len(row), maxColumns)] {
		if v != nil {
			s := cleanCell(*v)
			v, size = &s, size+len(s)
		}
		out = append(out, v)
	}
	if t.maxBytes > 0 && t.bytes+size > t.maxBytes {
		t.Cut = true
		return false
	}
	t.Rows, t.bytes = append(t.Rows, out), t.bytes+size
	return true
}

// cleanCell returns a value on one line, without control characters and truncated to maxCell.
func cleanCell(s string) string {
	if len(s) > 4*maxCell {
		s = s[:4*maxCell]
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.IsControl(r):
			return '\uFFFD'
		}
		return r
	}, s)
	return textnorm.Ellipsize(s, maxCell)
}

// String renders the table as Markdown rows.
func (t table) String() string {
	var b strings.Builder
	writeRow := func(cells []string) {
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	var head, rule []string
	for _, c := range t.Columns {
		head, rule = append(head, escapeCell(c)), append(rule, "---")
	}
	writeRow(head)
	writeRow(rule)
	for _, r := range t.Rows {
		var cells []string
		for _, v := range r {
			if v == nil {
				cells = append(cells, "NULL")
				continue
			}
			cells = append(cells, escapeCell(*v))
		}
		writeRow(cells)
	}
	switch {
	case t.Cut:
		b.WriteString("Only the first " + strconv.Itoa(len(t.Rows)) + " rows are shown. Narrow the query, or use LIMIT and OFFSET.\n")
	case len(t.Rows) == 1:
		b.WriteString("1 row.\n")
	default:
		b.WriteString(strconv.Itoa(len(t.Rows)) + " rows.\n")
	}
	if t.Note != "" {
		b.WriteString(t.Note + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func escapeCell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
