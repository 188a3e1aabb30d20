// Package llmtest replaces language models in tests. It contains
//
//   - Server, a model server on loopback that supports the Anthropic Messages and
//     the OpenAI Chat Completions wire formats, streamed or not, answers from a
//     script and misbehaves on demand (Fault);
//   - Scripted, which uses the same script as an in-process llm.Model, for tests of
//     the engine that need no HTTP;
//   - Conformance, the suite that every HTTP driver runs.
//
// A script is a list of Answers, from Go or from a txtar scenario (ParseScript):
//
//	srv := llmtest.NewServer(t, llmtest.Options{},
//		llmtest.Answer{Match: "stretch", Calls: []llmtest.Call{{Name: "create_reminder", Args: `{"text":"stretch"}`}}},
//		llmtest.Answer{Match: "stretch", Text: "I will remind you."},
//	)
//	// point base_url of a provider at srv.URL; afterwards check srv.Requests()
//
// For each request, the first unused answer with a matching Match (and Result) is used. If none
// matches, answers without conditions are used in order. When the script is exhausted,
// Options.Reply and Options.Otherwise are tried, and finally the request is refused with status 400
// and the text "the script has no answer". The server has no state except the script, so the
// process under test may be killed at any time. For crash tests use Options.Reply, which receives
// the whole conversation, instead of a list that is used up.
//
// Only tests and benchmarks import the package.
package llmtest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/llm"
)

// Target holds the connection data for a driver under test: the server's address, the only client
// that can reach it, and the expected key (Key). Stall stays at the driver's default.
type Target struct {
	URL  string
	HTTP *http.Client
	Key  string
}

// Conformance runs the suite for HTTP drivers. Every case has its own in-memory server inside a
// testing/synctest bubble: waiting takes no real time, and a goroutine that outlives its call fails
// the case.
func Conformance(t *testing.T, model func(t *testing.T, at Target) llm.Model) {
	t.Helper()
	for _, g := range checkGroups() {
		for _, c := range g.checks {
			t.Run(c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					srv := NewServer(t, Options{Memory: true, Key: Key, Refuse: g.refuse}, c.answers...)
					run := &run{t: t, srv: srv, m: model(t, Target{URL: srv.URL, HTTP: srv.Client(), Key: Key})}
					c.test(run)
				})
			})
		}
	}
}

type check struct {
	name    string
	answers []Answer
	test    func(r *run)
}

// checkGroup is a set of cases that use one kind of server.
type checkGroup struct {
	refuse []string // see Options.Refuse
	checks []check
}

func checkGroups() []checkGroup {
	return []checkGroup{
		{nil, answerChecks()},
		{nil, formChecks()},
		{[]string{"response_format", "output_config", "responseMimeType"}, []check{{"structured answer that the server rejects", structuredScript(), checkForm}}},
		{[]string{"responseJsonSchema"}, []check{{"schema that the server refuses", structuredScript(), checkForm}}},
		{nil, callChecks()},
		{nil, faultChecks()},
		{nil, statusChecks()},
		{nil, behaviorChecks()},
	}
}

// run is the state of one running case.
type run struct {
	t   *testing.T
	srv *Server
	m   llm.Model
}

// result is the result of a call.
type result struct {
	llm.Response
	events []llm.Event
	err    *llm.Error
}

func (r *run) askModel(req llm.Request) result { return r.askCtx(context.Background(), req) }

func (r *run) askCtx(ctx context.Context, req llm.Request) result {
	r.t.Helper()
	var res result
	ended := false
	for e, err := range r.m.Stream(ctx, req) {
		if ended {
			r.t.Errorf("the stream continues after its end: %+v, %v", e, err)
		}
		if err != nil {
			ended = true
			le, ok := err.(*llm.Error) //nolint:errorlint // by contract, errors are *Error
			if !ok {
				r.t.Fatalf("the error is a %T, want *llm.Error: %v", err, err)
			}
			res.err = le
			r.checkError(le)
			continue
		}
		ended = e.Kind == llm.Done
		res.events = append(res.events, e)
		res.Add(e)
	}
	if !ended {
		r.t.Error("the stream has neither a Done event nor an error")
	}
	r.checkCalls(res)
	return res
}

// checkError checks the invariants that apply to every error.
func (r *run) checkError(e *llm.Error) {
	r.t.Helper()
	if e.Message == "" || e.Provider == "" || e.Kind == "" {
		r.t.Errorf("the error has no provider or message: %+v", *e)
	}
	for err := error(e); err != nil; {
		if strings.Contains(err.Error(), Key) {
			r.t.Errorf("the error contains the key: %v", err)
		}
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			break
		}
		err = u.Unwrap()
	}
}

