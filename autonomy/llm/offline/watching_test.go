package offline

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"hob/autonomy/llm"
)

// TestWatching checks the complete configuration of watchers, and sentences that must not
// create one.
func TestWatching(t *testing.T) {
	b := New(Options{})
	samples := readCorpus(t, "testdata/watching.tsv")
	if len(samples) < 150 {
		t.Errorf("there are %d sentences, want at least 150", len(samples))
	}
	for _, s := range samples {
		t.Run(s.sentence, func(t *testing.T) {
			p := b.grammar().planRequests(s.sentence, at(t), 0)
			if s.expected == "NOWATCH" {
				for _, c := range p.calls {
					if strings.HasSuffix(c.name, "_watcher") {
						t.Errorf("line %d: %s", s.line, describe(p))
					}
				}
				return
			}
			if wrong := s.check(t, b); wrong != "" {
				t.Fatalf("line %d: %s", s.line, wrong)
			}
			var want []wanted
			if json.Unmarshal([]byte(s.expected), &want) != nil {
				return
			}
			for i, w := range want { // checks only the expected keys
				var got map[string]any
				if err := json.Unmarshal(p.calls[i].encodeArgs(), &got); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(normal(got), normal(w.Args)) {
					t.Errorf("line %d: want %s, got %s", s.line, s.expected, describe(p))
				}
			}
		})
	}
}

// TestPaceAfterwards: a pace sent right after a watcher was created changes it; otherwise it
// has no effect.
func TestPaceAfterwards(t *testing.T) {
	b := New(Options{})
	for _, x := range []struct{ before, said, want string }{
		{"tell me when Ada mails", "only on weekdays", `update_watcher {"active_hours":"mon-fri 00:00-24:00"}`},
		{"watch my calendar", "at most 3 a day please", `update_watcher {"per_day":3}`},
		{"let me know when https://example.org changes", "but not at night, and at most twice a day", `update_watcher {"active_hours":"07:00-22:00","per_day":2}`},
		{"every weekday at 8 brief me", "only on weekdays", ""},
		{"hello", "at most 3 a day", ""},
	} {
		t.Run(x.said+" after "+x.before, func(t *testing.T) {
			r := request(at(t), owner(x.before), llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "Done."}}}, owner(x.said))
			got, err := llm.Collect(b.Stream(t.Context(), r))
			if err != nil {
				t.Fatal(err)
			}
			made := ""
			for _, c := range got.Calls() {
				made += c.Name + " " + string(c.Args)
			}
			if made != x.want {
				t.Errorf("made %q, want %q", made, x.want)
			}
		})
	}
}
