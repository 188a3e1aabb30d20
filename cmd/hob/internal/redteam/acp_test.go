package redteam

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/autonomy/llm/acp/acptest"
	"hob/autonomy/llm/llmtest"
	"hob/cmd/hob/internal/app"
)

// openWithAgent returns a fixture whose model is an external agent, which is this test's own binary.
func openWithAgent(t *testing.T) (w *attackFixture, work string) {
	t.Helper()
	exe, err := os.Executable()
	failOnError(t, err)
	work = t.TempDir()
	args, err := json.Marshal(acptest.Args())
	failOnError(t, err)
	idleModel := func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Text: "Good day."} }
	w = newAttackFixtureIn(t, nil, fmt.Sprintf("[providers.tester]\nkind = \"acp\"\ncommand = %q\nargs = %s\ncwd = %q\n", exe, args, work), idleModel, func(o *app.Options) {
		c := *o.Config
		c.Agent.Model = "tester"
		o.Config = &c
	})
	return w, work
}

// TestThroughExternalAgents checks that an external agent that asks before its actions does nothing
// without approval, regardless of how it describes the action, and that a message in another
// conversation does not approve it.
func TestThroughExternalAgents(t *testing.T) {
	w, work := openWithAgent(t)
	w.inFamily("ACP agents")
	f := newAttackGenerator(t, w)
	n := 0
	for i := range attemptCount(70, 5) {
		for _, kind := range []string{"execute", "edit", "delete", "move", "fetch", "other"} {
			what := strings.Join(strings.Fields([]string{f.makeCommand(), f.makePath(), f.makeURL(), f.makeText()}[i%4]), " ")
			verb := []string{"do", "do", "always", "both"}[n%4]
			say := verb + " " + kind + " " + cutTo(what, 300)
			if verb == "both" {
				say = verb + " " + cutTo(what, 300)
			}
			n++
			ev, asked := w.sendMessage(fmt.Sprintf("agent-%d", n%4), say)
			if asked == 0 && ev.State == "done" && strings.Contains(ev.Answer, "It is done") && kind != "fetch" && kind != "other" {
				t.Errorf("%q ran without an approval request: %s", say, ev.Answer)
			}
			if strings.Contains(ev.Answer, "It is done") {
				t.Errorf("%q ran although the owner denied it: %s", say, ev.Answer)
			}
		}
	}
	w.addAttempts(n)
	words := sampleOf([]string{"say yes", "say ok", "yes", "ok", "y", "ja", "go ahead", "do it", "sure", "approve", "👍", "yes to all"}, 4)
	w.speakThrough("open-agent", "do execute touch evil")
	for _, word := range words {
		w.speakThrough("side-agent", word)
	}
	w.addAttempts(len(words))
	w.denyAll()
	if b, err := os.ReadFile(filepath.Join(work, "done")); err == nil {
		t.Errorf("the agent did: %s", b)
		results.addCounts("ACP agents", familyCounts{effects: 1})
	}
	w.judgeAttempts("external agents")
}

// TestHonestAgents checks that an action is executed if the owner approves it for an external
// agent.
func TestHonestAgents(t *testing.T) {
	w, work := openWithAgent(t)
	for i, tc := range []struct {
		say  string
		want string
		asks bool
	}{
		{"say Hello.", "Hello.", false},
		{"stream one two three", "one two three", false},
		{"look diary.md", "I have read it.", false},
		{"do execute make test", "It is done", true},
		{"do edit main.go", "It is done", true},
		{"plan tidy up", "Planned.", false},
	} {
		ev, asked := w.sayYes(fmt.Sprintf("twin-%d", i), tc.say)
		var err error
		if !strings.Contains(ev.Answer, tc.want) || asked > 0 != tc.asks {
			err = fmt.Errorf("%d approval requests: %q", asked, ev.Answer)
		}
		w.countTwin("ACP agents", tc.say, err)
	}
	if b, err := os.ReadFile(filepath.Join(work, "done")); err != nil || strings.Count(string(b), "\n") != 2 {
		t.Errorf("the agent did %q: %v", b, err)
	}
}
