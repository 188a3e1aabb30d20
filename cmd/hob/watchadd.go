package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/platform/text/settings"
	"hob/watchers"
	watchersall "hob/watchers/all"
)

// watchExamples returns the examples of the kinds.
func watchExamples() string {
	var lines []string
	for _, k := range watchersall.Kinds() {
		if k.Example != "" {
			lines = append(lines, "  hob watch add "+k.Example)
		}
	}
	return strings.Join(lines, "\n")
}

func (a *cli) watchAdd() *cobra.Command {
	add := &cobra.Command{
		Use: "add [WHAT]", Short: "Watch a file, a folder, a feed or another source", Args: cobra.MaximumNArgs(1),
		Long: `Watch a source and get notified about changes.

A path is watched as a file or a folder. An address needs --kind, because it can be
a feed or a page. Set further options of a kind with --set; see docs/watchers.md.`,
		Example: watchExamples(),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in, err := watcherOf(c, args)
			if err != nil {
				return err
			}
			for flag, arg := range map[string]string{"do": "action", "report": "report_to"} {
				if v, _ := c.Flags().GetString(flag); v != "" {
					in[arg] = v
				}
			}
			return a.runTool(c.Context(), false, "create_watcher", in)
		}),
	}
	watcherFlags(add)
	add.Flags().String("do", "", "action, in everyday words (default: only notify me)")
	add.Flags().String("report", "", "conversation for the notifications")
	return add
}

func (a *cli) watchChange() *cobra.Command {
	change := &cobra.Command{
		Use: "change WATCHER...", Short: "Change the hours and the rate of a watcher", Args: cobra.MinimumNArgs(1),
		Long: `Change the hours and the rate of a watcher. The watcher keeps its state. The word
"always" removes the limit set by --hours or --every.`,
		Example: `  hob watch change Ada --hours "mon-fri 08:00-18:00" --per-day 3
  hob watch change prices --every 6h`,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in := map[string]any{"watcher": joinWords(args)}
			for flag, key := range map[string]string{"every": "every", "hours": "active_hours"} {
				if v, _ := c.Flags().GetString(flag); v != "" {
					in[key] = v
				}
			}
			if n, _ := c.Flags().GetInt("per-day"); n != 0 {
				in["per_day"] = n
			}
			return a.runTool(c.Context(), false, "update_watcher", in)
		}),
	}
	paceFlags(change)
	return change
}

func (a *cli) watchTry() *cobra.Command {
	try := a.addJSONFlag(&cobra.Command{
		Use: "try [WATCHER... | WHAT]", Short: "Show what a watcher would have found in recent days",
		Long: `Show what a watcher or a schedule would have found in recent days, without
changing anything. Name an existing one by its ID or words from its title, or describe a new one
with --kind. This works for feeds, email, messages, repositories and times, but not for
sources without a history (files, pages, calendars).`,
		Example: `  hob watch try releases
  hob watch try --kind feed https://example.org/feed.xml --set words='["release"]' --days 14
  hob watch try --kind cron --set cron="0 8 * * 1-5"`,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			days, _ := c.Flags().GetInt("days")
			in := map[string]any{"watcher": joinWords(args)}
			draft := c.Flags().Changed("kind") || strings.Contains(joinWords(args), "://")
			switch {
			case draft && len(args) > 1:
				return usageErrorf("--kind takes only one source to watch")
			case draft:
				var err error
				if in, err = watcherOf(c, args); err != nil {
					return err
				}
			case len(args) == 0:
				return usageErrorf("no watcher given; name one, or use --kind with a source")
			}
			in["days"] = days
			return a.runTool(c.Context(), false, "try_watcher", in)
		}),
	})
	watcherFlags(try)
	try.Flags().Int("days", 7, "number of past days, at most 31")
	return try
}

// watcherFlags adds the flags that define what to watch.
func watcherFlags(c *cobra.Command) {
	var kinds []string
	for _, k := range eventKinds() {
		kinds = append(kinds, k.Kind)
	}
	c.Flags().String("kind", "", "kind: "+strings.Join(kinds, ", ")+" (default: "+defaultKind().Kind+")")
	c.Flags().StringArray("set", nil, `option of the kind: words='["invoice"]'`)
	paceFlags(c)
	for _, k := range eventKinds() {
		for _, f := range k.Flags {
			usage := k.Plural + ": " + f.Title
			switch {
			case f.Kind == settings.YesNo:
				c.Flags().Bool(f.Key, false, usage)
			case f.List:
				c.Flags().StringSlice(f.Key, nil, usage)
			default:
				c.Flags().String(f.Key, "", usage)
			}
		}
	}
}

