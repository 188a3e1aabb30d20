package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"hob/autonomy/config"
	"hob/platform/system"
	"hob/templates"
)

// createTemplate makes a template of the present state: what a template may
// hold of it.
func (a *app) createTemplate(ctx context.Context, name, about string) error {
	if about == "" {
		about = "How " + name + " was set up."
	}
	t := &templates.Template{Name: name, Description: about, Version: "0.1.0"}
	if err := templates.CheckName(name); err != nil {
		return templateError(err)
	}
	return a.changing(ctx, func(p system.Paths, _ *templates.Home) error {
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
		left, err := a.gather(ctx, t)
		if err != nil {
			return err
		}
		dir, err := shelf(p).Create(t, system.WriteFile)
		if err != nil {
			return templateError(err)
		}
		fmt.Fprintf(a.out, "Made %s: %s, %s, %s", dir, counted(len(t.Config), "setting", "settings"), counted(len(t.Schedules), "schedule or reminder", "schedules and reminders"), counted(len(t.Watchers), "watcher", "watchers"))
		if t.Soul != "" {
			fmt.Fprint(a.out, ", and your SOUL.md")
		}
		fmt.Fprintln(a.out, ". Edit it there, then: hob template use "+name)
		if left > 0 {
			fmt.Fprintf(a.out, "%s left out: those that come once, or in another zone.\n", counted(left, "schedule is", "schedules are"))
		}
		return nil
	})
}

// active is a watcher as the API lists it.
type active struct {
	Kind   string          `json:"kind"`
	Config json.RawMessage `json:"config"`
	Mode   string          `json:"mode"`
	Action string          `json:"action"`
	Missed string          `json:"missed"`
	State  string          `json:"state"`
	Every  string          `json:"every"`
	Hours  string          `json:"active_hours"`
	PerDay int             `json:"per_day"`
}

// gather takes what runs now, and says how many things no template can hold.
func (a *app) gather(ctx context.Context, t *templates.Template) (left int, err error) {
	var timed, rest []active
	err = a.with(ctx, func(c *client) error {
		for _, what := range []string{"schedules", "reminders"} {
			var rows []active
			if err := c.get(ctx, "/api/v1/"+what, nil, &rows); err != nil {
				return err
			}
			timed = append(timed, rows...)
		}
		return c.get(ctx, "/api/v1/watchers", nil, &rest)
	})
	for _, s := range timed {
		if s.State != "active" && s.State != "paused" {
			continue
		}
		every, ok := everyOf(s)
		if !ok {
			left++
			continue
		}
		one := templates.Schedule{Every: every, Missed: s.Missed, Do: s.Action}
		if s.Mode == "remind" {
			one.Do, one.Say = "", s.Action
		}
		t.Schedules = append(t.Schedules, one)
	}
	for _, w := range rest {
		var config map[string]any
		if w.State == "active" || w.State == "paused" {
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
	}
	return left, err
}

// everyOf are the words of a schedule that comes again and again.
func everyOf(s active) (string, bool) {
	var c struct{ Cron, Interval, TZ string }
	if s.Kind != "cron" || json.Unmarshal(s.Config, &c) != nil || c.TZ != "" {
		return "", false
	}
	if c.Cron != "" {
		return c.Cron, true
	}
	d, err := time.ParseDuration(c.Interval)
	switch {
	case err != nil || d <= 0:
		return "", false
	case d%time.Hour == 0:
		return fmt.Sprintf("every %d hours", d/time.Hour), true
	case d%time.Minute == 0:
		return fmt.Sprintf("every %d minutes", d/time.Minute), true
	}
	return fmt.Sprintf("every %d seconds", d/time.Second), true
}

// adoptInTemplates puts references in the place of secrets in the copies of the
// configuration that are kept while a template is in use. Where one cannot be read
// the secret goes as the text it is.
func adoptInTemplates(h *templates.Home, found []config.PlainSecret, values []config.Value) error {
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
