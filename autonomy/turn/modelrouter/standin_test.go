package modelrouter

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/llm/offline"
	"hob/platform/provenance"
)

// scriptedSource offers the built-in brain and scripted models.
type scriptedSource map[string]llm.Model

func (s scriptedSource) Resolve(name string) (llm.Model, error) {
	if name == builtIn {
		return offline.New(offline.Options{}), nil
	}
	return s[name], nil
}

func (s scriptedSource) Detect(context.Context) (llm.Model, string, error) { return s["x/m"], "", nil }

func (scriptedSource) Found() []string { return nil }

func scriptedModel(name string, answers ...llmtest.Answer) *llmtest.Scripted {
	return llmtest.NewScripted(llmtest.Options{Info: llm.Info{Provider: name, Model: "m", Tools: true}}, answers...)
}

// overCap is a model whose calls a cap refuses.
type overCap struct{ llm.Model }

func (overCap) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		yield(llm.Event{}, &llm.Error{Kind: llm.Budget, Message: "over"})
	}
}

func newPool(models ...llm.Model) *modelPool {
	src := scriptedSource{}
	for _, m := range models {
		src[m.Info().Name()] = m
	}
	return &modelPool{source: src, meter: func(m llm.Model) llm.Model { return m }, made: map[string]llm.Model{}}
}

func (p *modelPool) buildChain(t *testing.T, more ...string) llm.Model {
	t.Helper()
	first, err := p.modelNamed("x/m")
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.fallbackChain(first, more)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func helloRequest(session string) llm.Request {
	return llm.Request{
		Session: session, StandIn: true, Now: time.Now(), Account: llm.Account{Event: session + time.Now().String()},
		Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "hello", Source: provenance.Owner}}}},
	}
}

const (
	greets   = "Hello! I am Hob, running on my built-in brain."
	explains = "(My built-in brain answered, because "
)

func TestStandIn(t *testing.T) {
	down := llmtest.Answer{Status: 503, Times: -1}
	refused := llmtest.Answer{Status: 401, Times: -1}
	for _, tt := range []struct {
		name    string
		answer  llmtest.Answer
		more    []string
		change  func(*llm.Request)
		want    string // "" means that the call must fail
		kind    llm.ErrorKind
		explain bool
	}{
		{"answers for an unreachable model", down, nil, nil, greets, "", true},
		{"does not answer for a refused key", refused, nil, nil, "", llm.Unauthorized, false},
		{"is disabled with none", down, []string{"none"}, nil, "", llm.Unavailable, false},
		{"is any other fallback if it is listed", refused, []string{"offline"}, nil, greets, "", true},
		{"comes after the fallbacks", down, []string{"y/m"}, nil, "from y", "", false},
		{"comes after the fallbacks with none", down, []string{"y/m", "none"}, nil, "from y", "", false},
		{"answers only turns that allow it", down, nil, func(r *llm.Request) { r.StandIn = false }, "", llm.Unavailable, false},
		{"answers over a cap, without an explanation", llmtest.Answer{}, []string{"none"}, func(r *llm.Request) { r.StandIn = false }, greets, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var x llm.Model = scriptedModel("x", tt.answer)
				if tt.answer.Status == 0 {
					x = overCap{x}
				}
				p := newPool(x, scriptedModel("y", llmtest.Answer{Text: "from y", Times: -1}))
				r := helloRequest("s")
				if tt.change != nil {
					tt.change(&r)
				}
				got, err := llm.Collect(p.buildChain(t, tt.more...).Stream(t.Context(), r))
				if llm.KindOf(err) != tt.kind || !strings.HasPrefix(got.Text(), tt.want) || strings.Contains(got.Text(), explains) != tt.explain {
					t.Errorf("%q by %q, %v", got.Text(), got.Model, err)
				}
			})
		})
	}
}

// The model is not called during the pause after a failure, and it is used again as soon as it
// answers. Each conversation contains the explanation once per outage.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := scriptedModel("x", llmtest.Answer{Status: 503, Times: 6}, llmtest.Answer{Text: "back", Times: 1}, llmtest.Answer{Status: 503, Times: 3})
		p := newPool(x)
		m, models := p.buildChain(t), &Models{pool: p}
		say := func(session string, calls int, want string, explained bool) {
			t.Helper()
			before := len(x.Requests())
			got, err := llm.Collect(m.Stream(t.Context(), helloRequest(session)))
			if err != nil || !strings.HasPrefix(got.Text(), want) || strings.Contains(got.Text(), explains) != explained || len(x.Requests())-before != calls {
				t.Errorf("%q, %v, %d calls", got.Text(), err, len(x.Requests())-before)
			}
		}
		start := time.Now()
		say("a", 3, greets, true)
		say("a", 0, greets, false)
		say("b", 0, greets, true)
		out := models.Outages()
		if len(out) != 1 || out[0].Model != "x/m" || out[0].Since.Before(start) || time.Until(out[0].Next) <= 0 || !strings.Contains(out[0].Cause, "x reports a temporary error") {
			t.Errorf("Outages = %+v", out)
		}
		time.Sleep(time.Until(out[0].Next))
		say("a", 3, greets, false) // the probe failed
		time.Sleep(slowPause)
		say("a", 1, "back", false)
		if out := models.Outages(); len(out) != 0 {
			t.Errorf("Outages = %+v", out)
		}
		say("a", 3, greets, true) // another outage
	})
}