// eventKinds describes the kinds of watchers that are not schedules.
func eventKinds() []watchers.Description {
	return slices.DeleteFunc(watchersall.Kinds(), func(k watchers.Description) bool { return k.Timed || k.Intent })
}

// defaultKind returns the kind that applies without --kind: the one whose source is a path on this
// machine.
func defaultKind() watchers.Description {
	kinds := eventKinds()
	return kinds[slices.IndexFunc(kinds, func(k watchers.Description) bool { return k.Source == watchers.PathSource })]
}

// paceFlags adds the flags for the active hours and the rate.
func paceFlags(c *cobra.Command) {
	c.Flags().String("every", "", `check interval: "30m", "6h", "1d"`)
	c.Flags().String("hours", "", `active hours: "08:00-18:00", "mon-fri 08:00-18:00"`)
	c.Flags().Int("per-day", 0, "maximum number of notifications per day")
}

// watcherOf returns the kind and configuration that the arguments and flags specify.
func watcherOf(c *cobra.Command, args []string) (map[string]any, error) {
	name, _ := c.Flags().GetString("kind")
	kind := watchers.Description{Kind: name}
	var addresses []string
	for _, k := range eventKinds() {
		if k.Kind == name {
			kind = k
		}
		if k.Source == watchers.URLSource {
			addresses = append(addresses, k.Kind)
		}
	}
	switch {
	case name == "" && len(args) > 0 && strings.Contains(args[0], "://"):
		return nil, usageErrorf("unknown kind of source: set --kind to %s", strings.Join(addresses, " or "))
	case name == "":
		kind = defaultKind()
	}
	config, err := configOf(c, kind)
	if err != nil {
		return nil, err
	}
	switch {
	case len(args) == 0 && kind.Source == watchers.PathSource:
		return nil, usageErrorf("name the file or folder to watch")
	case len(args) == 0:
	case kind.Argument == "":
		return nil, usageErrorf("the kind %s takes no argument; set its options with --set KEY=VALUE", kind.Kind)
	case kind.Source == watchers.PathSource && !strings.HasPrefix(args[0], "~"): // the daemon has a different working folder
		abs, err := filepath.Abs(args[0])
		if err != nil {
			return nil, err
		}
		config[kind.Argument] = abs
	default:
		config[kind.Argument] = args[0]
	}
	return map[string]any{"kind": kind.Kind, "config": config}, nil
}

// configOf returns the configuration of a watcher that the flags specify.
func configOf(c *cobra.Command, kind watchers.Description) (map[string]any, error) {
	config := map[string]any{}
	set, _ := c.Flags().GetStringArray("set")
	for _, s := range set {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return nil, usageErrorf("--set needs KEY=VALUE, not %q", s)
		}
		var v any
		if json.Unmarshal([]byte(value), &v) != nil {
			v = value
		}
		switch v.(type) {
		case float64, nil: // in "from=100" the value is a string; only per_day is a number
			if key != "per_day" {
				v = value
			}
		}
		config[key] = v
	}
	for _, k := range eventKinds() {
		for _, f := range k.Flags {
			switch {
			case !c.Flags().Changed(f.Key):
			case k.Kind != kind.Kind:
				return nil, usageErrorf("--%s is only for %s, not for the kind %s; see docs/watchers.md for its --set options", f.Key, k.Plural, kind.Kind)
			case !f.List:
				maps.Copy(config, changedFlags(c, f.Key))
			default:
				if list, _ := c.Flags().GetStringSlice(f.Key); len(list) > 0 {
					config[f.Key] = list
				}
			}
		}
	}
	for flag, key := range map[string]string{"every": "every", "hours": "active_hours"} {
		if v, _ := c.Flags().GetString(flag); v != "" {
			config[key] = v
		}
	}
	if n, _ := c.Flags().GetInt("per-day"); n != 0 {
		config["per_day"] = n
	}
	return config, nil
}
