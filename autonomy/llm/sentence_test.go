package llm

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Each kind of error becomes one sentence with the provider and a remedy.
func TestDescribeError_EveryKind(t *testing.T) {
	w := Endpoint{Provider: "work", BaseURL: "https://api.example/v1", Key: "sk-secret"}
	for _, tt := range []struct {
		name string
		err  error
		want []string
	}{
		{"rate limit", w.StatusError(429, http.Header{"Retry-After": {"20"}}, "", "slow down"), []string{"work is limiting the request rate", "slow down (429)", "wait 20s", "agent.fallback"}},
		{"overloaded", w.StatusError(529, nil, "overloaded_error", ""), []string{"temporary error", "529", "agent.fallback"}},
		{"no network", w.Errorf(Network, "nothing answers at api.example"), []string{"cannot be reached", "nothing answers", "internet connection", "[providers.work]"}},
		{"local server", Endpoint{Provider: "ollama", BaseURL: "http://127.0.0.1:11434/v1"}.Errorf(Network, "nothing answers"), []string{"start the local model server"}},
		{"stall", w.Errorf(Stalled, "the model was silent for too long"), []string{"stopped sending data", "base_url"}},
		{"key", w.StatusError(401, nil, "", "bad key sk-secret"), []string{"rejected the key", "[redacted]", "hob setup"}},
		{"credit", w.StatusError(402, nil, "", "Insufficient credits."), []string{"requires a payment", "Insufficient credits", "add credit"}},
		{"unknown model", w.StatusError(404, nil, "", "no such model"), []string{"does not know the model", "hob provider test"}},
		{"refused", w.StatusError(400, nil, "", "bad schema"), []string{"refused", "bad schema", "rephrase"}},
		{"too long", w.StatusError(413, nil, "", ""), []string{"longer than work can read", "/new"}},
		{"garbled", w.Errorf(Garbled, "the server answered with a web page"), []string{"cannot be parsed", "web page", "base_url"}},
		{"stopped", &Error{Kind: Interrupted, Provider: "work", Message: "the model call was canceled"}, []string{"canceled", "ask again"}},
		{"cap", &Error{Kind: Budget, Provider: "work", Message: "today's cap is reached", Remedy: "raise it"}, []string{"today's cap is reached; raise it."}},
		{"any other error", errors.New("something else"), []string{"something else"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := DescribeError(tt.err)
			for _, w := range tt.want {
				if !strings.Contains(s, w) {
					t.Errorf("%q lacks %q", s, w)
				}
			}
			if strings.ContainsAny(s, "\n{}<") || strings.Contains(s, "sk-secret") || strings.Contains(s, "..") {
				t.Errorf("the sentence is not readable for users: %q", s)
			}
		})
	}
}

// Whatever a server puts into its message, the user sees no JSON.
func TestLegible(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "no such model: x", "no such model: x"},
		{"an object", `{"error":{"message":"no such model","code":"x"}}`, "no such model"},
		{"an object in an object's text", `{"error":"{\"error\":{\"message\":\"deep\"}}"}`, "deep"},
		{"after text", `OpenAIException - {"error": {"message": "too many"}}`, "OpenAIException: too many"},
		{"a list", `[{"error":{"code":400,"message":"API key not valid","status":"INVALID"}}]`, "API key not valid"},
		{"validation", `{"detail":[{"loc":["body"],"msg":"field required"}]}`, "field required"},
		{"half an object", `upstream said {"error":{"mess`, "upstream said"},
		{"only an object", `{"a":1}`, ""},
		{"a web page", "<!DOCTYPE html><title>502</title>", ""},
		{"text in brackets", "tools[0] {name} is missing", "tools[0] {name} is missing"},
		{"empty", "", ""},
	} {
		if got := legibleText(tt.in); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzLegible(f *testing.F) {
	f.Add(`x {"error":{"message":"y"}}`)
	f.Add(`[["`)
	f.Fuzz(func(t *testing.T, s string) {
		e := Endpoint{Provider: "p", BaseURL: "https://x"}.StatusError(500, nil, "", s)
		if got := e.UserMessage(); strings.Contains(got, "\n") || !strings.HasSuffix(got, ".") || len(got) > 4000 {
			t.Errorf("UserMessage = %q", got)
		}
	})
}

func TestDescribeError_LongWait(t *testing.T) {
	e := &Error{Kind: RateLimited, Provider: "p", Message: "no", RetryAfter: 1500 * time.Millisecond}
	if s := e.UserMessage(); !strings.Contains(s, "wait 2s") {
		t.Error(s)
	}
}
