package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hob/autonomy/llm"
)

// Key is the API key in driver tests. It must never appear in an error.
const Key = "sk-test-0123456789-secret"

// Options holds the settings of a Server or a Scripted model. The zero value is valid.
type Options struct {
	// Reply is called if no scripted answer applies. It returns false if it has no answer. It may
	// be called concurrently.
	Reply func(Request) (Answer, bool)
	// Otherwise is the answer to use if no other answer applies.
	Otherwise *Answer
	// Key, if set, is the required key. Other requests get a 401.
	Key string
	// Models lists the models returned by GET /v1/models. Empty means "scripted".
	Models []string
	// Refuse lists fields of a request, or of its generationConfig, that cause a 400, such as
	// "tools", "stream_options" and "max_tokens".
	Refuse []string
	// Keep is the maximum number of recorded requests; 0 means no limit. The oldest are dropped.
	Keep int
	// Memory makes the server reachable only through Client, without a socket, so that it works
	// inside a testing/synctest bubble.
	Memory bool
	// Addr is the address to listen on. Empty means a free port on 127.0.0.1.
	Addr string
	// Info describes a Scripted model.
	Info llm.Info
}

// Server is a model server on loopback. It serves POST */chat/completions, POST */v1/messages, POST
// /v1beta/models/NAME:generateContent and :streamGenerateContent, their embeddings APIs, and GET
// */models. Like the real servers, it rejects requests with unpaired tool calls and results. All
// methods may be called concurrently.
type Server struct {
	URL string // for example "http://127.0.0.1:port", without /v1

	o      Options
	script *script
	http   *http.Server
	client *http.Client
	served chan struct{}
	done   context.CancelFunc
	ids    atomic.Int64
	memory *memory // nil if the server listens on a socket

	mu       sync.Mutex
	requests []Request
	count    int
	idle     map[net.Conn]bool
}

// NewServer starts a server that stops when the test ends.
func NewServer(t testing.TB, o Options, answers ...Answer) *Server {
	t.Helper()
	s, err := Start(o, answers...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Start starts a server that runs until Close is called.
func Start(o Options, answers ...Answer) (*Server, error) {
	sc, err := newScript(o, answers)
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, script: sc, served: make(chan struct{}), idle: map[net.Conn]bool{}}
	ln, err := s.openListener()
	if err != nil {
		return nil, fmt.Errorf("llmtest: listen: %w", err)
	}
	base, done := context.WithCancel(context.Background())
	s.done = done
	s.http = &http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: time.Minute,
		ConnState:         s.trackConnection,
		ErrorLog:          log.New(io.Discard, "", 0), // deliberate resets must not be logged
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(ln) // always returns ErrServerClosed
	}()
	return s, nil
}

func (s *Server) openListener() (net.Listener, error) {
	if s.o.Memory {
		ln := newMemory()
		s.memory = ln
		s.URL = "http://127.0.0.1:1"
		s.client = &http.Client{Transport: &http.Transport{DialContext: ln.dialPipe, DisableCompression: true}}
		return ln, nil
	}
	addr := s.o.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, err
	}
	s.URL = "http://" + ln.Addr().String()
	s.client = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}}
	return ln, nil
}

// Client returns a client for this server. Close also closes its connections. With Options.Memory,
// no other client can connect.
func (s *Server) Client() *http.Client { return s.client }

// Close stops the server and cancels running answers.
func (s *Server) Close() {
	s.done()
	s.client.CloseIdleConnections()
	_ = s.http.Close()
	<-s.served
}

// CloseIdleConnections closes connections on which no request is running, so that connections that
// clients keep open do not distort a measurement. The caller must ensure that no request is about
// to start.
func (s *Server) CloseIdleConnections() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.idle {
		_ = c.Close()
	}
}

func (s *Server) trackConnection(c net.Conn, is http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.idle, c); is == http.StateIdle || is == http.StateNew {
		s.idle[c] = true
	}
}

// Add appends answers to the script.
func (s *Server) Add(answers ...Answer) {
	if err := s.script.addAnswers(answers); err != nil {
		panic(err)
	}
}

// Requests lists the recorded model calls, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Last returns the newest recorded model call, or the zero Request.
func (s *Server) Last() Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) == 0 {
		return Request{}
	}
	return s.requests[len(s.requests)-1]
}

// Count returns the number of model calls, including dropped ones.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Unused lists the answers in the script that have uses left, except unlimited ones.
func (s *Server) Unused() []Answer { return s.script.unusedAnswers() }

