package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
)

func (a *cli) memoryStatsCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "stats", Short: "Show memory statistics", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				n, err := cl.MemoryStats(c.Context())
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(n)
				}
				a.printStats(n)
				return nil
			})
		}),
	})
}

func (a *cli) printStats(n api.MemoryStats) {
	kinds, realms := map[string]int{}, map[string]int{}
	for _, c := range n.Counts {
		kinds[c.Kind] += c.Rows
		realms[c.Realm] += c.Rows
	}
	fmt.Fprintf(a.out, "%s\n", a.colorize(a.out, bold, fmt.Sprintf("%s rows", groupThousands(n.Rows))))
	a.printBars(kinds, byKind, kindName)
	if len(realms) > 1 {
		fmt.Fprintf(a.out, "\n%s\n", a.colorize(a.out, bold, "Namespaces"))
		a.printBars(realms, strings.Compare, func(r string) string {
			if r == "" {
				return "(main)"
			}
			return r
		})
	}
	if j := n.Junk; j.Facts > 0 {
		fmt.Fprintf(a.out, "\n%s\n", a.colorize(a.out, bold, fmt.Sprintf("Junk: %.1f %% of %s facts", 100*j.Share, groupThousands(j.Facts))))
		a.printFields([][2]string{{"unused", groupThousands(j.Unused) + " not needed for 30 days"}, {"duplicates", groupThousands(j.Duplicates)}, {"questions", groupThousands(j.Questions)}, {"fragments", groupThousands(j.Fragments)}})
	}
	fmt.Fprintf(a.out, "\n%s\n", a.colorize(a.out, bold, "Derived data"))
	a.printFields([][2]string{{"documents", groupThousands(n.Documents)}, {"entities", groupThousands(n.Entities)}, {"relations", groupThousands(n.Relations)}})
	if n.Behind > 0 {
		a.printField("waiting", groupThousands(n.Behind)+" messages not indexed yet")
	}
	for _, d := range n.Derived {
		a.printField(d.Name, derivedLine(d.State, d.Cause, d.Rows, d.Behind, d.Bytes))
		if len(d.Languages) > 0 {
			a.printBars(d.Languages, strings.Compare, func(s string) string { return s })
		}
	}
	fmt.Fprintf(a.out, "\n%s\n", a.colorize(a.out, bold, "On disk"))
	for _, name := range slices.SortedFunc(maps.Keys(n.OnDisk), func(x, y string) int { return cmp.Or(cmp.Compare(n.OnDisk[y], n.OnDisk[x]), cmp.Compare(x, y)) }) {
		a.printField(name, bytesText(n.OnDisk[name]))
	}
}

func derivedLine(state, cause string, rows, behind int, bytes int64) string {
	s := state
	if cause != "" {
		s += " (" + cause + ")"
	}
	s += ", " + groupThousands(rows) + " rows"
	if behind > 0 {
		s += ", " + groupThousands(behind) + " behind"
	}
	if bytes > 0 {
		s += ", " + bytesText(bytes)
	}
	return s
}

// kindName describes a kind of row.
func kindName(k string) string {
	names := map[string]string{"fact": "facts", "retired": "corrected facts", "turn": "messages", "chunk": "parts of documents", "note": "notes", "task": "tasks", "reminder": "reminders", "expense": "expenses", "habit": "habits"}
	if n := names[k]; n != "" {
		return n
	}
	return k
}

// printBars prints numbers as bars.
func (a *cli) printBars(values map[string]int, order func(a, b string) int, name func(string) string) {
	most, width := 0, 0
	for k, v := range values {
		most, width = max(most, v), max(width, len([]rune(name(k))))
	}
	for _, k := range slices.SortedFunc(maps.Keys(values), order) {
		n := []rune(oneLine(name(k)))
		fmt.Fprintf(a.out, "  %s%s %9s  %s\n", string(n), strings.Repeat(" ", max(0, width-len(n))), groupThousands(values[k]), a.colorize(a.out, green, relativeBar(float64(values[k]), float64(most), 24)))
	}
}

// groupThousands groups the digits of a number.
func groupThousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// bytesText formats a size for display.
func bytesText(n int64) string {
	f, unit := float64(n), "B"
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		if f < 1000 {
			break
		}
		f, unit = f/1000, u
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}

func (a *cli) memoryConsolidateCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "consolidate", Short: "Merge duplicate facts and close outdated ones", Args: cobra.NoArgs, SuggestFor: []string{"tidy", "clean", "dedupe"},
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				r, err := cl.MemoryConsolidate(c.Context())
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(r)
				}
				if r.Event == "" {
					fmt.Fprintln(a.out, "The memory is already tidy.")
					return nil
				}
				fmt.Fprintf(a.out, "%s, %s, %s. Undo it with: hob undo %s\n", countText(r.Merged, "duplicate merged", "duplicates merged"), countText(r.Closed, "outdated fact closed", "outdated facts closed"),
					countText(r.Expired, "past event retired", "past events retired"), r.Event)
				return nil
			})
		}),
	})
}

func (a *cli) memoryFlushCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "flush [SESSION]", Short: "Save the facts of recent messages now", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeSessions,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				r, err := cl.MemoryFlush(c.Context(), firstOr(args, ""))
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(r)
				}
				for _, f := range r.Facts {
					fmt.Fprintf(a.out, "Saved: %s\n", oneLine(f.Text))
				}
				if len(r.Facts) == 0 {
					fmt.Fprintln(a.out, "Nothing new to save.")
				}
				if r.Left > 0 {
					fmt.Fprintf(a.out, "The model did not answer for %s; Hob tries again later.\n", countText(r.Left, "message", "messages"))
				}
				return nil
			})
		}),
	})
}

func (a *cli) memoryReindexCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "reindex", Short: "Rebuild the search index and the vectors", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				show, end := a.stepPrinter()
				var last api.MemoryProgress
				err := cl.MemoryReindex(c.Context(), func(p api.MemoryProgress) {
					last = p
					show(p)
				})
				end()
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(last)
				}
				fmt.Fprintf(a.out, "Rebuilt from %s rows.\n", groupThousands(int(last.Done)))
				return nil
			})
		}),
	})
}

// stepPrinter returns two functions. show displays the progress of a long operation on a terminal,
// and end removes the display.
func (a *cli) stepPrinter() (show func(api.MemoryProgress), end func()) {
	if _, tty := terminalFD(a.err); !tty || a.asJSON {
		return func(api.MemoryProgress) {}, func() {}
	}
	shown := false
	show = func(p api.MemoryProgress) {
		shown = true
		fmt.Fprint(a.err, controlSequence(a.err, clearLine)+a.stepLine(p))
	}
	return show, func() {
		if shown {
			fmt.Fprint(a.err, controlSequence(a.err, clearLine))
		}
	}
}

func (a *cli) stepLine(p api.MemoryProgress) string {
	s := fmt.Sprintf("%s %s", oneLine(p.Doing), groupThousands(int(p.Done)))
	if p.Total > 0 {
		part := float64(p.Done) / float64(p.Total)
		s = fmt.Sprintf("%-24s %3.0f %%  %s", relativeBar(float64(p.Done), float64(p.Total), 24), 100*min(part, 1), s+" of "+groupThousands(int(p.Total)))
	}
	return a.colorize(a.err, dim, clipLine(s, 100))
}
