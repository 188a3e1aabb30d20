package goals

import (
	"strings"
	"testing"
	"time"

	"hob/tools"
)

func TestParse(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name, text string
		want       Verdict
		next       time.Time
		err        string
	}{
		{"act", `{"decision":"act","confidence":0.8,"reason":"r","action":"do it","risk":"write"}`, DoIt, time.Time{}, ""},
		{"fenced", "```json\n{\"decision\":\"defer\",\"confidence\":1,\"reason\":\"r\"}\n```", Defer, time.Time{}, ""},
		{"duration", `{"decision":"defer","confidence":1,"reason":"r","next_review":"6h"}`, Defer, now.Add(6 * time.Hour), ""},
		{"moment", `{"decision":"defer","confidence":1,"reason":"r","next_review":"2026-03-11T08:00:00Z"}`, Defer, time.Date(2026, 3, 11, 8, 0, 0, 0, time.UTC), ""},
		{"in the past", `{"decision":"defer","confidence":1,"reason":"r","next_review":"2020-03-11T08:00:00Z"}`, Defer, now.Add(MinEvery), ""},
		{"too late", `{"decision":"defer","confidence":1,"reason":"r","next_review":"9000h"}`, Defer, now.Add(furthest), ""},
		{"prose", "I think we should act.", "", time.Time{}, "not the one requested JSON object"},
		{"two objects", `{"decision":"defer","confidence":1,"reason":"r"} {}`, "", time.Time{}, "more than the one"},
		{"another key", `{"decision":"defer","confidence":1,"reason":"r","approved":true}`, "", time.Time{}, "unknown field"},
		{"no confidence", `{"decision":"defer","reason":"r"}`, "", time.Time{}, "lacks one of"},
		{"confidence above 1", `{"decision":"defer","confidence":1.5,"reason":"r"}`, "", time.Time{}, "between 0 and 1"},
		{"unsure of the form", `{"decision":"defer","confidence":"high","reason":"r"}`, "", time.Time{}, "JSON"},
		{"an action without text", `{"decision":"act","confidence":1,"reason":"r"}`, "", time.Time{}, `requires "action"`},
		{"unknown decision", `{"decision":"panic","confidence":1,"reason":"r"}`, "", time.Time{}, "is not a decision"},
		{"unknown risk", `{"decision":"act","confidence":1,"reason":"r","action":"x","risk":"none"}`, "", time.Time{}, "unknown risk level"},
		{"unknown time", `{"decision":"defer","confidence":1,"reason":"r","next_review":"soon"}`, "", time.Time{}, "next_review"},
		{"null", `null`, "", time.Time{}, "lacks one of"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, err := Parse(tc.text, now)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%+v, %v", d, err)
				}
				return
			}
			if err != nil || d.Verdict != tc.want || !d.Next.Equal(tc.next) {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"decision":"act","confidence":0.8,"reason":"r","action":"do it","risk":"write","next_review":"6h"}`)
	f.Add("```json\n{}\n```")
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text, now)
		if err != nil {
			return
		}
		if d.Confidence < 0 || d.Confidence > 1 || !d.Next.IsZero() && (d.Next.Before(now) || d.Next.After(now.Add(furthest))) || d.Verdict == DoIt && d.Action == "" {
			t.Errorf("parsed %q as %+v", text, d)
		}
	})
}

func TestRiskOf(t *testing.T) {
	for _, tc := range []struct {
		name    string
		effects tools.Effects
		want    Risk
	}{
		{"looks", tools.Read, RiskRead},
		{"writes", tools.Read | tools.Write, RiskWrite},
		{"sends", tools.Write | tools.Send, RiskSend},
		{"asks the net", tools.Egress, RiskSend},
		{"runs", tools.Exec, RiskDestroy},
		{"destroys", tools.Destroy | tools.Read, RiskDestroy},
		{"contains a secret", tools.Secret, RiskDestroy},
		{"empty", 0, RiskDestroy},
		{"unknown", 1 << 7, RiskDestroy},
	} {
		if got := RiskOf(tc.effects); got != tc.want {
			t.Errorf("%s: RiskOf = %s", tc.name, got)
		}
	}
	if got := (Thresholds{}).withDefaults().Of("unheard of"); got != 0.9 {
		t.Errorf("threshold of an unknown risk = %v, want 0.9", got)
	}
}
