package main

import (
	"bytes"
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

// row is one object in a list.
type row map[string]any

// column is one column in a table.
type column struct {
	title string
	cell  func(row) string
}

// textColumn returns a column with the first field that is set.
func textColumn(title string, names ...string) column {
	return column{title, func(r row) string { return r.textField(names...) }}
}

func (r row) textField(names ...string) string {
	for _, n := range names {
		switch v := r[n].(type) {
		case nil:
		case string:
			if v != "" {
				return v
			}
		case float64:
			return fmt.Sprintf("%g", v)
		case []any:
			var parts []string
			for _, x := range v {
				parts = append(parts, fmt.Sprint(x))
			}
			return strings.Join(parts, ", ")
		case map[string]any:
			b, _ := json.Marshal(v) // cannot fail: v was decoded from JSON
			return string(b)
		default:
			return fmt.Sprint(v)
		}
	}
	return ""
}

// timeColumn returns a column with a time in the user's time zone.
func timeColumn(zone *time.Location, title string, names ...string) column {
	return column{title, func(r row) string { return localTime(zone, r.textField(names...)) }}
}

// localTime formats an RFC 3339 time in the zone. It returns other text unchanged.
func localTime(zone *time.Location, s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return s
	}
	return formatTime(zone, t)
}

// formatTime formats a time in the zone, or returns "" if the time is zero.
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

// fetchAndPrintList fetches a list and prints it: as JSON with --json, otherwise as a table.
func (a *cli) fetchAndPrintList(ctx context.Context, fetch func(c *client) (any, error), empty string, columns ...column) error {
	return a.withClient(ctx, func(c *client) error {
		list, err := fetch(c)
		if err != nil {
			return err
		}
		raw, err := encodeJSON(list)
		if err != nil {
			return err
		}
		return a.printList(raw, empty, columns...)
	})
}

// encodeJSON encodes a value in the same way as the server, without escaping <, > and &.
func encodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the list: %w", err)
	}
	return b.Bytes(), nil
}

// printList prints a JSON array of objects.
func (a *cli) printList(raw json.RawMessage, empty string, columns ...column) error {
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) || len(raw) == 0 {
		raw = json.RawMessage("[]")
	}
	if a.asJSON {
		return a.printJSON(raw)
	}
	var rows []row
	if err := json.Unmarshal(raw, &rows); err != nil {
		return fmt.Errorf("decode the list: %w; use --json", err)
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.out, empty)
		return nil
	}
	a.printTable(rows, columns)
	return nil
}

func (a *cli) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printTable prints rows in columns. On a terminal it truncates the last column at the window's
// edge; in a pipe it truncates nothing.
func (a *cli) printTable(rows []row, columns []column) {
	cells := make([][]string, len(rows))
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = utf8.RuneCountInString(c.title)
		for j, r := range rows {
			s := oneLine(c.cell(r))
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
	var head []string
	for _, c := range columns {
		head = append(head, c.title)
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
