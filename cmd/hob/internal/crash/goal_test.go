//go:build unix

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"hob/autonomy/llm/llmtest"
)

var goalWord = regexp.MustCompile(`aim (\d+)`)

// goalReply decides to act on each goal, acts once, and reports it.
func goalReply(r llmtest.Request) (llmtest.Answer, bool) {
	aims := goalWord.FindAllStringSubmatch(r.LastUser, -1)
	if aims == nil {
		return llmtest.Answer{Text: "what?"}, true
	}
	m := aims[len(aims)-1] // the last match; earlier ones come from Hob's context about other goals
	switch {
	case strings.Contains(r.LastUser, "This is the review"):
		return llmtest.Answer{Text: fmt.Sprintf(`{"decision":"act","confidence":1,"reason":"it is due","action":"do aim %s","risk":"write"}`, m[1])}, true
	case len(r.Results) > 0:
		return llmtest.Answer{Text: "done with aim " + m[1]}, true
	}
	b, _ := json.Marshal(map[string]any{"name": "create_task", "arguments": map[string]string{"title": "aim " + m[1]}})
	return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: string(b)}}}, true
}

// Goals become due while the daemon is killed repeatedly: each is reviewed once, its decision is
// executed once, and the owner is notified once.
func TestGoalsOverKills(t *testing.T) {
	t.Parallel()
	const goals = 10
	kills := envNumber("HOB_CRASH_KILLS", 12)/3 + 1
	w := newFixture(t, uint64(envNumber("HOB_CRASH_SEED", 1)))
	w.replies = goalReply
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	w.daemonUp()
	for n := range goals {
		in := map[string]any{"description": fmt.Sprintf("aim %d", n), "next_review": time.Now().Add(time.Duration(n) * 1500 * time.Millisecond).UTC().Format(time.RFC3339Nano)}
		var out struct{ Code string }
		if err := w.Call(ctx, http.MethodPost, "/api/v1/goals", in, &out); err != nil || out.Code != "" {
			t.Fatalf("goal %d: %v %s", n, err, out.Code)
		}
	}
	for n := range kills {
		w.killOnce(n)
	}
	w.daemonUp()
	told := func() map[string]int {
		out := map[string]int{}
		for _, d := range w.receiver.All() {
			if d.Kind == "notice" {
				out[d.Text]++
			}
		}
		return out
	}
	w.waitUntil(ctx, "all goals", func() bool { return len(told()) >= goals })
	var tasks []struct{ Title string }
	failOnError(t, w.Call(ctx, http.MethodGet, "/api/v1/tasks?all=1", nil, &tasks))
	made := map[string]int{}
	for _, task := range tasks {
		made[task.Title]++
	}
	var list []struct{ ID, Description string }
	failOnError(t, w.Call(ctx, http.MethodGet, "/api/v1/goals", nil, &list))
	for n := range goals {
		if got := told()[fmt.Sprintf("done with aim %d", n)]; got != 1 {
			t.Errorf("goal %d was reported %d times", n, got)
		}
		if got := made[fmt.Sprintf("aim %d", n)]; got != 1 {
			t.Errorf("goal %d was acted on %d times", n, got)
		}
	}
	for _, g := range list {
		var one []struct {
			Reviews []struct{ Phase, Error string }
		}
		failOnError(t, w.Call(ctx, http.MethodGet, "/api/v1/goals?id="+g.ID, nil, &one))
		phases := ""
		for _, r := range one[0].Reviews {
			phases += r.Phase + r.Error + " "
		}
		if phases != "act review " {
			t.Errorf("%s: %q", g.Description, phases)
		}
	}
	t.Logf("kills at failpoints %v, %d at random instants", w.points, w.random)
	w.Stop()
}
