package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"hob/platform/text/dateparse"
)

const (
	columnGap     = 2  // spaces between two columns
	maxDetail     = 24 // initial limit of a column other than the first
	minDetail     = 8  // a column that would get fewer characters is dropped
	minContent    = 20 // an ID that would leave fewer characters for the first column is dropped
	maxCellLines  = 3  // lines of a long text
	idColumnTitle = "ID"
)

// cellsOf returns the table cells of an item: strings, numbers, times and lists.
type cellsOf[T any] func(item T) []any

// calendarDay is a table cell with a day in the form 2026-03-10.
type calendarDay string

// tableCell is the text of a cell, and its color.
type tableCell struct{ text, color string }

// printTable prints items in columns. titles contains the column titles, separated by "|": first
// what the item is about, then the details in the order of their importance. Empty columns are left
// out. On a terminal the table fits the window; in a pipe it has one complete line per item.
func printTable[T any](a *cli, list []T, titles string, cellsOf cellsOf[T]) {
	heads := strings.Split(titles, "|")
	rows := make([][]tableCell, len(list))
	widths := make([]int, len(heads))
	now := time.Now().In(a.userZone())
	for j, item := range list {
		for i, v := range cellsOf(item) {
			c := tableCell{text: oneLine(formatCell(now, v))}
			if i > 0 {
				c.color = cellColor(heads[i], c.text, now, v)
			}
			rows[j] = append(rows[j], c)
			widths[i] = max(widths[i], ansi.StringWidth(c.text))
		}
	}
	header := make([]tableCell, len(heads))
	for i, title := range heads {
		if widths[i] > 0 {
			widths[i] = max(widths[i], ansi.StringWidth(title))
		}
		header[i] = tableCell{title, bold}
	}
	widths = fitColumns(heads, widths, a.windowWidth())
	for _, row := range append([][]tableCell{header}, rows...) {
		a.printRow(row, widths)
	}
}

// windowWidth returns the number of columns of the terminal, or 0 if the output is not a terminal.
func (a *cli) windowWidth() int {
	fd, ok := terminalFD(a.out)
	if !ok {
		return 0
	}
	w, _, err := term.GetSize(fd)
	if err != nil {
		return 0
	}
	return w
}

// wrapToWindow breaks text at spaces so that it fits the terminal, and indents each line. It never
// breaks a word, so that ids and paths can be copied.
func (a *cli) wrapToWindow(text, indent string) string {
	window := a.windowWidth() - len(indent)
	if window < minContent { // no terminal, or a very narrow one
		return indent + text
	}
	var b strings.Builder
	width := 0
	for i, word := range strings.Fields(text) {
		n := ansi.StringWidth(word)
		switch {
		case i == 0:
			b.WriteString(indent)
		case width+1+n > window:
			b.WriteString("\n" + indent)
			width = 0
		default:
			b.WriteString(" ")
			width++
		}
		b.WriteString(word)
		width += n
	}
	return b.String()
}

// wrapAfter returns a label, which is width columns wide, and text that fits the terminal. Continued
// lines start below the text.
func (a *cli) wrapAfter(label string, width int, text string) string {
	indent := strings.Repeat(" ", width)
	return label + strings.TrimPrefix(a.wrapToWindow(text, indent), indent)
}

// printWrapped prints lines of text so that they fit the terminal. Continued lines keep the indent.
func (a *cli) printWrapped(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if window := a.windowWidth(); window == 0 || ansi.StringWidth(line) <= window {
			fmt.Fprintln(a.out, line)
			continue
		}
		rest := strings.TrimLeft(line, " ")
		fmt.Fprintln(a.out, a.wrapToWindow(rest, line[:len(line)-len(rest)]))
	}
}

