package llmtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"hob/autonomy/llm"
)

// faultChecks returns the cases with broken streams.
func faultChecks() []check {
	text := Answer{Text: "Good morning to you"}
	call := Answer{Calls: []Call{{Name: "add", Args: `{"a":1,"b":2}`}}}
	breaks := func(visible bool, kinds ...llm.ErrorKind) func(r *run) {
		return func(r *run) { r.requireError(r.askModel(helloRequest()), visible, kinds...) }
	}
	with := func(a Answer, f Fault, after int) []Answer {
		a.Fault, a.After = f, after
		return []Answer{a}
	}
	broken := []llm.ErrorKind{llm.Network}
	garbled := []llm.ErrorKind{llm.Garbled}
	return []check{
		{"reset before the answer", with(text, Reset, 0), breaks(false, broken...)},
		{"reset after text", with(text, Reset, 1), breaks(true, broken...)},
		{"reset in a call", with(call, Reset, 1), breaks(false, broken...)},
		{"stream ends before the answer", with(text, EOF, 0), breaks(false, broken...)},
		{"stream ends after text", with(text, EOF, 2), breaks(true, broken...)},
		{"stream ends after all text", with(text, EOF, 9), breaks(true, broken...)},
		{"stream ends in a call", with(call, EOF, 2), func(r *run) {
			res := r.askModel(helloRequest())
			r.requireError(res, false, llm.Network)
			if len(res.Calls()) != 1 {
				r.t.Errorf("calls %+v, want the truncated one", res.Calls())
			}
		}},
		{"no body", []Answer{{Fault: NoBody}}, breaks(false, llm.Network)},
		{"web page", []Answer{{Fault: HTML}}, breaks(false, garbled...)},
		{"half JSON", with(text, HalfJSON, 1), breaks(true, llm.Network, llm.Garbled)},
		{"half JSON immediately", with(text, HalfJSON, 0), breaks(false, llm.Network, llm.Garbled)},
		{"garbage", with(text, Garbage, 1), breaks(true, garbled...)},
		{"garbage that is JSON", []Answer{{Text: "hi", Fault: Garbage, Body: `[1,2,3]`}}, breaks(false, garbled...)},
		{"an endless line", []Answer{{Text: "hi", Fault: Garbage, Body: strings.Repeat("x", 9<<20)}}, breaks(false, garbled...)},
		{"error in the stream", with(text, StreamError, 0), breaks(false, llm.Unavailable)},
		{"error in the stream after text", with(text, StreamError, 1), breaks(true, llm.Unavailable)},
		{"error in the stream in a call", with(call, StreamError, 1), breaks(false, llm.Unavailable)},
		{"stall before the answer", with(text, Stall, 0), breaks(false, llm.Stalled)},
		{"stall after text", with(text, Stall, 1), breaks(true, llm.Stalled)},
		{"stall in a call", with(call, Stall, 2), breaks(false, llm.Stalled)},
		{"only pings", with(text, Pings, 1), breaks(true, llm.Stalled)},
		{"stall before the headers", []Answer{{Text: "late", Delay: time.Hour}}, breaks(false, llm.Stalled)},
		{"slow but alive", []Answer{{Text: "one two three four", Pieces: 4, Gap: 100 * time.Second}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			r.requireEqual("text", res.Text(), "one two three four")
		}},
	}
}

