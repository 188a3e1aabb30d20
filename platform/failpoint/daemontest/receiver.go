//go:build unix

package daemontest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Delivery is one POST that reached the receiver.
type Delivery struct {
	ID    string `json:"id"`
	Event string `json:"event"`
	Kind  string `json:"kind"`
	Text  string `json:"text"`
}

// Receiver is the server to which the webhook channel of the daemons posts. It stores the first copy
// for each key, as the webhook protocol requires.
type Receiver struct {
	URL string
	// Copied is the number of further copies, and Clashes are the keys whose copies differ. Read them
	// only after the daemons have ended or have nothing left to send.
	Copied  int
	Clashes []string

	mu    sync.Mutex
	byKey map[string]Delivery
	first map[string]time.Time // time of the first copy of a reply, by event
}

// NewReceiver starts a receiver that stops when the test ends.
func NewReceiver(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{byKey: map[string]Delivery{}, first: map[string]time.Time{}}
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	r.URL = srv.URL + "/hook"
	return r
}

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	var d Delivery
	if err != nil || json.Unmarshal(body, &d) != nil {
		http.Error(w, "bad body", http.StatusBadRequest)
		return
	}
	key := q.Header.Get("Idempotency-Key")
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, ok := r.byKey[key]; ok {
		r.Copied++
		if first != d {
			r.Clashes = append(r.Clashes, key)
		}
		return
	}
	r.byKey[key] = d
	if _, ok := r.first[d.Event]; d.Kind == "reply" && !ok {
		r.first[d.Event] = time.Now()
	}
}

// Count returns the number of different keys.
func (r *Receiver) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byKey)
}

// All returns the first copy for each key.
func (r *Receiver) All() []Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Delivery, 0, len(r.byKey))
	for _, d := range r.byKey {
		out = append(out, d)
	}
	return out
}

// Replied returns when the first reply to an event arrived, or the zero time.
func (r *Receiver) Replied(event string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first[event]
}
