package bench

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// model is a server for OpenAI's Chat Completions API that answers immediately, either with
// "Hello." or with the tool calls that a message requests (see callText). The answer must not claim
// an action: the engine would call the model a second time to correct a claim such as "Done.".
type model struct {
	*localServer
	took  atomic.Int64 // nanoseconds spent in the handler
	calls atomic.Int64 // makes the arguments of each call unique

	mu      sync.Mutex
	when    time.Time // time of the first request since forgetFirst
	body    []byte    // body of that request
	keep    bool      // whether to record all bodies
	entries [][]byte
}

func newModel() (m *model, err error) {
	m = &model{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"instant","object":"model"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", m.serveCompletion)
	m.localServer, err = serveLocally(mux)
	return m, err
}

// timeSpent returns the time that the server has spent on requests, or 0 if m is nil.
func (m *model) timeSpent() time.Duration {
	if m == nil {
		return 0
	}
	return time.Duration(m.took.Load())
}

// forgetFirst treats the next request as the first one.
func (m *model) forgetFirst() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.when, m.body = time.Time{}, nil
}

func (m *model) firstRequest() (time.Time, []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.when, m.body
}

// recordRequests records requests until the returned function is called. That function returns the
// requests.
func (m *model) recordRequests() func() [][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep = true
	return func() [][]byte {
		m.mu.Lock()
		defer m.mu.Unlock()
		out := m.entries
		m.keep, m.entries = false, nil
		return out
	}
}

func (m *model) noteRequest(arrived time.Time, body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.when.IsZero() {
		m.when, m.body = arrived, body
	}
	if m.keep {
		m.entries = append(m.entries, body)
	}
}

func (m *model) serveCompletion(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	defer func() { m.took.Add(int64(time.Since(arrived))) }()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m.noteRequest(arrived, b)
	w.Header().Set("Content-Type", "text/event-stream")
	delta, reason := m.answerRequest(b)
	fmt.Fprintf(w, `data: {"id":"i","object":"chat.completion.chunk","created":1,"model":"instant","choices":[{"index":0,"delta":%s,"finish_reason":null}]}`+"\n\n", delta)
	fmt.Fprintf(w, `data: {"id":"i","object":"chat.completion.chunk","created":1,"model":"instant","choices":[{"index":0,"delta":{},"finish_reason":%q}],"usage":{"prompt_tokens":%d,"completion_tokens":2,"total_tokens":%d}}`+"\n\n",
		reason, len(b)/4, len(b)/4+2)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// callText returns a message that asks the server for n sequential calls of a tool.
func callText(tool string, n int) string { return fmt.Sprintf("please call %s, times %d", tool, n) }

// answerRequest finds the user's last message without decoding the request, because decoding would
// take most of the server's time. Quotes are escaped inside JSON strings, so `"role":"user"` cannot
// be part of a string.
func (m *model) answerRequest(body []byte) (delta, reason string) {
	last := body[max(0, bytes.LastIndex(body, []byte(`"role":"user"`))):]
	_, ask, _ := strings.Cut(string(last), "please call ")
	name, rest, _ := strings.Cut(ask, ", times ")
	var n int
	_, err := fmt.Sscanf(rest, "%d", &n)
	if err != nil || bytes.Count(last, []byte(`"role":"tool"`)) >= n {
		return `{"role":"assistant","content":"Hello."}`, "stop"
	}
	i := m.calls.Add(1)
	args := fmt.Sprintf(`{"title":"water plant %d"}`, i)
	if name == "write_file" {
		args = fmt.Sprintf(`{"path":"~/note-%d.txt","content":"Water plant %d."}`, i, i)
	}
	return fmt.Sprintf(`{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":%q,"arguments":%q}}]}`, name, args), "tool_calls"
}
