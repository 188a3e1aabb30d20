package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

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

// printList prints a list: as JSON with --json, otherwise as a table; see printTable.
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

func (a *cli) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
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
