// Package embedtest provides an embedder for tests: an HTTP server with the wire format of OpenAI's
// embeddings API. Equal words always have equal vectors. Texts that share words or synonyms have
// similar vectors.
package embedtest

import (
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"hob/platform/retry"
)

// Options configures New. The zero value is ready to use.
type Options struct {
	// Numbers is the length of the vectors. 0 means 256.
	Numbers int
	// Same lists groups of synonyms, separated by spaces.
	Same []string
	// Longest is the maximum length of a text in bytes. 0 means unlimited.
	Longest int
	// Refused is a word. The server rejects texts that contain it.
	Refused string
}

// Server is a test server that records its requests. Its methods change its options while it runs.
type Server struct {
	*httptest.Server
	mu    sync.Mutex
	o     Options
	down  bool
	delay time.Duration
	calls int
	texts []string
}

// New starts a server that stops at the end of the test.
func New(t testing.TB, o Options) *Server {
	s := &Server{o: o}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serveEmbeddings))
	t.Cleanup(s.Close)
	return s
}

// Down makes the server report overload (true) or work again (false).
func (s *Server) Down(down bool) { s.setLocked(func() { s.down = down }) }

// Slow delays each answer.
func (s *Server) Slow(d time.Duration) { s.setLocked(func() { s.delay = d }) }

// Numbers changes the length of the vectors.
func (s *Server) Numbers(n int) { s.setLocked(func() { s.o.Numbers = n }) }

func (s *Server) setLocked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Calls returns the number of answered requests.
func (s *Server) Calls() (n int) {
	s.setLocked(func() { n = s.calls })
	return n
}

// Texts returns the embedded texts in order.
func (s *Server) Texts() (out []string) {
	s.setLocked(func() { out = append(out, s.texts...) })
	return out
}

func (s *Server) serveEmbeddings(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	if r.URL.Path != "/v1/embeddings" {
		http.NotFound(w, r)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	var o Options
	var down bool
	var delay time.Duration
	s.setLocked(func() { o, down, delay = s.o, s.down, s.delay })
	if retry.Sleep(r.Context(), delay) != nil {
		return
	}
	if down {
		writeError(w, http.StatusServiceUnavailable, "the model is being loaded")
		return
	}
	var data []map[string]any
	bytes := 0
	for i, text := range in.Input {
		if o.Longest > 0 && len(text) > o.Longest || o.Refused != "" && strings.Contains(text, o.Refused) {
			writeError(w, http.StatusBadRequest, "the input length exceeds the context length")
			return
		}
		bytes += len(text)
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": textVector(text, o)})
	}
	s.setLocked(func() { s.calls, s.texts = s.calls+1, append(s.texts, in.Input...) })
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // a write error means that the client disconnected
		"object": "list", "data": data, "model": in.Model, "usage": map[string]int{"prompt_tokens": bytes / 4, "total_tokens": bytes / 4},
	})
}

func writeError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": "server_error"}}) // a write error means that the client disconnected
}

// Packed returns the vector of a text in its stored form: normalized, as little-endian 32-bit
// floats.
func Packed(text string, o Options) []byte {
	v := textVector(text, o)
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	var out []byte
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(float64(x)*(1/math.Sqrt(sum)))))
	}
	return out
}

// textVector returns the vector of a text: the sum of one deterministic random direction per word.
// Synonyms share a direction.
func textVector(text string, o Options) []float32 {
	if o.Numbers == 0 {
		o.Numbers = 256
	}
	out := make([]float32, o.Numbers)
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		for _, same := range o.Same {
			if strings.Contains(" "+same+" ", " "+w+" ") {
				w, _, _ = strings.Cut(same, " ")
			}
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(w)) // never fails
		rnd := rand.New(rand.NewPCG(h.Sum64(), 1))
		for i := range out {
			out[i] += float32(rnd.NormFloat64())
		}
	}
	return out
}
