package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
)

// thingShow returns the command that shows one watcher, schedule or reminder with its next times.
func (a *cli) thingShow(noun string, list func(*client, context.Context, api.Query) ([]api.Watcher, error)) *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "show " + strings.ToUpper(noun) + "...", Short: "Show one " + noun + " in full", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				all, err := list(cl, c.Context(), api.Query{})
				if err != nil {
					return err
				}
				one, err := pickThing(all, noun, joinWords(args), watcherName)
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(one)
				}
				a.showThing(one)
				return nil
			})
		}),
	})
}

// showThing prints the known fields, one per line.
func (a *cli) showThing(w api.Watcher) {
	zone := a.userZone()
	label := "does"
	if w.Mode == "remind" {
		label = "says"
	}
	lines := [][2]string{
		{"id", w.ID},
		{"kind", w.Kind},
		{"state", w.State},
		{"when", w.When},
		{label, w.Action},
		{"priority", w.Priority},
		{"next", nextTimesText(w.Coming, zone, time.Now().In(zone))},
		{"last", formatTime(zone, w.FiredAt)},
		{"fired", strconv.Itoa(w.Fired)},
		{"missed", missedWords(w.Missed, w.When != "")},
		{"reports to", w.Report},
		{"problem", w.LastError},
	}
	fmt.Fprintln(a.out, oneLine(cmp.Or(w.Describe, w.Title)))
	for _, l := range lines {
		if l[1] != "" {
			fmt.Fprintf(a.out, "  %-11s %s\n", l[0], oneLine(l[1]))
		}
	}
}

// missedWords describes the policy for runs missed while Hob was not running.
func missedWords(policy string, timed bool) string {
	if !timed {
		return ""
	}
	return map[string]string{
		"run_once": "one late run for all missed runs", "skip": "missed runs are skipped; Hob notifies you", "run_all": "one late run for each missed run",
	}[policy]
}

// nextTimesText formats the next times.
func nextTimesText(times []time.Time, zone *time.Location, now time.Time) string {
	var out []string
	for _, t := range times {
		out = append(out, dateparse.Format(t.In(zone), now))
	}
	return strings.Join(out, ", ")
}

// dueText returns the due time of a task, an instant or a day, as a table cell.
func dueText(due string) any {
	if t, err := time.Parse(time.RFC3339, due); err == nil {
		return t
	}
	return calendarDay(due)
}

// compareDue orders tasks by their due times. Tasks without one are last.
func compareDue(x, y api.Task) int {
	if (x.Due == "") != (y.Due == "") {
		return cmp.Compare(y.Due, x.Due)
	}
	return parseDue(x.Due).Compare(parseDue(y.Due))
}

// parseDue returns the due time of a task; a day counts from its beginning.
func parseDue(due string) time.Time {
	if t, err := time.Parse(time.RFC3339, due); err == nil {
		return t
	}
	t, _ := time.Parse(time.DateOnly, due)
	return t
}

// sortedByNext orders timed items by their next times. Items without one, such as paused ones, are
// last.
func sortedByNext(list []api.Watcher, err error) ([]api.Watcher, error) {
	sorting.StableByFunc(list, func(x, y api.Watcher) int {
		if x.NextAt.IsZero() != y.NextAt.IsZero() {
			return y.NextAt.Compare(x.NextAt)
		}
		return x.NextAt.Compare(y.NextAt)
	})
	return list, err
}

// pickThing finds an item by its id, the beginning of its id, or words in its title.
func pickThing[T any](list []T, noun, want string, nameOf func(T) (id, text string)) (T, error) {
	for _, match := range []func(id, text string) bool{
		func(id, _ string) bool { return id == want },
		func(id, _ string) bool { return len(want) >= 4 && strings.HasPrefix(id, strings.ToLower(want)) },
		func(_, text string) bool {
			text = strings.ToLower(text)
			for _, w := range strings.Fields(strings.ToLower(want)) {
				if !strings.Contains(text, w) {
					return false
				}
			}
			return true
		},
	} {
		var found []T
		for _, t := range list {
			if match(nameOf(t)) {
				found = append(found, t)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			var b strings.Builder
			for _, t := range found[:min(6, len(found))] {
				id, text := nameOf(t)
				fmt.Fprintf(&b, "\n  %s  %s", id, oneLine(text))
			}
			return *new(T), &failure{code: exitFailed, cause: fmt.Sprintf("several %ss match %q:%s", noun, want, b.String()), remedy: "name one by its ID"}
		}
	}
	return *new(T), &failure{code: exitFailed, cause: fmt.Sprintf("no %s matches %q", noun, want), remedy: "see: hob " + noun + " list"}
}

// watcherName returns the ID and the words of a watcher, schedule or reminder.
func watcherName(w api.Watcher) (id, text string) {
	if strings.Contains(w.Describe, w.Title) {
		return w.ID, w.Describe
	}
	return w.ID, w.Title + " " + w.Describe
}
