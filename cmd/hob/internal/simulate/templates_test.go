package simulate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hob/templates"
)

// goalWork is what the scripted model does for the goals of a built-in template, in their order. A
// goal without an entry is reviewed by its rule, without a model.
var goalWork = map[string][]struct {
	call, want, says string
	asks             bool // the call needs approval, which the user gives
}{
	"research-agent": {
		{`track_topic {"topic":"heat pumps"}`, "track_topic", "I follow heat pumps now.", true},
		{`list_notes {}`, "list_notes", "Nothing was found this week.", false},
	},
	"stock-analyst": {
		{`list_notes {"query":"watch list"}`, "list_notes", "The watch list is empty.", false},
		{`create_reminder {"text":"results of Example Corp","at":"in 5 days"}`, "create_reminder", "The results are noted.", false},
	},
	"code-reviewer": {
		{`project_status {"project":"Reviews"}`, "project_status", "One review waits.", false},
		{`create_task {"title":"review of the parser","project":"Reviews","due":"in 2 days"}`, "create_task", "The review is on the list.", false},
	},
	"personal-assistant": {
		{`suggest_followups {}`, "suggest_followups", "Nobody waits for you.", false},
		{`list_tasks {}`, "list_tasks", "Every task has moved.", false},
	},
}

// templateScript returns a script that creates the resources of a template. The goals are reviewed
// one day after the other, so that the order of the model's answers is known.
func templateScript(t *testing.T, x *templates.Template, model bool) string {
	t.Helper()
	var b strings.Builder
	add := func(head string, body any) {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "-- %s --\n%s\n", head, text)
	}
	add("day 1 00:05 call create_task", map[string]string{"title": "review the lexer", "project": "Reviews", "due": "2026-11-23"})
	for i, g := range x.Goals {
		if model {
			add("day 1 00:10 call create_goal", map[string]any{"description": g.Description, "priority": g.Priority, "success": g.Success, "check_every": "30 days", "next_review": fmt.Sprintf("2026-11-%dT09:00:00Z", 24+i)})
			continue
		}
		add("day 1 00:10 call create_goal", map[string]any{"description": g.Description, "priority": g.Priority, "success": g.Success, "check_every": g.CheckEvery})
	}
	if model {
		for i, w := range goalWork[x.Name] {
			if w.asks {
				fmt.Fprintf(&b, "-- day %d 09:30 answer yes --\n", i+2)
			}
			fmt.Fprintf(&b, "-- model --\n{\"decision\": \"act\", \"confidence\": 0.9, \"reason\": \"it is time\", \"action\": \"work on it\", \"risk\": \"write\"}\n-- model --\ncall use_tool {\"name\":%q,\"arguments\":%s}\n-- model --\n%s\n",
				w.want, strings.TrimPrefix(w.call, w.want+" "), w.says)
		}
		return b.String()
	}
	for _, s := range x.Schedules {
		add("day 1 00:15 call create_schedule", map[string]string{"every": s.Every, "action": s.Do + s.Say, "missed": s.Missed})
	}
	for _, w := range x.Watchers {
		add("day 1 00:20 call create_watcher", map[string]any{"kind": w.Kind, "config": w.Config})
	}
	return b.String()
}

// TestTemplates_RunAWeekWithAModel checks that the goals of each built-in template are reviewed and
// worked on with the tools that they name.
func TestTemplates_RunAWeekWithAModel(t *testing.T) {
	all, err := templates.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		work := goalWork[x.Name]
		if len(work) == 0 {
			continue
		}
		t.Run(x.Name, func(t *testing.T) {
			r := simulateScript(t, templateScript(t, x, true), nil)
			text := formatTimeline(r)
			for i, w := range work {
				if !strings.Contains(text, w.want) || !strings.Contains(text, w.says) {
					t.Errorf("goal %d: %s and %q are not in\n%s", i+1, w.want, w.says, text)
				}
			}
			if hasFailed(r) || strings.Contains(text, spent) {
				t.Errorf("something failed:\n%s", text)
			}
			if r.ModelCalls != 3*len(work) {
				t.Errorf("%d model calls, want %d:\n%s", r.ModelCalls, 3*len(work), text)
			}
		})
	}
}

// TestTemplates_RunAWeekWithoutAModel checks that the schedules, watchers and goals of the built-in
// templates for the built-in brain do their work.
func TestTemplates_RunAWeekWithoutAModel(t *testing.T) {
	all, err := templates.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		if len(goalWork[x.Name]) > 0 {
			continue
		}
		t.Run(x.Name, func(t *testing.T) {
			r := simulateScript(t, templateScript(t, x, false), nil)
			text := formatTimeline(r)
			if len(r.Timeline) < 10 || hasFailed(r) || r.ModelCalls != 0 {
				t.Errorf("a week of the template:\n%s", text)
			}
		})
	}
}

// hasFailed reports whether something failed, or was wrong in the script.
func hasFailed(r *Result) bool {
	return slices.ContainsFunc(r.Timeline, func(e Entry) bool { return e.Kind == "failed" || e.Kind == "problem" })
}