// statusChecks returns the cases with error responses.
func statusChecks() []check {
	var out []check
	for _, c := range []struct {
		status int
		body   string
		kind   llm.ErrorKind
	}{
		{400, "", llm.BadRequest},
		{400, `{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, llm.Overflow},
		{400, `{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"This model's maximum context length is 8192 tokens."}}`, llm.Overflow},
		{400, `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, llm.Payment},
		{401, "", llm.Unauthorized},
		{401, `{"error":{"type":"authentication_error","message":"invalid x-api-key ` + Key + `"}}`, llm.Unauthorized},
		{402, "", llm.Payment},
		{403, "", llm.Unauthorized},
		{404, "", llm.NotFound},
		{413, "", llm.Overflow},
		{422, "", llm.BadRequest},
		{429, "", llm.RateLimited},
		{500, "", llm.Unavailable},
		{502, "<html>Bad gateway</html>", llm.Unavailable},
		{503, "", llm.Unavailable},
		{529, "", llm.Unavailable},
		{302, "moved", llm.BadRequest},
		{500, strings.Repeat("x", 1<<20), llm.Unavailable},
	} {
		a := Answer{Status: c.status, Body: c.body, Header: map[string]string{"Location": "http://elsewhere.example/"}}
		out = append(out, check{fmt.Sprintf("status %d %.30s", c.status, c.body), []Answer{a}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireError(res, false, c.kind)
			r.requireEqual("status", res.err.Status, c.status)
			// A base URL without /v1 may be correct, so one retry is allowed.
			if n := r.srv.Count(); n > 1 && (n > 2 || c.status != 404) {
				r.t.Errorf("%d calls made", n)
			}
			if len(res.err.Error()) > 1000 {
				r.t.Errorf("the error is %d bytes long", len(res.err.Error()))
			}
		}})
	}
	wait := func(header, value string, want time.Duration) check {
		a := Answer{Status: 429, Header: map[string]string{header: value}}
		return check{header + " " + value, []Answer{a}, func(r *run) {
			r.requireEqual("retry after", r.askModel(helloRequest()).err.RetryAfter, want)
		}}
	}
	// The clock of a synctest bubble starts at midnight UTC 2000-01-01.
	return append(out,
		wait("Retry-After", "7", 7*time.Second),
		wait("Retry-After", "Sat, 01 Jan 2000 00:00:30 GMT", 30*time.Second),
		wait("Retry-After", "Fri, 31 Dec 1999 00:00:00 GMT", 0),
		wait("Retry-After", "soon", 0),
		wait("Retry-After-Ms", "1500", 1500*time.Millisecond),
	)
}

// behaviorChecks returns the cases about a driver's behavior towards its caller.
func behaviorChecks() []check {
	return []check{
		{"cancelled while waiting", []Answer{{Text: "late", Delay: time.Hour}}, func(r *run) {
			ctx, cancel := context.WithTimeout(context.Background(), shortly)
			defer cancel()
			start := time.Now()
			r.requireError(r.askCtx(ctx, helloRequest()), false, llm.Interrupted)
			r.requireEqual("time taken", time.Since(start), shortly)
		}},
		{"cancelled in mid-stream", []Answer{{Text: "Good morning", Fault: Stall, After: 1}}, func(r *run) {
			ctx, cancel := context.WithTimeout(context.Background(), shortly)
			defer cancel()
			r.requireError(r.askCtx(ctx, helloRequest()), true, llm.Interrupted)
		}},
		{"canceled before the call", []Answer{{Text: "x"}}, func(r *run) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			r.requireError(r.askCtx(ctx, helloRequest()), false, llm.Interrupted)
		}},
		{"the consumer stops", []Answer{{Text: "Good morning", Fault: Stall, After: 1}, {Text: "still here"}}, func(r *run) {
			for e, err := range r.m.Stream(context.Background(), helloRequest()) {
				if err != nil || e.Kind != llm.TextDelta {
					r.t.Fatalf("got %+v, %v", e, err)
				}
				break
			}
			res := r.askModel(helloRequest())
			r.requireEqual("text", res.Text(), "still here")
		}},
		{"a slow consumer is not a stall", []Answer{{Text: "one two three", Pieces: 3}}, func(r *run) {
			var got string
			for e, err := range r.m.Stream(context.Background(), helloRequest()) {
				if err != nil {
					r.t.Fatal(err)
				}
				got += e.Text
				time.Sleep(5 * time.Minute) // uses the simulated clock of the test bubble
			}
			r.requireEqual("text", got, "one two three")
		}},
		{"concurrent calls", []Answer{{Times: -1, Text: "hi", Calls: []Call{{Name: "get_time"}}}}, func(r *run) {
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					res, err := llm.Collect(r.m.Stream(context.Background(), helloRequest()))
					if err != nil || res.Text() != "hi" || len(res.Calls()) != 1 {
						r.t.Errorf("%+v, %v", res, err)
					}
				})
			}
			wg.Wait()
		}},
		{"the connection is reused", []Answer{{Times: -1, Text: "hi"}}, func(r *run) {
			for range 5 {
				r.requireOK(r.askModel(helloRequest()))
			}
			r.requireEqual("connections", r.srv.memory.dials.Load(), int64(1))
		}},
		{"the list of models", nil, func(r *run) {
			lister, ok := r.m.(interface {
				Models(context.Context) ([]string, error)
			})
			if !ok {
				r.t.Fatalf("%T cannot list models", r.m)
			}
			names, err := lister.Models(context.Background())
			if err != nil {
				r.t.Fatal(err)
			}
			r.requireEqual("models", names, []string{"scripted"})
		}},
		{"info", nil, func(r *run) {
			i := r.m.Info()
			if i.Provider == "" || i.Model == "" || !i.Tools || !i.Local {
				r.t.Errorf("info %+v of a model on this machine", i)
			}
		}},
	}
}
