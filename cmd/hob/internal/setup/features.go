package setup

import (
	"context"
	"slices"
	"strings"

	"hob/autonomy/config"
)

// feature is something that can be switched on and off.
type feature struct {
	name, title string
	now         func(c *config.Config) bool
	key         string
	on, off     string
}

// featureList lists the features that can be switched. To add one, add a line.
func featureList() []feature {
	return []feature{
		{"browser", "browser: uses web pages in a separate browser", func(c *config.Config) bool { return c.Browser.Enabled }, "browser.enabled", "true", "false"},
		{"tray", "tray: an icon with a menu", func(c *config.Config) bool { return c.Tray.Enabled != "off" }, "tray.enabled", "auto", "off"},
		{"plan", "plan: sends the plan of the day each morning", func(c *config.Config) bool { return c.Plan.At != "" }, "plan.at", "07:00", ""},
		{"pictures", "pictures: a model reads the pictures in your documents", func(c *config.Config) bool { return c.Knowledge.Pictures != "off" }, "knowledge.pictures", "auto", "off"},
		{"autonomy", "autonomy: acts in the background and asks when needed", func(c *config.Config) bool { return c.Autonomy.Enabled }, "autonomy.enabled", "true", "false"},
	}
}

// featuresStep asks which features to enable.
func featuresStep() Step {
	return Step{
		Name: "features", Title: "Features", Keys: []string{"features"},
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
