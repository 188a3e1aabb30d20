package llmtest

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// Vector returns the vector that a Server computes for text: three numbers that depend only on
// text.
func Vector(text string) []float32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // never fails
	n := h.Sum32()
	return []float32{float32(n&0xFF) / 256, float32(n>>8&0xFF) / 256, float32(n>>16&0xFF) / 256}
}

// serveEmbeddings serves the embeddings APIs of OpenAI and Gemini.
func (s *Server) serveEmbeddings(w http.ResponseWriter, hr *http.Request, api API) {
	var in struct {
		Input    []string `json:"input"`
		Requests []struct {
			Content geminiContent `json:"content"`
		} `json:"requests"`
	}
	if err := json.NewDecoder(hr.Body).Decode(&in); err != nil {
		writeError(w, api, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	if api == Gemini {
		var list []any
		for _, r := range in.Requests {
			text := ""
			for _, p := range r.Content.Parts {
				text += *p.Text
			}
			list = append(list, map[string]any{"values": Vector(text)})
		}
		writeJSON(w, http.StatusOK, map[string]any{"embeddings": list})
		return
	}
	var list []any
	for i, text := range in.Input { // the order is arbitrary, because each vector has an index
		list = append([]any{map[string]any{"object": "embedding", "index": i, "embedding": Vector(text)}}, list...)
	}
	n := len(strings.Join(in.Input, "")) / 4
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list, "usage": map[string]int{"prompt_tokens": n, "total_tokens": n}})
}

func geminiModels(w http.ResponseWriter, names []string) {
	var list []any
	for _, n := range names {
		list = append(list, map[string]any{"name": "models/" + n, "supportedGenerationMethods": []string{"generateContent"}})
	}
	list = append(list, map[string]any{"name": "models/vectors", "supportedGenerationMethods": []string{"embedContent"}})
	writeJSON(w, http.StatusOK, map[string]any{"models": list})
}

func geminiStatus(status int) string {
	names := map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
		429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
	}
	return names[status]
}

// memory is a listener whose connections are in-process pipes.
type memory struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	dials  atomic.Int64
}

func newMemory() *memory {
	return &memory{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (m *memory) dialPipe(ctx context.Context, _, _ string) (net.Conn, error) {
	m.dials.Add(1)
	near, far := net.Pipe()
	select {
	case m.conns <- far:
		return near, nil
	case <-m.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (m *memory) Close() error {
	m.once.Do(func() { close(m.closed) })
	return nil
}

// Addr implements net.Listener.
func (m *memory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
