package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/platform/provenance"
)

// describeOrigin describes the origin of text.
func describeOrigin(o provenance.Origin) string {
	s := o.Kind
	if o.Label != "" {
		s += " " + o.Label
	}
	if o.Via != "" {
		s += " (" + o.Via + ")"
	}
	if len(o.Marks) > 0 {
		s += ", which looks like an attack: " + strings.Join(o.Marks, ", ")
	}
	return s
}

func (a *cli) memoryShowCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "show ID|NAME", Short: "Show one item with its history and source", Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.completeMemory,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				it, err := cl.MemoryItem(c.Context(), joinWords(args))
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(it)
				}
				if it.Entity != nil {
					a.showEntity(it)
					return nil
				}
				a.showRow(it)
				return nil
			})
		}),
	})
}

func (a *cli) showRow(it api.MemoryItem) {
	zone := a.userZone()
	if it.Title != "" && !strings.HasPrefix(it.Text, it.Title) {
		fmt.Fprintln(a.out, a.colorize(a.out, bold, oneLine(it.Title)))
	}
	fmt.Fprintf(a.out, "%s\n\n", sanitizePrintable(strings.TrimSpace(it.Text)))
	a.printFields([][2]string{
		{"id", it.ID},
		{"kind", a.kindOf(it)},
		{"since", formatTime(zone, it.At)},
		{"said by", it.Speaker},
		{"valid from", localDay(zone, it.ValidFrom)},
		{"valid until", localDay(zone, it.ValidUntil)},
		{"based on", trustOf(it.Provenance)},
		{"source", it.Source},
		{"event", it.Event},
		{"part of", it.Group},
		{"namespace", it.Realm},
		{"corrected", formatTime(zone, it.RetiredAt)},
		{"pinned", ifTrue(it.Pinned, "yes: tidying does not change it")},
	})
	for i, o := range it.Origins {
		a.printField(ifFirst(i, "origin"), describeOrigin(o))
	}
	for i, e := range it.About {
		a.printField(ifFirst(i, "about"), e.Name+" ("+e.Kind+")")
	}
	if it.ReplacedBy != nil {
		fmt.Fprintf(a.out, "\n%s\n  %s\n", a.colorize(a.out, bold, "Replaced by"), a.printPastFact(zone, *it.ReplacedBy))
	}
	if len(it.History) > 0 {
		fmt.Fprintf(a.out, "\n%s\n", a.colorize(a.out, bold, "Previous values"))
		for _, f := range it.History {
			fmt.Fprintf(a.out, "  %s\n", a.printPastFact(zone, f))
		}
	}
	if len(it.Near) > 0 {
		fmt.Fprintf(a.out, "\n%s\n", a.colorize(a.out, bold, "Nearby"))
		a.printNearby(it.Near)
	}
	if it.Event != "" {
		fmt.Fprintf(a.out, "\n%s\n", a.colorize(a.out, dim, "How it was created: hob why "+oneLine(it.Event)))
	}
}

// kindOf describes the kind of a row.
func (a *cli) kindOf(it api.MemoryItem) string {
	switch {
	case it.Kind == "retired":
		return "a fact that was corrected"
	case it.FactKind != "":
		return it.FactKind
	}
	return it.Kind
}

// printPastFact returns one line about a fact from another time.
func (a *cli) printPastFact(zone *time.Location, f api.Fact) string {
	span := localDay(zone, f.CreatedAt)
	if end := localDay(zone, f.RetiredAt); end != "" {
		span += " to " + end
	}
	return a.colorize(a.out, dim, f.ID+"  "+span) + "  " + oneLine(f.Text)
}

func (a *cli) printNearby(list []api.MemoryRow) {
	for _, n := range list {
		who := n.Speaker
		if who == "" {
			who = n.Kind
		}
		fmt.Fprintf(a.out, "  %s  %s\n", a.colorize(a.out, dim, n.ID+"  "+oneLine(who)), clipLine(oneLine(n.Text), 200))
	}
}

func (a *cli) showEntity(it api.MemoryItem) {
	e := it.Entity
	fmt.Fprintf(a.out, "%s %s\n\n", a.colorize(a.out, bold, oneLine(e.Name)), a.colorize(a.out, dim, "("+oneLine(e.Kind)+")"))
	a.printFields([][2]string{
		{"id", e.ID},
		{"also", strings.Join(e.Aliases, ", ")},
		{"since", formatTime(a.userZone(), e.CreatedAt)},
		{"based on", trustOf(e.Provenance)},
		{"source", e.Source},
		{"namespace", e.Realm},
	})
	if len(it.Relations) > 0 {
		fmt.Fprintf(a.out, "\n%s\n", a.colorize(a.out, bold, "Relations"))
		var said []string // several facts may have the same text, and a past fact may be valid again
		for _, r := range it.Relations {
			if line := relationLine(r, e.ID); !slices.Contains(said, line) && !slices.Contains(said, strings.TrimSuffix(line, " (no longer)")) {
				said = append(said, line)
				fmt.Fprintf(a.out, "  %s\n", line)
			}
		}
	}
	if len(it.Near) > 0 {
		fmt.Fprintf(a.out, "\n%s\n", a.colorize(a.out, bold, "Related items"))
		a.printNearby(it.Near)
	}
}

// printFields prints the fields that are not empty, one per line.
func (a *cli) printFields(list [][2]string) {
	for _, f := range list {
		a.printField(f[0], f[1])
	}
}

func (a *cli) printField(name, value string) {
	if value != "" {
		fmt.Fprintf(a.out, "%-12s %s\n", name, oneLine(value))
	}
}

func ifTrue(on bool, text string) string {
	if on {
		return text
	}
	return ""
}

func ifFirst(i int, name string) string {
	if i == 0 {
		return name
	}
	return ""
}

// trustOf describes a provenance for display.
func trustOf(p provenance.Source) string {
	words := map[provenance.Source]string{"owner": "your own words", "hob": "conclusions of Hob", "tool": "results of Hob's tools", "outside": "untrusted text"}
	if w := words[p]; w != "" {
		return w
	}
	return string(p)
}

// localDay formats the day of t.
func localDay(zone *time.Location, t time.Time) string {
	day, _, _ := strings.Cut(formatTime(zone, t), " ")
	return day
}

// byKind orders kinds of rows, most common for users first.
func byKind(a, b string) int {
	order := []string{"fact", "retired", "turn", "chunk", "note", "task", "reminder", "expense", "habit"}
	x, y := slices.Index(order, a), slices.Index(order, b)
	switch {
	case x < 0 && y < 0:
		return strings.Compare(a, b)
	case x < 0:
		return 1
	case y < 0:
		return -1
	}
	return x - y
}
