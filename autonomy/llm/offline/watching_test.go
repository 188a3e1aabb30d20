package offline

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"hob/autonomy/llm"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/watchers"
	watchersall "hob/watchers/all"
)

// TestWatching checks the complete configuration of watchers, and sentences that must not
// create one.
func TestWatching(t *testing.T) {
	b := New(testOptions(""))
	samples := readCorpus(t, "testdata/watching.tsv")
	if len(samples) < 150 {
		t.Errorf("%d sentences, want at least 150", len(samples))
	}
	for _, s := range samples {
		t.Run(s.sentence, func(t *testing.T) {
			p := b.grammar().planRequests(s.sentence, corpusTime(t), 0)
			if s.expected == "NOWATCH" {
				for _, c := range p.calls {
					if strings.HasSuffix(c.name, "_watcher") || strings.HasSuffix(c.name, "_intent") {
						t.Errorf("line %d: %s", s.line, describePlan(p))
					}
				}
				return
			}
			if wrong := s.checkAnswer(t, b); wrong != "" {
				t.Fatalf("line %d: %s", s.line, wrong)
			}
			var want []wantedCall
			if json.Unmarshal([]byte(s.expected), &want) != nil {
				return
			}
			for i, w := range want { // checks only the expected keys
				var got map[string]any
				if err := json.Unmarshal(p.calls[i].encodeArgs(), &got); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(normalizeValue(got), normalizeValue(w.Args)) {
					t.Errorf("line %d: want %s, got %s", s.line, s.expected, describePlan(p))
				}
			}
		})
	}
}

// TestWatching_PaceChangesTheNewWatcher: a pace sent right after a watcher was created changes it; otherwise it
// has no effect.
func TestWatching_PaceChangesTheNewWatcher(t *testing.T) {
	b := New(testOptions(""))
	for _, x := range []struct{ before, said, want string }{
		{"tell me when Ada mails", "only on weekdays", `update_watcher {"active_hours":"mon-fri 00:00-24:00"}`},
		{"watch my calendar", "at most 3 a day please", `update_watcher {"per_day":3}`},
		{"let me know when https://example.org changes", "but not at night, and at most twice a day", `update_watcher {"active_hours":"07:00-22:00","per_day":2}`},
		{"every weekday at 8 brief me", "only on weekdays", ""},
		{"hello", "at most 3 a day", ""},
	} {
		t.Run(x.said+" after "+x.before, func(t *testing.T) {
			r := newRequest(corpusTime(t), userMessage(x.before), llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "Done."}}}, userMessage(x.said))
			got, err := llm.Collect(b.Stream(t.Context(), r))
			if err != nil {
				t.Fatal(err)
			}
			made := ""
			for _, c := range got.Calls() {
				made += c.Name + " " + string(c.Args)
			}
			if made != x.want {
				t.Errorf("created %q, want %q", made, x.want)
			}
		})
	}
}

// testOptions returns options with all of the program's channels and kinds of watchers.
func testOptions(name string) Options {
	return Options{Name: name, Channels: channels.Descriptions(channelsall.Drivers()), Watchers: watchersall.Kinds()}
}

// TestUnderstand_RequestsOnlyDescribedKinds: the descriptions of the drivers are all that the built-in
// brain knows about channels and watchers.
func TestUnderstand_RequestsOnlyDescribedKinds(t *testing.T) {
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	without := New(Options{})
	with := New(Options{
		Channels: []channels.Description{{Name: "pigeon"}},
		Watchers: []watchers.Description{{Kind: "letters", Subject: watchers.Mail}, {Kind: "talk", Subject: watchers.Messages}, {Kind: "forge", Subject: watchers.Repository, Site: "codeforge"}},
	})
	for text, want := range map[string]string{
		"tell me when Ada mails me":                              `"kind":"letters"`,
		"let me know when Ada writes on pigeon":                  `"channel":["pigeon"]`,
		"watch https://codeforge.org/ada/engine":                 `"repo":"https://codeforge.org/ada/engine"`,
		"tell me about new issues in the codeforge repo ada/app": `"kind":"forge"`,
	} {
		got := ""
		if p := with.grammar().planRequests(text, at, 0); len(p.calls) == 1 {
			got = string(p.calls[0].encodeArgs())
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q calls %s, want %s", text, got, want)
		}
		for _, c := range without.grammar().planRequests(text, at, 0).calls {
			if c.name == "create_watcher" {
				t.Errorf("%q led to %s without tool descriptions", text, c.encodeArgs())
			}
		}
	}
}
