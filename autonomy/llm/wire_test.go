package llm_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"hob/autonomy/llm"
)

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		status        int
		code, message string
		want          llm.ErrorKind
	}{
		{429, "insufficient_quota", "You exceeded your current quota", llm.Payment},
		{429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan", llm.RateLimited}, // Gemini: a rate
		{429, "rate_limit_exceeded", "Request too large for gpt-x on tokens per min", llm.Overflow},
		{429, "rate_limit_exceeded", "Rate limit reached", llm.RateLimited},
		{400, "invalid_request_error", "Your credit balance is too low", llm.Payment},
		{402, "", "", llm.Payment},
		{403, "", "Your input was flagged by moderation", llm.BadRequest},
		{403, "permission_error", "", llm.Unauthorized},
		{401, "", "context window", llm.Unauthorized},
		{404, "", `model "x" not found, try pulling it first`, llm.NotFound},
		{400, "exceed_context_size_error", "the request exceeds the available context size", llm.Overflow},
		{500, "", "the request exceeds the available context size, try increasing it", llm.Overflow},
		{400, "", "Trying to keep the first 9000 tokens when context the overflows", llm.Overflow},
		{413, "request_too_large", "", llm.Overflow},
		{408, "", "", llm.Unavailable},
		{501, "", "", llm.BadRequest},
		{503, "", "Loading model", llm.Unavailable},
		{529, "overloaded_error", "Overloaded", llm.Unavailable},
		{599, "", "", llm.Unavailable},
		{302, "", "", llm.BadRequest},
		{418, "", "", llm.BadRequest},
		{0, "overloaded_error", "Overloaded", llm.Unavailable},
		{0, "rate_limit_error", "", llm.RateLimited},
		{0, "authentication_error", "", llm.Unauthorized},
		{0, "invalid_request_error", "", llm.BadRequest},
		{0, "not_found_error", "", llm.NotFound},
		{0, "429", "slow down", llm.RateLimited},
		{200, "502", "upstream", llm.Unavailable},
		{0, "", "", llm.Unavailable},
		{0, "", "prompt is too long: 9 > 8", llm.Overflow},
	} {
		if got := llm.Classify(c.status, c.code, c.message); got != c.want {
			t.Errorf("%d %q %q: got %s, want %s", c.status, c.code, c.message, got, c.want)
		}
	}
}

func TestNewWire(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "https://std.example/v1",
		" http://h:1/v1/// ":       "http://h:1/v1",
		"localhost:11434":          "http://localhost:11434",
		"127.0.0.1:8080/v1":        "http://127.0.0.1:8080/v1",
		"[::1]:8080":               "http://[::1]:8080",
		"api.example.com/x":        "https://api.example.com/x",
		"https://h/v1?a=b#c":       "https://h/v1?a=b",
		"ftp://h":                  "",
		"http://":                  "",
		"https://user:secret@h:x/": "",
	} {
		w, u, err := llm.NewWire("p", in, "https://std.example/v1", " key ")
		switch {
		case want == "":
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%q: error %v", in, err)
			}
		case err != nil:
			t.Errorf("%q: %v", in, err)
		case u.String() != want || w.Key != "key":
			t.Errorf("%q: got %s, want %s", in, u, want)
		}
	}
	for _, key := range []string{"a b", "a\nb", "schlüssel"} {
		if _, _, err := llm.NewWire("p", "", "https://x", key); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("key %q: error %v", key, err)
		}
	}
}

func TestLocal(t *testing.T) {
	for base, want := range map[string]bool{
		"http://localhost:1/v1": true, "http://LOCALHOST": true, "http://127.8.0.1": true, "http://[::1]:1": true,
		"http://10.0.0.1": false, "https://api.example.com": false, "://": false, "http://localhost.evil.example": false,
	} {
		if got := (llm.Endpoint{BaseURL: base}).Local(); got != want {
			t.Errorf("%s: local %v", base, got)
		}
	}
}

func TestTransportError(t *testing.T) {
	w := llm.Endpoint{Provider: "p", BaseURL: "http://127.0.0.1:9/v1", Key: "sekret"}
	wrapped := func(err error) error { return &url.Error{Op: "Post", URL: "http://h/?key=sekret", Err: err} }
	stopped, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("stopped by the user"))
	stalled, cancel2 := context.WithCancelCause(context.Background())
	cancel2(llm.ErrStalled)
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		want llm.ErrorKind
		text string
	}{
		{"refused", context.Background(), wrapped(syscall.ECONNREFUSED), llm.Network, "start the local model server"},
		{"name", context.Background(), wrapped(&net.DNSError{Name: "h"}), llm.Network, "cannot resolve"},
		{"certificate", context.Background(), wrapped(x509.UnknownAuthorityError{}), llm.BadRequest, "clock"},
		{"reset", context.Background(), wrapped(io.ErrUnexpectedEOF), llm.Network, "failed"},
		{"key in the cause", context.Background(), fmt.Errorf("x sekret y"), llm.Network, "[redacted]"},
		{"stopped", stopped, wrapped(context.Canceled), llm.Interrupted, "canceled"},
		{"stalled", stalled, wrapped(context.Canceled), llm.Stalled, "silent for too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := w.TransportError(c.ctx, c.err)
			if e.Kind != c.want || !strings.Contains(e.Error(), c.text) {
				t.Errorf("got %s: %v", e.Kind, e)
			}
			for err := error(e); err != nil; err = errors.Unwrap(err) {
				if strings.Contains(err.Error(), "sekret") {
					t.Errorf("the error contains the key: %v", err)
				}
			}
		})
	}
}