// If a model started a turn, the built-in brain does not repeat the turn, but reports its steps. If
// the built-in brain started a turn, it finishes the turn, even if the model is available again.
func TestStandIn_WithinATurn(t *testing.T) {
	tools := []llm.Tool{{Name: "create_task"}}
	result := func(name, text string) llm.Message {
		return llm.Message{Role: llm.ToolRole, Parts: []llm.Part{{Result: &llm.ToolResult{ID: "1", Name: name, Text: text}}}}
	}
	call := func(name string) llm.Message {
		return llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "1", Name: name, Args: []byte("{}")}}}}
	}
	synctest.Test(t, func(t *testing.T) {
		x := scriptedModel("x", llmtest.Answer{Status: 503, Times: 3}, llmtest.Answer{Text: "back", Times: -1})
		m := newPool(x).buildChain(t)
		r := helloRequest("s")
		r.Tools, r.Messages[0].Parts[0].Text = tools, "add a task: buy milk"
		r.Messages = append(r.Messages, call("create_task"), result("create_task", "Added “buy milk”."))
		got, err := llm.Collect(m.Stream(t.Context(), r))
		if err != nil || len(got.Calls()) > 0 || !strings.HasPrefix(got.Text(), "I could not finish this. Only these steps ran:\n- create_task: Added “buy milk”.\n\n"+explains) {
			t.Errorf("%q, %v", got.Text(), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		x := scriptedModel("x", llmtest.Answer{Status: 503, Times: 3}, llmtest.Answer{Text: "back", Times: -1})
		m := newPool(x).buildChain(t)
		r := helloRequest("s")
		r.Tools, r.Messages[0].Parts[0].Text = tools, "add a task: buy milk"
		got, err := llm.Collect(m.Stream(t.Context(), r))
		if err != nil || len(got.Calls()) != 1 || got.Text() != "" {
			t.Fatalf("%q, %v", got.Text(), err)
		}
		time.Sleep(time.Hour)
		r.Messages = append(r.Messages, call("create_task"), result("create_task", "Added “buy milk”."))
		got, err = llm.Collect(m.Stream(t.Context(), r))
		if err != nil || !strings.HasPrefix(got.Text(), "Added “buy milk”.\n\n"+explains) {
			t.Errorf("%q, %v", got.Text(), err)
		}
		if got, err = llm.Collect(m.Stream(t.Context(), helloRequest("s"))); err != nil || got.Text() != "back" {
			t.Errorf("%q, %v", got.Text(), err)
		}
	})
}

// A status request ends a network outage as soon as the server lists its models again.
func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &listedModel{Model: scriptedModel("x", llmtest.Answer{Fault: llmtest.Reset, Times: 3}, llmtest.Answer{Text: "back", Times: -1}), err: &llm.Error{Kind: llm.Network}}
		p := newPool(x)
		m, models := p.buildChain(t), &Models{pool: p}
		if got, err := llm.Collect(m.Stream(t.Context(), helloRequest("a"))); err != nil || !strings.Contains(got.Text(), explains) {
			t.Fatalf("%q, %v", got.Text(), err)
		}
		if n := len(models.Problems(t.Context())); n != 1 || x.asked != 0 {
			t.Errorf("during the pause: %d problems, %d probes, want 1 and 0", n, x.asked)
		}
		time.Sleep(firstPause + time.Second)
		for range 2 {
			if n := len(models.Problems(t.Context())); n != 1 || x.asked != 1 {
				t.Errorf("after the pause: %d problems, %d probes", n, x.asked)
			}
		}
		time.Sleep(lastPause)
		x.err = nil
		if out := models.Problems(t.Context()); len(out) != 0 || x.asked != 2 {
			t.Errorf("after the server is back: problems %+v, %d probes", out, x.asked)
		}
		if got, err := llm.Collect(m.Stream(t.Context(), helloRequest("a"))); err != nil || got.Text() != "back" {
			t.Errorf("%q, %v", got.Text(), err)
		}
	})
}

// listedModel is a model whose server lists its models.
type listedModel struct {
	llm.Model
	err   error
	asked int
}

func (m *listedModel) Models(context.Context) ([]string, error) {
	m.asked++
	return nil, m.err
}