// checkCalls checks the invariants that apply to every call.
func (r *run) checkCalls(res result) {
	r.t.Helper()
	started, ids := map[string]bool{}, map[string]bool{}
	for _, e := range res.events {
		switch e.Kind {
		case llm.CallStart:
			started[e.Call.ID] = true
		case llm.CallDelta:
			if !started[e.Call.ID] {
				r.t.Errorf("arguments of call %q, which has not started", e.Call.ID)
			}
		}
	}
	for _, c := range res.Calls() {
		if c.ID == "" || ids[c.ID] || !started[c.ID] {
			r.t.Errorf("call id %q is empty, used twice or was never started", c.ID)
		}
		ids[c.ID] = true
		var object map[string]any
		if err := json.Unmarshal(c.Args, &object); (err == nil) == c.Truncated {
			r.t.Errorf("call %s: arguments %s, truncated %v", c.Name, c.Args, c.Truncated)
		}
		if !json.Valid(c.Args) {
			r.t.Errorf("call %s: arguments %q are not JSON", c.Name, c.Args)
		}
	}
}

func (r *run) requireOK(res result) {
	r.t.Helper()
	if res.err != nil {
		r.t.Fatalf("unexpected error: %v", res.err)
	}
}

func (r *run) requireError(res result, visible bool, kinds ...llm.ErrorKind) {
	r.t.Helper()
	if res.err == nil {
		r.t.Fatalf("no error, want %v; got %+v", kinds, res.Response)
	}
	found := false
	for _, k := range kinds {
		found = found || res.err.Kind == k
	}
	if !found {
		r.t.Errorf("error kind %s (%v), want %v", res.err.Kind, res.err, kinds)
	}
	if res.err.Visible != visible {
		r.t.Errorf("error visible %v, want %v", res.err.Visible, visible)
	}
	for _, c := range res.Calls() {
		if !c.Truncated {
			r.t.Errorf("a call in a failed answer is executable: %+v", c)
		}
	}
}

func (r *run) requireEqual(what string, got, want any) {
	r.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		r.t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// helloRequest returns the request that most cases use.
func helloRequest() llm.Request {
	return llm.Request{
		System:   "You are Hob.",
		Messages: []llm.Message{userMessage("hello")},
		Tools:    conformanceTools(),
	}
}

func userMessage(text string) llm.Message {
	return llm.Message{Role: llm.User, Parts: []llm.Part{{Text: text}}}
}

func conformanceTools() []llm.Tool {
	return []llm.Tool{
		{Name: "get_time", Description: "Tell the time <now> & here.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
		{Name: "add", Description: "Add numbers.", Schema: json.RawMessage(`{"type":"object","properties":{"b":{"type":"number"},"a":{"type":"number"}},"required":["b","a"]}`)},
	}
}

// shortly is the time limit for cases that must not wait for a timer.
const shortly = time.Second

// Described checks the description of a driver. It also checks that the driver creates a model from
// the description without a connection and without a configured model.
func Described(t *testing.T, d llm.Driver) {
	t.Helper()
	about := d.Describe()
	if u, err := url.Parse(about.BaseURL); err != nil || u.Scheme != "https" {
		t.Errorf("BaseURL is %q, want an https URL", about.BaseURL)
	}
	if len(about.Services) == 0 || about.Services[0].Name != about.Kind || about.Services[0].BaseURL != "" {
		t.Errorf("the first service must be named %s and have no base URL", about.Kind)
	}
	for _, s := range about.Services {
		if s.Name == "" || s.Title == "" || len(s.Env) == 0 {
			t.Errorf("%+v: a service needs a name, a title and the environment variables for its key", s)
		}
		m, err := d.New(llm.ModelOptions{Provider: s.Name, BaseURL: s.BaseURL, APIKey: Key})
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		if i := m.Info(); i.Provider != s.Name || i.Model == "" {
			t.Errorf("%s: the model is %s", s.Name, i.Name())
		}
		if _, ok := m.(interface {
			Models(ctx context.Context) ([]string, error)
		}); !ok {
			t.Errorf("%s: the model cannot list models", s.Name)
		}
		if _, ok := m.(llm.Embedder); ok != (about.Embedding != nil) {
			t.Errorf("%s: the model is an embedder: %v, but the description says %v", s.Name, ok, !ok)
		}
	}
}