// fitColumns returns the widths of the columns for a window; 0 drops a column. The details are
// shortened and dropped, starting from the right, before the first column gets less than three
// fifths of the window. IDs stay complete, because commands need them. A window of 0 has no limit.
func fitColumns(heads []string, want []int, window int) []int {
	total := -columnGap
	for _, w := range want {
		if w > 0 {
			total += w + columnGap
		}
	}
	if window == 0 || total <= window {
		return want
	}
	widths := make([]int, len(want))
	rest, content := window, window*3/5
	id := slices.Index(heads, idColumnTitle)
	if id > 0 && want[id]+columnGap <= window-minContent {
		widths[id] = want[id]
		rest -= want[id] + columnGap
	}
	widths[0] = min(want[0], content, rest)
	rest -= widths[0]
	for i := 1; i < len(want); i++ {
		w := min(want[i], maxDetail, rest-columnGap)
		if i == id || w <= 0 || w < want[i] && w < minDetail {
			continue
		}
		widths[i] = w
		rest -= w + columnGap
	}
	for i, w := range widths { // the columns in use get the rest
		if w > 0 {
			more := min(rest, want[i]-w)
			widths[i] += more
			rest -= more
		}
	}
	return widths
}

// printRow prints one item. A text that is wider than its column continues on the next lines, so
// that lists do not hide it.
func (a *cli) printRow(row []tableCell, widths []int) {
	cells := make([][]string, len(row)) // lines per column
	height := 1
	for i, c := range row {
		if widths[i] == 0 || i > 0 && c.text == "" {
			continue
		}
		cells[i] = wrapCell(c.text, widths[i])
		height = max(height, len(cells[i]))
	}
	for n := range height {
		var b strings.Builder
		gap := 0
		for i, lines := range cells {
			if widths[i] == 0 {
				continue
			}
			width := 0
			if n < len(lines) && lines[n] != "" {
				b.WriteString(strings.Repeat(" ", gap))
				gap, width = 0, ansi.StringWidth(lines[n])
				if row[i].color != "" {
					lines[n] = a.colorize(a.out, row[i].color, lines[n])
				}
				b.WriteString(lines[n])
			}
			gap += widths[i] - width + columnGap
		}
		fmt.Fprintln(a.out, b.String())
	}
}

// wrapCell breaks the text of a cell into lines.
func wrapCell(text string, width int) []string {
	if ansi.StringWidth(text) <= width {
		return []string{text}
	}
	lines := strings.Split(ansi.Wrap(text, width, ""), "\n")
	if len(lines) > maxCellLines {
		rest := strings.Join(lines[maxCellLines-1:], " ")
		lines = append(lines[:maxCellLines-1], ansi.Truncate(rest, width, "…"))
	}
	return lines
}

// formatCell formats a table cell. Times are relative to now and in its time zone.
func formatCell(now time.Time, v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case time.Time:
		if x.Year() < 1971 {
			return ""
		}
		return dateparse.FormatRelative(x, now)
	case calendarDay:
		if t, err := time.ParseInLocation(time.DateOnly, string(x), now.Location()); err == nil {
			return dateparse.FormatDay(t, now)
		}
	case float64:
		return fmt.Sprintf("%g", x)
	case []string:
		return strings.Join(x, ", ")
	case []any:
		var parts []string
		for _, p := range x {
			parts = append(parts, fmt.Sprint(p))
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		if b, err := json.Marshal(x); err == nil {
			return string(b)
		}
	}
	return fmt.Sprint(v)
}

// cellColor returns the color of a detail: red for problems, amber for what waits, green for
// what is in order. IDs are dim, because people rarely read them.
func cellColor(head, text string, now time.Time, v any) string {
	switch text {
	case "failed", "dead", "broken", "denied", "deny", "error", "critical", "invalid":
		return red
	case "pending", "paused", "waiting", "held", "deferred", "ask", "high", "expired", "changed":
		return amber
	case "done", "approved", "allow", "active", "live", "ok":
		return green
	}
	if day, ok := v.(calendarDay); ok && string(day) != "" && string(day) < now.Format(time.DateOnly) {
		return red // overdue
	}
	if head == idColumnTitle {
		return dim
	}
	return ""
}
