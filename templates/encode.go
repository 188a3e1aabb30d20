package templates

import (
	"bytes"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Encode writes template.toml.
func (t *Template) Encode() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# A template of Hob. docs/templates.md explains every key.\n\n")
	type meta struct {
		Name        string `toml:"name"`
		Description string `toml:"description"`
		Version     string `toml:"version"`
		Author      string `toml:"author,omitempty"`
	}
	type goal struct {
		Description string `toml:"description"`
		Priority    int    `toml:"priority"`
		Success     string `toml:"success,omitempty"`
		CheckEvery  string `toml:"check_every,omitempty"`
	}
	type schedule struct {
		Every  string `toml:"every,omitempty"`
		At     string `toml:"at,omitempty"`
		Do     string `toml:"do,omitempty"`
		Say    string `toml:"say,omitempty"`
		Missed string `toml:"missed,omitempty"`
	}
	type watcher struct {
		Kind   string         `toml:"kind"`
		Do     string         `toml:"do,omitempty"`
		Config map[string]any `toml:"config"`
	}
	out := struct {
		Template  meta       `toml:"template"`
		Goals     []goal     `toml:"goals,omitempty"`
		Schedules []schedule `toml:"schedules,omitempty"`
		Watchers  []watcher  `toml:"watchers,omitempty"`
	}{Template: meta{t.Name, t.Description, t.Version, t.Author}}
	for _, g := range t.Goals {
		out.Goals = append(out.Goals, goal(g))
	}
	for _, s := range t.Schedules {
		out.Schedules = append(out.Schedules, schedule(s))
	}
	for _, w := range t.Watchers {
		out.Watchers = append(out.Watchers, watcher{w.Kind, w.Do, w.Config})
	}
	if err := toml.NewEncoder(&b).Encode(out); err != nil {
		return nil, err
	}
	section := ""
	for _, s := range t.Config {
		i := strings.LastIndexByte(s.Key, '.')
		if table := s.Key[:i]; table != section {
			section = table
			b.WriteString("\n[config." + table + "]\n")
		}
		b.WriteString(s.Key[i+1:] + " = " + s.Value + "\n")
	}
	return b.Bytes(), nil
}
