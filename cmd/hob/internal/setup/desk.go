package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/text/lazyregexp"
)

// foldersStep returns the step that asks for the folders in which Hob may work.
func foldersStep() Step {
	return Step{
		Name: "folders", Extra: true, Title: "Folders", Keys: []string{"folders"},
		Next: func(_ context.Context, o Options, a Answers) ([]Question, error) {
			if a.isGiven("folders") {
				return nil, nil
			}
			return []Question{{
				Key: "folders", Kind: Text, Title: "Which folders may Hob read and write?", About: "Separate them with commas.",
				Default: strings.Join(o.foldersNow(), ", "), Check: func(s string) error { return o.checkFolders(Items(s)) },
			}}, nil
		},
		Apply: func(_ context.Context, o Options, a Answers) (StepResult, error) {
			list := Items(a["folders"])
			if slices.Equal(list, o.foldersNow()) {
				return StepResult{}, nil
			}
			if err := o.checkFolders(list); err != nil {
				return StepResult{}, newProblem(err, false, "folders")
			}
			return StepResult{Values: []config.Value{{Key: "files.allowed", Value: strings.Join(list, ",")}}}, nil
		},
	}
}

// foldersNow returns the configured folders in the form in which a user would write them.
func (o Options) foldersNow() (out []string) {
	home, err := os.UserHomeDir()
	for _, f := range o.Config.Files.Allowed {
		if rest, ok := strings.CutPrefix(f, home); ok && err == nil && home != "" && (rest == "" || os.IsPathSeparator(rest[0])) {
			f = "~" + rest
		}
		out = append(out, f)
	}
	return out
}

// checkFolders checks that new folders exist.
func (o Options) checkFolders(list []string) error {
	now := o.foldersNow()
	for _, f := range list {
		if slices.Contains(now, f) {
			continue
		}
		path, err := system.Expand(f)
		if err != nil {
			return err
		}
		if fi, err := os.Stat(path); err != nil || !fi.IsDir() {
			return fmt.Errorf("folder %s not found; create it first, or enter another folder", f)
		}
	}
	return nil
}

// quietStep returns the step that asks for the quiet hours.
func quietStep() Step {
	return Step{
		Name: "quiet", Title: "Quiet hours", Keys: []string{"quiet_hours"},
		About: "Hob defers notifications that are not critical and sends them as one digest afterwards.",
		Next: func(_ context.Context, o Options, a Answers) ([]Question, error) {
			if a.isGiven("quiet_hours") {
				return nil, nil
			}
			q := Question{
				Key: "quiet_hours", Kind: Text, Title: "When should the quiet hours be?", About: "For example 22:00-07:00, or off.", Default: o.proposedQuiet(),
				Check: func(s string) error {
					if s == o.quietNow() {
						return nil
					}
					_, _, err := ParseHours(s)
					return err
				},
			}
			if len(o.Config.Notify.Quiet) > 1 {
				q.About += " There are several now; edit them in the configuration (docs/notifications.md)."
			}
			return []Question{q}, nil
		},
		Apply: func(_ context.Context, o Options, a Answers) (StepResult, error) {
			if a["quiet_hours"] == o.quietNow() {
				return StepResult{}, nil
			}
			start, end, err := ParseHours(a["quiet_hours"])
			if err != nil {
				return StepResult{}, newProblem(err, false, "quiet_hours")
			}
			if len(o.Config.Notify.Quiet) > 1 {
				return StepResult{}, newProblem(errors.New("there are several quiet hours; edit them in the configuration file: hob config path"), false, "quiet_hours")
			}
			return StepResult{Values: []config.Value{{Key: "notify.quiet_hours.start", Value: start}, {Key: "notify.quiet_hours.end", Value: end}}}, nil
		},
	}
}

// proposedQuiet returns the quiet hours that setup proposes: the configured ones, or the night.
func (o Options) proposedQuiet() string {
	if now := o.quietNow(); now != "off" {
		return now
	}
	return "22:00-07:00"
}

