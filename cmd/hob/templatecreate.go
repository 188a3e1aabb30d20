package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/text/dateparse"
	"hob/templates"
	"hob/watchers"
)

// createTemplate creates a template from the parts of the current state that templates support.
func (a *cli) createTemplate(ctx context.Context, name, about string) error {
	if about == "" {
		about = "How " + name + " was set up."
	}
	t := &templates.Template{Name: name, Description: about, Version: "0.1.0"}
	if err := templates.CheckName(name); err != nil {
		return templateError(err)
	}
	return a.withTemplateLock(ctx, func(p system.Paths, _ *templates.Installation) error {
		text, err := os.ReadFile(p.ConfigFile())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if t.Config, err = templates.Settings(text); err != nil {
			return err
		}
		soul, err := os.ReadFile(p.SoulFile())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		t.Soul = string(soul)
		left, err := a.gatherRunning(ctx, t)
		if err != nil {
			return err
		}
		dir, err := templateShelf(p).Create(t, system.WriteFile)
		if err != nil {
			return templateError(err)
		}
		fmt.Fprintf(a.out, "Created %s: %s, %s, %s, %s", dir, countText(len(t.Config), "setting", "settings"), countText(len(t.Schedules), "schedule or reminder", "schedules and reminders"), countText(len(t.Watchers), "watcher", "watchers"), countText(len(t.Goals), "goal", "goals"))
		if t.Soul != "" {
			fmt.Fprint(a.out, ", and your SOUL.md")
		}
		fmt.Fprintln(a.out, ". Edit the files, then apply the template with: hob template use "+name)
		for _, what := range slices.Sorted(maps.Keys(left)) {
			fmt.Fprintf(a.out, "%d omitted: %s.\n", left[what], what)
		}
		return nil
	})
}

// Reasons why an item is omitted from a template.
const (
	isPaused = "paused, but a template creates active items"
	isBroken = "stopped because of an error"
	isOnce   = "one-time, in another time zone, or at times a template cannot express"
	isLong   = "the text is too long"
)

// stoppedReason returns why an inactive item is omitted, or "" for an active item.
func stoppedReason(state string) string {
	switch state {
	case "active", "waiting":
		return ""
	case "paused":
		return isPaused
	}
	return isBroken
}

// gatherRunning collects the active items. It counts the omitted items by reason.
func (a *cli) gatherRunning(ctx context.Context, t *templates.Template) (left map[string]int, err error) {
	var timed, rest []api.Watcher
	var aims []api.GoalDetails
	err = a.withClient(ctx, func(c *client) (err error) {
		if timed, err = c.Schedules(ctx, api.Query{}); err != nil {
			return err
		}
		reminders, err := c.Reminders(ctx, api.Query{})
		if err != nil {
			return err
		}
		timed = append(timed, reminders...)
		if aims, err = c.Goals(ctx, api.Query{}); err != nil {
			return err
		}
		rest, err = c.Watchers(ctx, api.Query{})
		return err
	})
	left = map[string]int{}
	for _, s := range timed {
		every, ok := everyOf(s, time.Now())
		one := templates.Schedule{Every: every, Missed: s.Missed, Do: s.Action}
		if s.Mode == "remind" {
			one.Do, one.Say = "", s.Action
		}
		switch why := stoppedReason(s.State); {
		case why != "":
			left[why]++
		case !ok:
			left[isOnce]++
		default:
			t.Schedules = append(t.Schedules, one)
		}
	}
	for _, g := range aims {
		switch why := stoppedReason(g.Status); {
		case why != "":
			left[why]++
		case !templates.Fits(g.Description) || !templates.Fits(g.Success):
			left[isLong]++
		default:
			t.Goals = append(t.Goals, templates.Goal{
				Description: g.Description, Priority: g.Priority, Success: g.Success, CheckEvery: (time.Duration(g.Every) * time.Second).String(),
			})
		}
	}
	for _, w := range rest {
		if why := stoppedReason(w.State); why != "" {
			left[why]++
			continue
		}
		var config map[string]any
		if err := json.Unmarshal(w.Config, &config); err != nil {
			return left, err
		}
		for key, v := range map[string]string{"every": w.Every, "active_hours": w.Hours} {
			if v != "" {
				config[key] = v
			}
		}
		if w.PerDay > 0 {
			config["per_day"] = w.PerDay
		}
		t.Watchers = append(t.Watchers, templates.Watcher{Kind: w.Kind, Config: config, Do: w.Action})
	}
	return left, err
}

// everyOf returns the text form of a repeating schedule, or "" if parsing that text would give a
// different schedule.
func everyOf(s api.Watcher, now time.Time) (string, bool) {
	type times struct {
		Cron, Interval, Anchor, TZ string
		Except                     []string
	}
	var c, again times
	if s.Kind != watchers.KindCron || json.Unmarshal(s.Config, &c) != nil || c.TZ != "" {
		return "", false
	}
	words, except := c.Cron, strings.Join(c.Except, ", ")
	if except != "" {
		words = dateparse.DescribeEvery(dateparse.Every{Cron: c.Cron, Except: except})
	}
	d, err := time.ParseDuration(c.Interval)
	at, aerr := time.Parse(time.RFC3339, c.Anchor)
	switch {
	case c.Cron != "":
	case err != nil:
		return "", false
	case except != "" && d%(24*time.Hour) != 0:
		return "", false
	case d%(24*time.Hour) == 0 && aerr == nil:
		words, now = dateparse.DescribeEvery(dateparse.Every{Interval: d, Anchor: at, Except: except}), now.In(at.Location())
	case d%time.Hour == 0:
		words = fmt.Sprintf("every %d hours", d/time.Hour)
	case d%time.Minute == 0:
		words = fmt.Sprintf("every %d minutes", d/time.Minute)
	default:
		words = fmt.Sprintf("every %d seconds", d/time.Second)
	}
	_, config, err := watchers.ParseSchedule("", words, now)
	if err != nil || json.Unmarshal(config, &again) != nil || !slices.Equal(again.Except, c.Except) || except != "" && again.Cron != c.Cron {
		return "", false
	}
	if again.Cron != "" {
		return words, c.Cron != "" || d == 24*time.Hour || d == 7*24*time.Hour
	}
	e, err := time.ParseDuration(again.Interval)
	first, ferr := time.Parse(time.RFC3339, again.Anchor)
	clock := "15:04"
	if d%(7*24*time.Hour) == 0 {
		clock = "Monday 15:04"
	}
	fixed := d%(24*time.Hour) == 0 && aerr == nil // the schedule has a time of day
	return words, err == nil && e == d && (!fixed || ferr == nil && first.Format(clock) == at.Format(clock))
}

// adoptInTemplates replaces secrets with references in the saved configurations of the active
// template. In a copy that cannot be parsed, it replaces every occurrence of the secret's text.
func adoptInTemplates(h *templates.Installation, found []config.PlainSecret, values []config.Value) error {
	return h.RewriteConfig(func(text []byte) ([]byte, error) {
		for i, v := range values {
			there, err := hasKey(text, v.Key)
			switch {
			case err != nil:
				text = bytes.ReplaceAll(text, []byte(found[i].Value), []byte(v.Value))
			case there:
				if text, err = (config.Text{}).Set(text, v.Key, v.Value); err != nil {
					return nil, err
				}
			}
		}
		return text, nil
	})
}

func hasKey(text []byte, key string) (bool, error) {
	_, set, err := config.Text{}.Value(text, key)
	return set, err
}
