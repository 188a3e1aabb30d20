package offline

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hob/autonomy/llm"
	"hob/platform/provenance"
)

// FuzzStream: for any input, the model answers with calls whose arguments are JSON objects, or
// with text; it never panics and ends with Done.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"add a task to buy milk, then remind me at 6pm to cook and note that the oven is broken",
		"remind me on 03/04/2026 at 9 to pay \xff\xfe", "watch ~/Downloads for and tell me", "spent €12,50 on \"lunch at 'Luigi's'\"",
		"“”«»'' \" ' `", "every every every day at at at 9", "note:", "my is is", "undo the last 99999999999999999999", "what’s",
		"to to to to to to to", "remember \x00 that", "rename ~/a.txt to ../../b", "log 1e309 km of running", "ＡＤＤ a ｔａｓｋ", "İİİ dont'",
		strings.Repeat("and ", 400), strings.Repeat("add a task to x, ", 60), strings.Repeat("(", 500), strings.Repeat("a", 100_000),
	} {
		f.Add(s, s)
	}
	b := New(testOptions(""))
	now := time.Date(2026, 3, 4, 10, 15, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, first, second string) {
		r := newRequest(now, userMessage(first), llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "When should I remind you?"}}},
			llm.Message{Role: llm.User, Parts: []llm.Part{{Text: second, Source: provenance.Owner}, {Text: first, Source: provenance.Outside}}})
		last := llm.Event{}
		for e, err := range b.Stream(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			last = e
			switch e.Kind {
			case llm.CallDone:
				var args map[string]any
				if err := json.Unmarshal(e.Call.Args, &args); err != nil || args == nil {
					t.Fatalf("%q: arguments %q", second, e.Call.Args)
				}
			case llm.TextDelta:
				if utf8.ValidString(first) && utf8.ValidString(second) && !utf8.ValidString(e.Text) {
					t.Fatalf("%q: broken text %q", second, e.Text)
				}
			}
		}
		if last.Kind != llm.Done {
			t.Fatalf("%q: the stream ended with %v", second, last.Kind)
		}
	})
}

// FuzzCompile: no pattern text crashes the compiler.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{"a [b|c] {x}", "((", "{", "{a=b|c", "@x", "[]", "{+}", "a)b", "|", "{a=}", "@z", "{@x=@x}"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		c := newCompiler(map[string]string{"x": "a|@y", "y": "b", "z": "@z"}, map[string]bool{})
		_, _ = c.compilePattern(s)
	})
}

// TestPlan_LongMessages: prose of any length is kept or declined quickly.
func TestPlan_LongMessages(t *testing.T) {
	b := New(testOptions(""))
	long := strings.Repeat("lorem ipsum dolor, sit amet and so on. ", 50_000)
	for _, tc := range []struct{ said, call string }{
		{"remember that " + long, "remember"},
		{"note: " + long, "create_note"},
		{long, ""},
		{strings.Repeat("x", 4<<20), ""},
	} {
		got, err := llm.Collect(b.Stream(t.Context(), newRequest(corpusTime(t), userMessage(tc.said))))
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		for _, c := range got.Calls() {
			name += c.Name
			var args struct{ Text string }
			if err := json.Unmarshal(c.Args, &args); err != nil || len(args.Text) < len(long)-10 {
				t.Errorf("%s keeps %d of %d bytes", c.Name, len(args.Text), len(long))
			}
		}
		if name != tc.call {
			t.Errorf("%.30q led to %q", tc.said, name)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	g := New(testOptions("")).grammar()
	now := time.Date(2026, 3, 4, 10, 15, 0, 0, time.UTC)
	for _, s := range []string{
		"remind me tomorrow at 9 to call the plumber", "add a task to buy milk and remind me at 6pm to cook",
		"what is the meaning of life, the universe and everything?", "I wonder, when the rain stops and the sun comes out, whether we could go for a walk, or not",
	} {
		b.Run(s[:20], func(b *testing.B) {
			for b.Loop() {
				g.planRequests(s, now, 0)
			}
		})
	}
}

func BenchmarkAnswer(b *testing.B) {
	g := New(testOptions("")).grammar()
	now := time.Date(2026, 3, 4, 10, 15, 0, 0, time.UTC)
	for _, s := range []string{"add a task: water the plants", "remind me tomorrow at 9 to call the plumber", "what is on my list?", "hello"} {
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g.inDialogue(nil).answerTo(nil, s, now)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := loadGrammar(testOptions("Hob")); err != nil {
			b.Fatal(err)
		}
	}
}