func (o Options) quietNow() string {
	switch list := o.Config.Notify.Quiet; len(list) {
	case 0:
		return "off"
	case 1:
		return list[0].Start + "-" + list[0].End
	}
	return "several"
}

var span = lazyregexp.New(`^(\d{1,2})(?::(\d\d))?(?:h)?\s*(?:-|–|to)\s*(\d{1,2})(?::(\d\d))?(?:h)?$`)

// ParseHours parses "22:00-07:00", "22-7" and "off".
func ParseHours(s string) (start, end string, err error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "" || s == "off" || s == "none" {
		return "", "", nil
	}
	bad := fmt.Errorf("%q is not a time of day; write the hours as 22:00-07:00, or off", s)
	m := span.FindStringSubmatch(s)
	if m == nil {
		return "", "", bad
	}
	at := func(h, min string) string {
		if min == "" {
			min = "00"
		}
		return fmt.Sprintf("%02s:%s", h, min)
	}
	start, end = at(m[1], m[2]), at(m[3], m[4])
	if start >= "24:00" || end > "24:00" || start[3:] > "59" || end[3:] > "59" || start == end {
		return "", "", bad
	}
	return start, end, nil
}

// templateStep returns the step that asks for a template, which defines Hob's personality.
func templateStep() Step {
	const none = "none"
	return Step{
		Name: "template", Extra: true, Title: "Template", Keys: []string{"template"},
		About: "A personality with goals, schedules and watchers. Revert it with hob template reset.",
		Shown: func(_ context.Context, o Options) bool { return o.Templates != nil },
		Next: func(_ context.Context, o Options, a Answers) ([]Question, error) {
			if a.isGiven("template") || o.Templates == nil {
				return nil, nil
			}
			list, inUse, err := o.Templates()
			if err != nil {
				return nil, err
			}
			q := Question{Key: "template", Kind: Choice, Title: "Which template should Hob use?", Default: none, Other: true, Options: append([]Option{{none, "none"}}, list...)}
			if inUse != "" {
				q.Default, q.About = inUse, inUse+" is active."
			}
			if !q.hasOption(q.Default) { // a template from a folder or an archive
				q.Options = append(q.Options, Option{q.Default, q.Default})
			}
			return []Question{q}, nil
		},
		Apply: func(_ context.Context, o Options, a Answers) (d StepResult, err error) {
			name, inUse := a["template"], ""
			if o.Templates != nil {
				if _, inUse, err = o.Templates(); err != nil {
					return d, err
				}
			}
			if name == none || name == inUse || o.UseTemplate == nil {
				return d, nil
			}
			if o.FindTemplate != nil {
				if err := o.FindTemplate(name); err != nil {
					return d, newProblem(err, false, "template")
				}
			}
			d.Then = func(ctx context.Context) error { return o.UseTemplate(ctx, name) }
			return d, nil
		},
	}
}

// autostartStep returns the step that asks whether Hob starts with the session.
func autostartStep() Step {
	return Step{
		Name: "autostart", Title: "Start", Keys: []string{"autostart"},
		Shown: func(ctx context.Context, o Options) bool { _, known := o.startsAtLogin(ctx); return known },
		Next: func(ctx context.Context, o Options, a Answers) ([]Question, error) {
			if a.isGiven("autostart") {
				return nil, nil
			}
			return []Question{{
				Key: "autostart", Kind: YesNo, Title: "Should Hob start when you log in?", Default: "true",
				About: "Watchers and reminders work only while Hob is running. Same as hob service install.",
			}}, nil
		},
		Apply: func(ctx context.Context, o Options, a Answers) (StepResult, error) {
			want := a["autostart"] == "true"
			if is, known := o.startsAtLogin(ctx); o.Autostart == nil || known && is == want {
				return StepResult{}, nil
			}
			return StepResult{Then: func(ctx context.Context) error { return o.Autostart(ctx, want) }}, nil
		},
	}
}

