package offline

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"hob/autonomy/llm"
	"hob/platform/provenance"
)

// corpusTime returns the time at which every sentence of the corpus is sent.
func corpusTime(t testing.TB) time.Time {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Vilnius")
	if err != nil {
		t.Fatal(err)
	}
	return time.Date(2026, 3, 4, 10, 15, 0, 0, zone)
}

// sample is one line of a corpus.
type sample struct {
	line     int
	sentence string
	expected string
}

type wantedCall struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

func readCorpus(t *testing.T, name string) []sample {
	t.Helper()
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the test data is missing: " + name)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []sample
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimRight(sc.Text(), " \r")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		sentence, expected, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("%s:%d: no tab in %q", name, n, line)
		}
		out = append(out, sample{n, sentence, strings.TrimSpace(expected)})
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// checkAnswer describes the error in the model's answer, or returns "" if the answer is correct.
func (s sample) checkAnswer(t *testing.T, b *Model) string {
	t.Helper()
	now := corpusTime(t)
	p := b.grammar().planRequests(s.sentence, now, 0)
	kinds := map[requestOutcome]string{ask: "ASK", chat: "CHAT", unknown: "UNKNOWN"}
	if !strings.HasPrefix(s.expected, "[") {
		if got := kinds[p.outcome]; got != s.expected || len(p.calls) > 0 {
			return fmt.Sprintf("want %s, got %s", s.expected, describePlan(p))
		}
		return ""
	}
	var want []wantedCall
	if err := json.Unmarshal([]byte(s.expected), &want); err != nil {
		t.Fatalf("line %d: %v", s.line, err)
	}
	r := newRequest(now, userMessage(s.sentence))
	got, err := llm.Collect(b.Stream(t.Context(), r))
	if err != nil {
		t.Fatal(err)
	}
	calls := got.Calls()
	if len(calls) != len(want) {
		return fmt.Sprintf("want %s, got %s", s.expected, describePlan(p))
	}
	for i, w := range want {
		var args map[string]any
		if err := json.Unmarshal(calls[i].Args, &args); err != nil {
			return err.Error()
		}
		if calls[i].Name != w.Name || !sameArgs(w.Args, args) {
			return fmt.Sprintf("want %s, got %s", s.expected, describePlan(p))
		}
	}
	return ""
}

func describePlan(p plan) string {
	if len(p.calls) == 0 {
		name := "nothing"
		if p.intent != nil {
			name = p.intent.name
		}
		return fmt.Sprintf("no call (%s, outcome %d): %s", name, p.outcome, p.say)
	}
	var out []string
	for _, c := range p.calls {
		out = append(out, c.name+" "+string(c.encodeArgs()))
	}
	return strings.Join(out, "; ")
}

// sameArgs compares the expected keys; unexpected times must be missing.
func sameArgs(want, got map[string]any) bool {
	for k, v := range want {
		if !reflect.DeepEqual(normalizeValue(v), normalizeValue(got[k])) {
			return false
		}
	}
	for _, k := range []string{"due", "at", "every", "date", "period"} {
		if _, wants := want[k]; !wants && got[k] != nil {
			return false
		}
	}
	return true
}

func normalizeValue(v any) any {
	switch v := v.(type) {
	case string:
		return strings.TrimRight(strings.ToLower(strings.TrimSpace(v)), ".!?,;:")
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = normalizeValue(x)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = normalizeValue(x)
		}
		return out
	}
	return v
}

var allTools = []string{
	"get_current_track", "music_control", "get_volume", "set_volume", "get_battery_status", "get_display", "speak", "send_notification", "reveal_file", "read_image_text", "set_brightness", "toggle_dark_mode",
	"get_clipboard", "set_clipboard", "open_app", "list_apps", "screen_capture", "list_windows",
	"browser_list_tabs", "browser_open_tab", "browser_close_tab", "browser_switch_tab", "browser_get_url", "browser_get_page_content", "browser_navigate", "browser_screenshot",
	"read_file", "write_file", "list_directory", "search_files", "move_file", "trash_file", "remember", "recall",
	"search_knowledge", "forget", "create_note", "list_notes", "append_note", "delete_note", "create_task", "list_tasks",
	"content_digest", "track_topic", "fact_check", "research_topic", "update_task", "complete_task", "delete_task", "create_reminder", "list_reminders", "cancel_reminder", "update_reminder", "create_watcher",
	"list_watchers", "cancel_watcher", "create_intent", "list_intents", "cancel_intent", "pause_watcher", "update_watcher", "create_schedule", "list_schedules", "cancel_schedule",
	"pause_schedule", "log_expense", "spending_summary", "budget_check", "recurring_costs", "parse_receipt", "import_expenses", "log_habit", "habit_streak", "habit_report", "set_habit_target", "daily_briefing", "weekly_review", "get_directions", "flight_status", "packing_list", "world_clock", "sun_times", "status", "undo", "explain", "snooze_notice", "get_weather",
	"read_calendar", "find_free_time", "schedule_meeting", "import_habits", "read_emails", "search_emails", "read_email", "send_email", "draft_email", "move_email", "create_calendar_event", "update_calendar_event", "delete_calendar_event", "search_contacts",
	"create_goal", "list_goals", "update_goal", "pause_goal", "complete_goal", "delete_goal", "run_command",
}

// newRequest returns a request that offers every tool.
func newRequest(now time.Time, messages ...llm.Message) llm.Request {
	return requestWithTools(now, allTools, messages...)
}

func requestWithTools(now time.Time, tools []string, messages ...llm.Message) llm.Request {
	r := llm.Request{System: "You are Hob.", Messages: messages, Now: now}
	for _, name := range tools {
		r.Tools = append(r.Tools, llm.Tool{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return r
}

func userMessage(text string) llm.Message {
	return llm.Message{Role: llm.User, Parts: []llm.Part{{Text: text, Source: provenance.Owner}}}
}

func TestCorpus(t *testing.T) {
	b := New(testOptions(""))
	samples := readCorpus(t, "testdata/corpus.tsv")
	if len(samples) < 320 {
		t.Errorf("the corpus has %d sentences, want at least 320", len(samples))
	}
	for _, s := range samples {
		t.Run(s.sentence, func(t *testing.T) {
			if wrong := s.checkAnswer(t, b); wrong != "" {
				t.Errorf("line %d: %s", s.line, wrong)
			}
		})
	}
}

// TestHeldOut scores the model on sentences of a person who has seen neither the grammar nor
// the corpus. It reports the score without asserting it, because a test that must pass would be
// used for tuning.
func TestHeldOut(t *testing.T) {
	b := New(testOptions(""))
	samples := readCorpus(t, "testdata/heldout.tsv")
	right, calls, callsRight := 0, 0, 0
	for _, s := range samples {
		wrong := s.checkAnswer(t, b)
		if strings.HasPrefix(s.expected, "[") {
			calls++
			if wrong == "" {
				callsRight++
			}
		}
		if wrong == "" {
			right++
		}
	}
	t.Logf("held-out: %d of %d right; of those that want calls %d of %d", right, len(samples), callsRight, calls)
}

// TestExamples: each example of the grammar is parsed as its own intent.
func TestExamples(t *testing.T) {
	g := New(testOptions("")).grammar()
	for _, in := range g.intents {
		for _, ex := range in.examples {
			t.Run(ex, func(t *testing.T) {
				p := g.planRequests(ex, corpusTime(t), 0)
				if p.intent == nil || p.intent.name != in.name || p.outcome == unknown {
					t.Errorf("example %q of %s is parsed as %s", ex, in.name, describePlan(p))
				}
			})
		}
	}
}
