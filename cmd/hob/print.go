package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/text/visible"
)

// formatTime formats t in zone, or returns "" if t is zero.
func formatTime(zone *time.Location, t time.Time) string {
	if t.Year() < 1971 {
		return ""
	}
	return t.In(zone).Format("2006-01-02 15:04")
}

// userZone returns the user's time zone. It works even with an invalid configuration, so that lists
// can be printed.
func (a *cli) userZone() *time.Location {
	name := ""
	if p, err := system.DefaultPaths(); err == nil {
		if c, err := config.Load(p.ConfigFile()); err == nil {
			name = c.Agent.Timezone
		}
	}
	loc, err := system.Zone(name)
	if err != nil {
		return time.UTC
	}
	return loc
}

// cellsOf returns the table cells of an item: strings, numbers, times and lists.
type cellsOf[T any] func(item T) []any

// printFetched fetches a list and prints it; see printList.
func printFetched[T any](ctx context.Context, a *cli, fetch func(c *client) ([]T, error), empty, titles string, cells cellsOf[T]) error {
	return a.withClient(ctx, func(c *client) error {
		list, err := fetch(c)
		if err != nil {
			return err
		}
		return printList(a, list, empty, titles, cells)
	})
}

// printList prints a list: as JSON with --json, otherwise as a table. titles contains the column
// titles, separated by "|".
func printList[T any](a *cli, list []T, empty, titles string, cells cellsOf[T]) error {
	switch {
	case a.asJSON && list == nil:
		return a.printJSON([]T{})
	case a.asJSON:
		return a.printJSON(list)
	case len(list) == 0:
		fmt.Fprintln(a.out, empty)
		return nil
	}
	printTable(a, list, titles, cells)
	return nil
}

// formatCell formats a table cell. Times are shown in zone.
func formatCell(zone *time.Location, v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case time.Time:
		return formatTime(zone, x)
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

func (a *cli) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printTable prints items in columns; see printList. On a terminal it truncates the last column at
// the edge of the window; in a pipe it truncates nothing.
func printTable[T any](a *cli, list []T, titles string, cellsOf cellsOf[T]) {
	head := strings.Split(titles, "|")
	cells := make([][]string, len(list))
	widths := make([]int, len(head))
	for i, title := range head {
		widths[i] = utf8.RuneCountInString(title)
	}
	zone := a.userZone()
	for j, item := range list {
		for i, v := range cellsOf(item) {
			s := oneLine(formatCell(zone, v))
			cells[j] = append(cells[j], s)
			widths[i] = max(widths[i], utf8.RuneCountInString(s))
		}
	}
	width := 0
	if fd, ok := terminalFD(a.out); ok {
		if w, _, err := term.GetSize(fd); err == nil {
			width = w
		}
	}
	line := func(cells []string) string {
		var b strings.Builder
		for i, s := range cells {
			b.WriteString(s)
			if i < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(s)+2))
			}
		}
		return clipLine(strings.TrimRight(b.String(), " "), width)
	}
	fmt.Fprintln(a.out, a.colorize(a.out, bold, line(head)))
	for _, c := range cells {
		fmt.Fprintln(a.out, line(c))
	}
}

// clipLine truncates a line to the terminal width; 0 means no limit.
func clipLine(s string, width int) string {
	if width <= 1 || utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// oneLine makes s suitable for a table and safe for a terminal, because untrusted text may contain
// control sequences.
func oneLine(s string) string { return sanitizePrintable(strings.Join(strings.Fields(s), " ")) }

// sanitizePrintable removes control sequences and invisible characters, except line breaks and
// tabs.
func sanitizePrintable(s string) string { return visible.Text(s) }