func (o Options) startsAtLogin(ctx context.Context) (is, known bool) {
	if o.Starts == nil {
		return false, false
	}
	return o.Starts(ctx)
}

// aboutYouStep returns the step that asks for the assistant's name and the user's time zone.
func aboutYouStep() Step {
	return Step{
		Name: "you", Extra: true, Title: "You and Hob", Keys: []string{"name", "timezone"},
		Next: func(_ context.Context, o Options, a Answers) ([]Question, error) {
			if a.isGiven("name") && a.isGiven("timezone") {
				return nil, nil
			}
			zone := Question{Key: "timezone", Kind: Text, Title: "What is your time zone?", Default: o.Config.Agent.Timezone, Check: func(s string) error {
				_, err := system.Zone(s)
				return err
			}}
			if zone.Default == "Local" {
				zone.About = "Local is this machine's time zone"
				if n, err := system.LocalZone(); err == nil {
					zone.About += ": " + n
				}
				zone.About += "."
			}
			return []Question{{Key: "name", Kind: Text, Title: "What should the assistant be called?", Default: o.Config.Agent.Name, Check: func(s string) error {
				if s == "" {
					return errors.New("name is empty")
				}
				return nil
			}}, zone}, nil
		},
		Apply: func(_ context.Context, o Options, a Answers) (StepResult, error) {
			return StepResult{Values: o.changedValues(config.Value{Key: "agent.name", Value: a["name"]}, config.Value{Key: "agent.timezone", Value: a["timezone"]})}, nil
		},
	}
}

// changedValues returns the values that are not in effect yet.
func (o Options) changedValues(values ...config.Value) (out []config.Value) {
	for _, v := range values {
		was, err := o.Config.Get(v.Key)
		if now, terr := formatValue(was); err != nil || terr != nil || now != v.Value {
			out = append(out, v)
		}
	}
	return out
}

// feature is a feature that can be enabled and disabled.
type feature struct {
	name, title string
	now         func(c *config.Config) bool
	key         string
	on, off     string
}

// featureList lists the features that can be enabled and disabled. To add one, add a line.
func featureList() []feature {
	return []feature{
		{"browser", "browser: uses web pages in a separate browser", func(c *config.Config) bool { return c.Browser.Enabled }, "browser.enabled", "true", "false"},
		{"tray", "tray: an icon with a menu", func(c *config.Config) bool { return c.Tray.Enabled != "off" }, "tray.enabled", "auto", "off"},
		{"plan", "plan: sends the daily plan each morning", func(c *config.Config) bool { return c.Plan.At != "" }, "plan.at", "07:00", ""},
		{"pictures", "pictures: a model reads the pictures in your documents", func(c *config.Config) bool { return c.Knowledge.Pictures != "off" }, "knowledge.pictures", "auto", "off"},
		{"autonomy", "autonomy: acts in the background and asks when needed", func(c *config.Config) bool { return c.Autonomy.Enabled }, "autonomy.enabled", "true", "false"},
	}
}

// featuresStep returns the step that asks which features to enable.
func featuresStep() Step {
	return Step{
		Name: "features", Extra: true, Title: "Features", Keys: []string{"features"},
		Next: func(_ context.Context, o Options, a Answers) ([]Question, error) {
			if a.isGiven("features") {
				return nil, nil
			}
			q := Question{Key: "features", Kind: Several, Title: "Which features should be on?"}
			var on []string
			for _, f := range featureList() {
				q.Options = append(q.Options, Option{f.name, f.title})
				if f.now(o.Config) {
					on = append(on, f.name)
				}
			}
			q.Default = strings.Join(on, ",")
			return []Question{q}, nil
		},
		Apply: func(_ context.Context, o Options, a Answers) (d StepResult, err error) {
			wanted := Items(a["features"])
			for _, f := range featureList() {
				if want := slices.Contains(wanted, f.name); want != f.now(o.Config) {
					d.Values = append(d.Values, config.Value{Key: f.key, Value: map[bool]string{true: f.on, false: f.off}[want]})
				}
			}
			return d, nil
		},
	}
}
