package replay

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/autonomy/llm"
	"hob/autonomy/session"
	"hob/platform/provenance"
)

func TestNew_RejectsMissingOptions(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("New accepts empty options")
	}
}

func TestCompareStamps(t *testing.T) {
	was := session.RequestFingerprint{System: "s1", Tools: "kept 1\ngone 2\nchanged 3\n"}
	now := session.RequestFingerprint{System: "s2", Tools: "kept 1\nadded 2\nchanged 4\n"}
	var got []Difference
	d := &differences{list: &got}
	d.compareStamps(was, now)
	want := []Difference{
		{What: "system", Was: "s1", Now: "s2"},
		{What: "tools", Where: "added", Was: "not offered", Now: "offered"},
		{What: "tools", Where: "changed", Was: "described as 3", Now: "described as 4"},
		{What: "tools", Where: "gone", Was: "offered", Now: "not offered"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = nil
	d.compareStamps(session.RequestFingerprint{}, now)
	if len(got) != 0 {
		t.Errorf("comparison without fingerprints = %+v, want no difference", got)
	}
}

func TestCompareMessages(t *testing.T) {
	answer := func(text string, src provenance.Source) llm.Message {
		return llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: text, Source: src}}}
	}
	results := func(texts ...string) (m llm.Message) {
		m.Role = llm.ToolRole
		for _, text := range texts {
			m.Parts = append(m.Parts, llm.Part{Result: &llm.ToolResult{Name: "read_page", Text: text}, Source: provenance.Tool})
		}
		return m
	}
	for _, c := range []struct {
		name     string
		was, now []llm.Message
		want     []Difference
	}{
		{"the same", []llm.Message{answer("a", provenance.Tool)}, []llm.Message{answer("a", provenance.Tool)}, nil},
		{"another text", []llm.Message{answer("a", provenance.Tool)}, []llm.Message{answer("b", provenance.Tool)}, []Difference{{What: "answer", Was: "a", Now: "b"}}},
		{"another source", []llm.Message{answer("a", provenance.Tool)}, []llm.Message{answer("a", provenance.Outside)}, []Difference{{What: "provenance", Where: "of the answer", Was: "clean", Now: "outside"}}},
		{"a missing result", []llm.Message{results("1", "2")}, []llm.Message{results("1")}, []Difference{{What: "result", Where: "read_page", Was: "2"}}},
		{"one answer more", nil, []llm.Message{answer("a", provenance.Tool)}, []Difference{{What: "answer", Now: "a"}}},
	} {
		var got []Difference
		(&differences{list: &got}).compareMessages(c.was, c.now)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestCompareVerdicts_ComparesCallsOfBothTurns(t *testing.T) {
	var got []Difference
	was := []bus.Entry{{Call: "1", Tool: "t", Decision: "allow"}, {Call: "2", Tool: "t", Decision: "allow"}}
	(&differences{list: &got}).compareVerdicts(was, []bus.Entry{{Call: "1", Tool: "t", Decision: "deny"}})
	if diff := cmp.Diff([]Difference{{What: "verdict", Where: "t", Was: "allow", Now: "deny"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestComparison_TextShowsWhereTextsDiffer(t *testing.T) {
	same := strings.Repeat("x", 300)
	c := Comparison{Turn: "t", Session: "s", ModelCalls: 1, Differences: []Difference{{What: "system", Was: same + "old", Now: same + "new"}, {What: "answer", Now: "more"}}}
	got := c.Text()
	for _, want := range []string{"2 differences: turn t of s", "- … xxx", "xold\n", "xnew\n", "- (nothing)\n  + more"} {
		if !strings.Contains(got, want) {
			t.Errorf("the text does not contain %q:\n%s", want, got)
		}
	}
	if c = (Comparison{Same: true}); !strings.HasPrefix(c.Text(), "no differences: ") {
		t.Error(c.Text())
	}
}
