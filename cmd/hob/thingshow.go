package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/platform/text/dateparse"
)

// thingShow returns the command that shows one watcher, schedule or reminder, with its next
// times.
func (a *cli) thingShow(noun, path string) *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "show " + strings.ToUpper(noun) + "...", Short: "Show one " + noun + " in full", Args: cobra.MinimumNArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				var raw []json.RawMessage
				if err := cl.getJSON(c.Context(), path, nil, &raw); err != nil {
					return err
				}
				one, err := pickThing(raw, noun, joinWords(args))
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(one)
				}
				var r row
				if err := json.Unmarshal(one, &r); err != nil {
					return fmt.Errorf("decode the %s: %w; use --json", noun, err)
				}
				a.showThing(r)
				return nil
			})
		}),
	})
}

// showThing prints the known fields line by line.
func (a *cli) showThing(r row) {
	zone := a.userZone()
	says, does := "does", r.textField("action")
	if r.textField("mode") == "remind" {
		says = "says"
	}
	lines := [][2]string{
		{"id", r.textField("id")},
		{"kind", r.textField("kind")},
		{"state", r.textField("state")},
		{"when", r.textField("when")},
		{says, does},
		{"next", r.nextTimesText(zone, time.Now().In(zone))},
		{"last", localTime(zone, r.textField("fired_at"))},
		{"fired", r.textField("fired")},
		{"missed", missedWords(r.textField("missed"), r.textField("when") != "")},
		{"reports to", r.textField("report")},
		{"problem", r.textField("last_error")},
	}
	fmt.Fprintln(a.out, oneLine(r.textField("description", "title")))
	for _, l := range lines {
		if l[1] != "" {
			fmt.Fprintf(a.out, "  %-11s %s\n", l[0], oneLine(l[1]))
		}
	}
}

// missedWords describes the policy for runs missed while Hob is off.
func missedWords(policy string, timed bool) string {
	if !timed {
		return ""
	}
	return map[string]string{
		"run_once": "one late run for all of them", "skip": "none is run later; Hob notifies you", "run_all": "each one is run later",
	}[policy]
}

// nextTimesText describes the next times.
func (r row) nextTimesText(zone *time.Location, now time.Time) string {
	list, _ := r["coming"].([]any)
	var out []string
	for _, v := range list {
		s, _ := v.(string)
		if t, err := time.Parse(time.RFC3339, s); err == nil {
			out = append(out, dateparse.Format(t.In(zone), now))
		}
	}
	return strings.Join(out, ", ")
}

// comingColumn is the column of the next three times, in the owner's zone.
func comingColumn(zone *time.Location) column {
	now := time.Now().In(zone)
	return column{"NEXT", func(r row) string { return r.nextTimesText(zone, now) }}
}

// pickThing finds an item by its id, the beginning of its id, or words.
func pickThing(list []json.RawMessage, noun, want string) (json.RawMessage, error) {
	type thing struct{ ID, Title, Description string }
	things := make([]thing, len(list))
	for i, raw := range list {
		if err := json.Unmarshal(raw, &things[i]); err != nil {
			return nil, fmt.Errorf("decode the list of %ss: %w", noun, err)
		}
	}
	for _, match := range []func(thing) bool{
		func(t thing) bool { return t.ID == want },
		func(t thing) bool { return len(want) >= 4 && strings.HasPrefix(t.ID, strings.ToLower(want)) },
		func(t thing) bool {
			all := strings.ToLower(t.Title + " " + t.Description)
			for _, w := range strings.Fields(strings.ToLower(want)) {
				if !strings.Contains(all, w) {
					return false
				}
			}
			return true
		},
	} {
		var found []int
		for i, t := range things {
			if match(t) {
				found = append(found, i)
			}
		}
		switch {
		case len(found) == 1:
			return list[found[0]], nil
		case len(found) > 1:
			var b strings.Builder
			for _, i := range found[:min(6, len(found))] {
				fmt.Fprintf(&b, "\n  %s  %s", things[i].ID, oneLine(things[i].Description))
			}
			return nil, &failure{code: exitFailed, cause: fmt.Sprintf("several %ss match %q:%s", noun, want, b.String()), remedy: "say which one by its id"}
		}
	}
	return nil, &failure{code: exitFailed, cause: fmt.Sprintf("no %s matches %q", noun, want), remedy: "see: hob " + noun + " list"}
}
