package autonomy_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hob/autonomy/bus"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/turn/results"
	"hob/platform/provenance"
	"hob/tools"
)

var readRest = regexp.MustCompile(`use_tool (\{"name":"read_result","arguments":\{"id":"call_[^"]*","offset":\d+\}\})`)

// withResults returns an engine that stores long results and has a tool with a long result.
func withResults(t *testing.T, dir string, m *llmtest.Scripted) *engine {
	t.Helper()
	k, err := results.New(results.Options{Dir: filepath.Join(dir, "results")})
	failOnError(t, err)
	var e *engine
	long := tools.New(tools.Def[textArgs]{
		Spec: tools.Spec{Name: "long_page", Category: "test", Description: "A long page.", Effects: tools.Read, Core: true},
		Run: func(context.Context, tools.Call, textArgs) (tools.Result, error) {
			return tools.Result{Text: strings.Repeat("hay ", 5000) + "the needle" + strings.Repeat(" hay", 5000), Source: provenance.Outside}, nil
		},
	})
	read := results.Tool(k, func(ctx context.Context, call string) (bus.Entry, error) { return e.bus.Ledger.Call(ctx, call) })
	e = startEngine(t, setup{dir: dir, model: m, tools: []tools.Tool{long, read}, results: k})
	return e
}

// The shortened text explains how to read the rest: in the same turn, in a later turn and after a
// restart. Other conversations cannot read it.
func TestLongResult_RestCanBeRead(t *testing.T) {
	dir := t.TempDir()
	var rest string
	brain := func() *llmtest.Scripted {
		return modelFrom(func(r llmtest.Request) llmtest.Answer {
			last := ""
			if n := len(r.Results); n > 0 {
				last = r.Results[n-1].Text
			}
			switch {
			case strings.Contains(last, "characters left out"):
				rest = readRest.FindStringSubmatch(last)[1]
				return callsAnswer(newCall("use_tool", rest))
			case r.Round == 0 && strings.Contains(r.LastUser, "the page"):
				return callsAnswer(newCall("long_page", `{"text":"x"}`))
			case r.Round == 0:
				return callsAnswer(newCall("use_tool", strings.Replace(rest, `"offset":`, `"search":"NEEDLE","limit":`, 1)))
			}
			return llmtest.Answer{Text: last}
		})
	}
	e := withResults(t, dir, brain())
	if got := e.askHob("s", "read the page"); !strings.Contains(got, "the needle") || !strings.Contains(got, "continue with offset") {
		t.Errorf("read in the same turn: …%s", got[max(0, len(got)-200):])
	}
	if got := e.askHob("s", "search"); !strings.Contains(got, "[at 20004]") {
		t.Errorf("read in a later turn: %s", got)
	}
	if got := e.askHob("t", "search"); !strings.Contains(got, "no call") {
		t.Errorf("read in another conversation: %s", got)
	}
	e.stop()
	e = withResults(t, dir, brain())
	id := e.putMessage("s", "search again", "")
	if got := e.awaitSettled(id).Answer; !strings.Contains(got, "[at 20004]") {
		t.Errorf("read after a restart: %s", got)
	}
	rows, err := e.bus.Ledger.Calls(t.Context(), id)
	failOnError(t, err)
	if len(rows) != 1 || rows[0].Tool != "read_result" || rows[0].Source != provenance.Outside {
		t.Errorf("ledger %s", fmt.Sprint(rows))
	}
}
