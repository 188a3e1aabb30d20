package autonomy_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/autonomy/llm/llmtest"
	"hob/platform/provenance"
	"hob/platform/store/storetest"
	"hob/tools"
)

type pathArgs struct {
	Path string `json:"path"`
}

func changePath(path string) llmtest.Call {
	return newCall("change_path", fmt.Sprintf(`{"path":%q}`, path))
}

// pathTool returns a tool that calls run to change a path.
func pathTool(run func(ctx context.Context, path string) error) tools.Tool {
	return tools.New(tools.Def[pathArgs]{
		Spec:  tools.Spec{Name: "change_path", Category: "test", Description: "Change a path.", Effects: tools.Write, Core: true},
		Paths: func(in pathArgs) []string { return []string{in.Path} },
		Run: func(ctx context.Context, _ tools.Call, in pathArgs) (tools.Result, error) {
			return tools.Result{Source: provenance.Tool, Text: "changed " + in.Path}, run(ctx, in.Path)
		},
	})
}

// Each call waits for the other to begin, and the second ends first.
func TestParallelCalls_RunTogetherOnDisjointPaths(t *testing.T) {
	first, second, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	tool := pathTool(func(_ context.Context, path string) error {
		if path == "/a" {
			close(first)
			<-second
			<-ended
			return nil
		}
		close(second)
		<-first
		close(ended)
		return nil
	})
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		if r.Round == 0 {
			return callsAnswer(changePath("/a"), changePath("/b"))
		}
		return llmtest.Answer{Text: "both"}
	})
	e := startEngine(t, setup{model: m, tools: []tools.Tool{tool}})
	id := e.putMessage("s", "change both", "")
	if got := e.awaitSettled(id).Answer; got != "both" {
		t.Error(got)
	}
	if d := cmp.Diff([]string{"changed /a", "changed /b"}, lastResults(m)); d != "" {
		t.Error(d)
	}
	rows, err := e.bus.Ledger.Calls(t.Context(), id)
	failOnError(t, err)
	if len(rows) != 2 || rows[0].State != bus.CallDone || rows[1].State != bus.CallDone || rows[0].Call == rows[1].Call {
		t.Errorf("ledger %+v", rows)
	}
}

// Calls whose paths overlap run in order.
func TestParallelCalls_RunInOrderOnOverlappingPaths(t *testing.T) {
	var mu sync.Mutex
	var order []string
	tool := pathTool(func(_ context.Context, path string) error {
		if !mu.TryLock() {
			t.Errorf("%s ran in parallel with a call on the same path", path)
			return nil
		}
		defer mu.Unlock()
		order = append(order, path)
		return nil
	})
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		if r.Round == 0 {
			return callsAnswer(changePath("/a/b"), changePath("/c"), changePath("/a"))
		}
		return llmtest.Answer{Text: "all"}
	})
	e := startEngine(t, setup{model: m, tools: []tools.Tool{tool}})
	if got := e.askHob("s", "change them"); got != "all" {
		t.Error(got)
	}
	if d := cmp.Diff([]string{"/a/b", "/c", "/a"}, order); d != "" {
		t.Error(d)
	}
}

// All calls that ran in parallel when Hob was killed have an unknown outcome, and none is repeated.
func TestParallelCalls_AreUnknownAfterACrash(t *testing.T) {
	storetest.FileOnly(t, "the test copies the files as a SIGKILL leaves them")
	both := func(llmtest.Request) llmtest.Answer { return callsAnswer(changePath("/a"), changePath("/b")) }
	snaps := &snapshots{t: t}
	var inside sync.WaitGroup
	inside.Add(2)
	taken := make(chan struct{})
	tool := pathTool(func(_ context.Context, path string) error {
		inside.Done()
		inside.Wait()
		if path == "/a" {
			snaps.takeSnapshot("both run")
			close(taken)
		}
		<-taken
		return nil
	})
	dir := t.TempDir()
	snaps.path = filepath.Join(dir, "hob.db")
	e := startEngine(t, setup{dir: dir, tools: []tools.Tool{tool}, model: modelFrom(func(r llmtest.Request) llmtest.Answer {
		if r.Round == 0 {
			return both(r)
		}
		return llmtest.Answer{Text: "done"}
	})})
	id := e.putMessage("s", "change both", "")
	e.awaitSettled(id)
	again := pathTool(func(_ context.Context, path string) error {
		t.Errorf("%s was changed a second time", path)
		return nil
	})
	m := modelFrom(func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Text: "nobody knows"} })
	after := startEngine(t, setup{dir: snaps.taken[0].dir, model: m, tools: []tools.Tool{again}})
	if got := after.awaitSettled(id).Answer; got != "nobody knows" {
		t.Error(got)
	}
	checkCallsPaired(t, m)
	ledger, err := after.bus.Ledger.Calls(t.Context(), id)
	failOnError(t, err)
	if len(ledger) != 2 || ledger[0].State != bus.CallUnknown || ledger[1].State != bus.CallUnknown {
		t.Errorf("ledger %+v", ledger)
	}
}