func (s *Server) recordCall(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	s.requests = append(s.requests, r)
	if k := s.o.Keep; k > 0 && len(s.requests) > 2*k {
		s.requests = slices.Clone(s.requests[len(s.requests)-k:])
	}
}

// ServeHTTP implements http.Handler, for tests with middleware.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	api, key := OpenAI, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case r.Header.Get("Anthropic-Version") != "":
		api, key = Anthropic, r.Header.Get("X-Api-Key")
	case strings.HasPrefix(path, "/v1beta/"):
		api, key = Gemini, r.Header.Get("X-Goog-Api-Key")
	}
	switch {
	case s.o.Key != "" && key != s.o.Key:
		writeError(w, api, http.StatusUnauthorized, "authentication_error", "invalid key "+key)
	case strings.Contains(path, "/v1/v1/"):
		writeError(w, api, http.StatusNotFound, "not_found_error", "no such path: "+path)
	case r.Method == http.MethodGet && strings.HasSuffix(path, "/models"):
		s.serveModels(w, api)
	case r.Method == http.MethodPost && (strings.HasSuffix(path, "/embeddings") || strings.HasSuffix(path, ":batchEmbedContents")):
		s.serveEmbeddings(w, r, api)
	case r.Method == http.MethodPost && api == Gemini && (strings.HasSuffix(path, ":generateContent") || strings.HasSuffix(path, ":streamGenerateContent")):
		s.serveAnswer(w, r, Gemini)
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/chat/completions"):
		s.serveAnswer(w, r, OpenAI)
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/v1/messages"):
		s.serveAnswer(w, r, Anthropic)
	default:
		writeError(w, api, http.StatusNotFound, "not_found_error", "no such path: "+path)
	}
}

func (s *Server) serveModels(w http.ResponseWriter, api API) {
	names := s.o.Models
	if len(names) == 0 {
		names = []string{"scripted"}
	}
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
		Type   string `json:"type"`
	}
	if api == Gemini {
		geminiModels(w, names)
		return
	}
	list := []model{}
	for _, n := range names {
		list = append(list, model{n, "model", "model"})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list, "has_more": false})
}

func (s *Server) serveAnswer(w http.ResponseWriter, hr *http.Request, api API) {
	body, err := io.ReadAll(hr.Body)
	if err != nil {
		return
	}
	r := Request{API: api, Path: hr.URL.Path, Header: hr.Header.Clone(), Body: body, At: time.Now()}
	err = map[API]func(*Request) error{OpenAI: decodeOpenAI, Anthropic: decodeAnthropic, Gemini: decodeGemini}[api](&r)
	if err == nil {
		err = checkPairs(r.Messages)
	}
	if err != nil {
		writeError(w, api, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	r.deriveFields()
	s.recordCall(r)
	if f := s.refusedField(body); f != "" {
		writeError(w, api, http.StatusBadRequest, "invalid_request_error", "unsupported parameter: "+f+" is not supported by this server")
		return
	}
	a, ok := s.script.nextAnswer(r)
	if !ok {
		writeError(w, api, http.StatusBadRequest, "invalid_request_error", fmt.Sprintf("the script has no answer to %q", r.LastUser))
		return
	}
	if r.forced != "" { // the text is the structured answer, so it becomes the tool's arguments
		a.Calls, a.Text = append(a.Calls, Call{Name: r.forced, Args: a.Text}), ""
	}
	s.playAnswer(w, hr, &r, &a)
}

func (s *Server) refusedField(body []byte) string {
	if len(s.o.Refuse) == 0 {
		return ""
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return ""
	}
	var more map[string]json.RawMessage
	_ = json.Unmarshal(fields["generationConfig"], &more) // only Gemini has this field
	for _, f := range s.o.Refuse {
		if fields[f] != nil || more[f] != nil {
			return f
		}
	}
	return ""
}

// writeError writes an error in the API's format.
func writeError(w http.ResponseWriter, api API, status int, kind, message string) {
	switch api {
	case Anthropic:
		writeJSON(w, status, map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}})
	case Gemini:
		writeJSON(w, status, map[string]any{"error": map[string]any{"code": status, "message": message, "status": geminiStatus(status)}})
	default:
		writeJSON(w, status, map[string]any{"error": map[string]any{"message": message, "type": kind, "code": nil}})
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}
