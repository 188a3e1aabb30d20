//go:build unix

package badinput

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// hookReceiver is a receiver of webhooks with scripted responses.
type hookReceiver struct {
	url   string
	stop  func()
	first func() // called with the first request

	mu    sync.Mutex
	codes []int             // one status per request; afterwards 200
	asked int               // number of requests
	took  map[string]string // texts that were answered with 200, by key
}

func (k *hookReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	var d struct{ Text string }
	if err != nil || json.Unmarshal(b, &d) != nil {
		http.Error(w, "bad body", http.StatusBadRequest)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.asked++; k.asked == 1 && k.first != nil {
		k.first()
	}
	if len(k.codes) > 0 {
		code := k.codes[0]
		k.codes = k.codes[1:]
		http.Error(w, "\xff<html>no</html>", code)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if k.took[key] != "" {
		http.Error(w, "twice", http.StatusConflict)
	}
	k.took[key] = d.Text
}

func (k *hookReceiver) readState() (asked int, took []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, text := range k.took {
		took = append(took, text)
	}
	return k.asked, took
}

// listenOn starts the receiver at an address; "" means a free port.
func (k *hookReceiver) listenOn(t *testing.T, addr string) {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", addr)
	failOnError(t, err)
	srv := &http.Server{Handler: k, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(ln) }()
	k.url = "http://" + ln.Addr().String()
	k.stop = sync.OnceFunc(func() { _ = srv.Close(); <-done })
	t.Cleanup(k.stop)
}

func newHook(t *testing.T, codes ...int) *hookReceiver {
	t.Helper()
	k := &hookReceiver{codes: codes, took: map[string]string{}}
	k.listenOn(t, "127.0.0.1:0")
	return k
}

func withHook(url string) string {
	return offline + fmt.Sprintf("[notify]\nchannel = \"webhook\"\n[channels.webhook]\nurl = %q\nsecret = \"s\"\n", url)
}

// triggerNotice creates a reminder, whose notice is sent to the receiver.
func (h *daemonFixture) triggerNotice() {
	h.t.Helper()
	h.sendMessage("remind me in 1 second to stretch")
}

func (h *daemonFixture) awaitNotice() delivery {
	h.t.Helper()
	for _, d := range h.listDeliveries("notice") {
		if d.Channel == "webhook" && strings.Contains(d.Text, "stretch") {
			return d
		}
	}
	return delivery{}
}

func TestReceiver_Errors(t *testing.T) {
	t.Parallel()
	k := newHook(t, 500, 503, 429)
	h := newFixture(t, withHook(k.url))
	h.startDaemon()
	h.triggerNotice()
	h.waitUntil("the notice arrives", func() bool { return h.awaitNotice().State == "sent" })
	if asked, took := k.readState(); asked != 4 || len(took) != 1 {
		t.Errorf("%d requests, accepted %q", asked, took)
	}
	h.stopDaemon()
}

// A receiver that responds with 410 (gone) gets no further requests, and the user can see the state
// of the text.
func TestReceiver_Gone(t *testing.T) {
	t.Parallel()
	k := newHook(t, 410)
	h := newFixture(t, withHook(k.url))
	h.startDaemon()
	h.triggerNotice()
	h.waitUntil("the notice is given up", func() bool { return h.awaitNotice().State == "dead" })
	if d := h.awaitNotice(); !strings.Contains(d.Error, "410") || !strings.Contains(d.Error, "; ") {
		t.Errorf("the error has no cause or no remedy: %+v", d)
	}
	if asked, _ := k.readState(); asked != 1 {
		t.Errorf("%d requests", asked)
	}
	told := h.listDeliveries("status")
	if len(told) != 1 || told[0].Channel != "web" || !strings.Contains(told[0].Text, "could not deliver") || !strings.Contains(told[0].Text, "stretch") {
		t.Errorf("notices to the owner = %+v", told)
	}
	h.runHob("ask", "hello").checkSuccess("Hello")
	h.stopDaemon()
}

// A receiver that rejects the owner's secret is not called until the next start; the owner is
// notified elsewhere, and the text waits.
func TestReceiver_RejectsTheSecret(t *testing.T) {
	t.Parallel()
	k := newHook(t, 401)
	h := newFixture(t, withHook(k.url))
	h.startDaemon()
	h.triggerNotice()
	h.waitUntil("the notice to the owner", func() bool {
		for _, d := range h.listDeliveries("notice") {
			if d.Channel == "web" && strings.Contains(d.Text, "webhook has stopped") && strings.Contains(d.Text, "check the secret") {
				return true
			}
		}
		return false
	})
	h.runHob("status").checkSuccess("webhook: stopped.*check the secret")
	if asked, took := k.readState(); asked != 1 || len(took) != 0 {
		t.Errorf("%d requests, accepted %q", asked, took)
	}
	h.stopDaemon()
	h.startDaemon() // the receiver now accepts the secret
	h.waitUntil("the notice arrives", func() bool { return h.awaitNotice().State == "sent" })
	h.stopDaemon()
}

// A receiver that is down gets the text once it is up again, even after a restart of Hob.
func TestReceiver_Down(t *testing.T) {
	t.Parallel()
	k := newHook(t)
	addr := strings.TrimPrefix(k.url, "http://")
	k.stop()
	h := newFixture(t, withHook(k.url))
	h.startDaemon()
	h.triggerNotice()
	h.waitUntil("the first attempt", func() bool { return h.awaitNotice().Error != "" })
	h.runHob("status").checkSuccess("webhook.*refused")
	h.stopDaemon()
	h.startDaemon()
	k.listenOn(t, addr)
	h.waitUntil("the notice arrives", func() bool { return h.awaitNotice().State == "sent" })
	if _, took := k.readState(); len(took) != 1 {
		t.Errorf("accepted %q", took)
	}
	h.stopDaemon()
}