func TestClean(t *testing.T) {
	w := llm.Endpoint{Key: "sekret"}
	got := w.SanitizeForUser("a\r\nb \xff sekret " + strings.Repeat("ø", 1000))
	if !strings.HasPrefix(got, "a b \uFFFD [redacted] ø") || !utf8.ValidString(got) || utf8.RuneCountInString(got) > 410 {
		t.Errorf("got %q", got)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		header, value string
		want          time.Duration
	}{
		{"Retry-After", "3", 3 * time.Second},
		{"Retry-After", " 0.5 ", 500 * time.Millisecond},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e300", 24 * time.Hour},
		{"Retry-After", "Sat, 21 Nov 2026 12:00:09 GMT", 9 * time.Second},
		{"Retry-After", "Saturday, 21-Nov-26 12:00:09 GMT", 9 * time.Second},
		{"Retry-After", "Sat, 21 Nov 2026 11:00:09 GMT", 0},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
		{"X", "1", 0},
	} {
		if got := llm.RetryAfter(http.Header{c.header: {c.value}}, now); got != c.want {
			t.Errorf("%s: %s: got %v, want %v", c.header, c.value, got, c.want)
		}
	}
}

func TestNewCall(t *testing.T) {
	for _, c := range []struct {
		raw       string
		cut       bool
		args      string
		truncated bool
	}{
		{`{"a":1}`, false, `{"a":1}`, false},
		{" \n{\"a\": 1}\n", false, `{"a": 1}`, false},
		{``, false, `{}`, false},
		{`null`, false, `{}`, false},
		{`"{\"a\":1}"`, false, `{"a":1}`, false},
		{``, true, `""`, true},
		{`{"a":1}`, true, `"{\"a\":1}"`, true},
		{`{"a":1`, false, `"{\"a\":1"`, true},
		{`[1]`, false, `"[1]"`, true},
		{`1`, false, `"1"`, true},
		{`{"a":1} x`, false, `"{\"a\":1} x"`, true},
		{"{\"a\":\"\xff\"}", false, "{\"a\":\"\uFFFD\"}", false},
	} {
		got := llm.NewCall("1", "n", c.raw, c.cut)
		if string(got.Args) != c.args || got.Truncated != c.truncated {
			t.Errorf("%q cut %v: got %s truncated %v", c.raw, c.cut, got.Args, got.Truncated)
		}
		if w := got.WireArgs(); w[0] != '{' || !json.Valid(w) {
			t.Errorf("%q: on the wire %s", c.raw, w)
		}
	}
	if c := llm.NewCall("1", "", "{}", false); !c.Truncated {
		t.Error("NewCall without a name returns a complete call")
	}
}

func TestWireNames(t *testing.T) {
	for in, want := range map[string]string{
		"get_time": "get_time", "": "unknown", "no such tool?": "no_such_tool_", "zeit·sagen": "zeit_sagen",
		strings.Repeat("a", 99): strings.Repeat("a", 64),
	} {
		if got := llm.WireName(in); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
	for _, id := range []string{"", "functions.add:0", strings.Repeat("x", 65)} {
		got := llm.WireID(id)
		if got == id || got != llm.WireID(id) || llm.WireID(got) != got {
			t.Errorf("%q: got %q", id, got)
		}
	}
	if llm.WireID("toolu_1-a") != "toolu_1-a" {
		t.Error("NewCall changes a valid id")
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, w := llm.NewWatch(context.Background(), 0)
		defer w.Stop()
		time.Sleep(llm.DefaultStall - time.Second)
		w.Arm()
		time.Sleep(llm.DefaultStall - time.Second)
		w.Disarm()
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Fatal("the stopped timer canceled the context")
		}
		w.Limit(time.Second)
		w.Arm()
		time.Sleep(time.Second)
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), llm.ErrStalled) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
	})
}

func TestClient_FollowsNoRedirect(t *testing.T) {
	asked := false
	base := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if asked {
			t.Errorf("followed to %s", r.URL)
		}
		asked = true
		return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"http://evil.example/"}}, Body: http.NoBody, Request: r}, nil
	})}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://h/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := llm.Client(base).Do(req)
	if err != nil || resp.StatusCode != 302 {
		t.Fatalf("%v, %v", resp, err)
	}
	_ = resp.Body.Close()
	if base.CheckRedirect != nil {
		t.Error("the given client was changed")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestLimitBody(t *testing.T) {
	b, err := io.ReadAll(llm.LimitBody(io.NopCloser(strings.NewReader("abcdef")), 3))
	if string(b) != "abc" || !errors.Is(err, llm.ErrTooLong) {
		t.Errorf("ReadAll = %q, %v", b, err)
	}
	if b, err = io.ReadAll(llm.LimitBody(io.NopCloser(strings.NewReader("abc")), 9)); string(b) != "abc" || err != nil {
		t.Errorf("ReadAll = %q, %v", b, err)
	}
}
