package templates

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Asks lists everything that a template requests, one item per line. It also lists what the
// template cannot get.
func (t *Template) Asks() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if t.Soul != "" {
		add("personality: its SOUL.md replaces yours")
	}
	for _, s := range t.Config {
		what := "sets " + s.Key + " = " + s.Value
		if allowedKeys()[s.Key] != free {
			what += ", unless your value is stricter"
		}
		add("setting: %s", what)
	}
	for _, s := range t.Schedules {
		if s.Say != "" {
			add("reminder, %s%s: %s", s.Every, s.At, s.Say)
			continue
		}
		add("schedule, %s%s: %s", s.Every, s.At, s.Do)
	}
	for _, w := range t.Watchers {
		b, err := json.Marshal(w.Config)
		if err != nil {
			b = []byte("{}")
		}
		then := "notifies you"
		if w.Do != "" {
			then = "then: " + w.Do
		}
		add("%s watcher %s; %s", w.Kind, b, then)
	}
	for _, g := range t.Goals {
		every := ""
		if g.CheckEvery != "" {
			every = ", reviewed every " + g.CheckEvery
		}
		until := ""
		if g.Success != "" {
			until = "; complete when: " + g.Success
		}
		add("goal (priority %d%s): %s%s", g.Priority, every, g.Description, until)
	}
	if len(t.Skills) > 0 {
		as := " as untrusted text"
		if t.Origin == Builtin {
			as = ""
		}
		add("skills, which the model reads%s when your request matches them: %s", as, strings.Join(t.Skills, ", "))
	}
	add("permissions: none. A template cannot allow commands, folders, hosts, accounts, channels or models, and cannot raise a limit.")
	return out
}
