package autonomy_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
)

// While the first model of a chain fails, the second one answers. After several failures the first
// model is no longer called. After the pause, one message tries the first model again; if that
// fails, another pause begins.
func TestFallback_ReturnsToTheFirstModel(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first := llmtest.NewScripted(llmtest.Options{Info: llm.Info{Provider: "first", Model: "m", Tools: true}}, llmtest.Answer{Status: 503, Times: 18}, llmtest.Answer{Text: "first", Times: -1})
		second := llmtest.NewScripted(llmtest.Options{Info: llm.Info{Provider: "second", Model: "m", Tools: true}}, llmtest.Answer{Text: "second", Times: -1})
		chain := llm.Fallback(llm.Breaker(llm.Retry(first, llm.RetryOptions{}), llm.BreakerOptions{}), llm.Breaker(second, llm.BreakerOptions{}))
		e := startEngine(t, setup{dir: dir, model: chain})
		for i := range 6 {
			before := len(first.Requests())
			if got := e.askHob("s", "hello"); got != "second" {
				t.Fatalf("message %d: %q", i+1, got)
			}
			if asked := len(first.Requests()) - before; i < 5 && asked != 3 || i == 5 && asked != 0 {
				t.Errorf("message %d: %d calls of the first model", i+1, asked)
			}
		}
		time.Sleep(time.Minute)
		before := len(first.Requests())
		if got := e.askHob("s", "hello"); got != "second" || len(first.Requests()) == before {
			t.Errorf("after the pause: answer %q, %d calls of the first model", got, len(first.Requests())-before)
		}
		if got := e.askHob("s", "hello"); got != "second" {
			t.Errorf("after a failed trial: answer %q", got)
		}
		time.Sleep(time.Minute)
		if got := e.askHob("s", "hello"); got != "first" {
			t.Errorf("after the first model works again: answer %q", got)
		}
		if got := e.askHob("s", "hello"); got != "first" {
			t.Errorf("the answer after that: %q", got)
		}
		e.stop()
	})
}

// Without a fallback model, the owner gets one sentence about the failure.
func TestFallback_NoneReportsFailureInOneSentence(t *testing.T) {
	m := llmtest.NewScripted(llmtest.Options{Info: llm.Info{Provider: "work", Model: "m", Tools: true}}, llmtest.Answer{Status: 400, Body: `{"error":{"message":"bad schema","code":"x"}}`})
	e := startEngine(t, setup{model: m})
	got := e.askHob("s", "hello")
	if !strings.HasPrefix(got, "Sorry, that did not work: ") || !strings.Contains(got, "refused the request") || !strings.Contains(got, "hob config set agent.model") || strings.ContainsAny(got, "{}\n") {
		t.Errorf("%q", got)
	}
}
