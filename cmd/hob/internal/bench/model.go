package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// model is a server that speaks OpenAI's Chat Completions and answers at once.
// To a message that says "use a tool" it first answers with one tool call.
type model struct {
	url    string
	server *http.Server
	served chan struct{}

	mu  sync.Mutex
	got request
}

// request is the first request of a model.
type request struct {
	at    time.Time
	bytes int
}

func newModel() (*model, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends at once
	if err != nil {
		return nil, err
	}
	m := &model{url: "http://" + l.Addr().String() + "/v1", served: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"instant","object":"model"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", m.complete)
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(m.served)
		_ = m.server.Serve(l) // it ends with close
	}()
	return m, nil
}

func (m *model) close(ctx context.Context) {
	_ = m.server.Shutdown(context.WithoutCancel(ctx)) // its clients have gone
	<-m.served
}

func (m *model) first() request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.got
}

// forget makes the next request the first one.
func (m *model) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.got = request{}
}

func (m *model) complete(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m.mu.Lock()
	if m.got.at.IsZero() {
		m.got = request{arrived, len(b)}
	}
	m.mu.Unlock()
	var in struct {
		Messages []struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(b, &in); err != nil || len(in.Messages) == 0 {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	last := in.Messages[len(in.Messages)-1]
	delta, reason := `{"role":"assistant","content":"Done."}`, "stop"
	if last.Role == "user" && mentionsTool(last.Content) {
		delta = `{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"create_task","arguments":"{\"title\":\"water the plants\"}"}}]}`
		reason = "tool_calls"
	}
	fmt.Fprintf(w, `data: {"id":"i","object":"chat.completion.chunk","created":1,"model":"instant","choices":[{"index":0,"delta":%s,"finish_reason":null}]}`+"\n\n", delta)
	fmt.Fprintf(w, `data: {"id":"i","object":"chat.completion.chunk","created":1,"model":"instant","choices":[{"index":0,"delta":{},"finish_reason":%q}],"usage":{"prompt_tokens":%d,"completion_tokens":2,"total_tokens":%d}}`+"\n\n",
		reason, len(b)/4, len(b)/4+2)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// mentionsTool looks for the words in a message's text or text parts.
func mentionsTool(content any) bool {
	b, err := json.Marshal(content)
	if err != nil {
		return false
	}
	return strings.Contains(string(b), "use a tool")
}
