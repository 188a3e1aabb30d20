package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"hob/channels"
	"hob/channels/webhook"
)

// FuzzSignatureOut checks that for any text the receiver gets a valid body and a signature over
// exactly these bytes.
func FuzzSignatureOut(f *testing.F) {
	f.Add("hello", "home", "key")
	f.Add("\xff\u2028</script>\x00", "", "\n")
	var mu sync.Mutex
	var body []byte
	var sig string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ = io.ReadAll(r.Body)
		sig = r.Header.Get("X-Hob-Signature")
	}))
	f.Cleanup(srv.Close)
	f.Fuzz(func(t *testing.T, text, session, key string) {
		if key == "" {
			t.Skip()
		}
		ch, err := webhook.New(webhook.Config{URL: srv.URL, Secret: key}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d1", Text: text, Session: session}); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		m := hmac.New(sha256.New, []byte(key))
		m.Write(body)
		if _, old, _ := strings.Cut(sig, ", "); old != "sha256="+hex.EncodeToString(m.Sum(nil)) {
			t.Fatalf("the signature %q does not belong to %q", sig, body)
		}
		var got struct{ ID, Text string }
		if err := json.Unmarshal(body, &got); err != nil || got.ID != "d1" || utf8.ValidString(text) && got.Text != text {
			t.Fatalf("%q arrived as %q, %v", text, got.Text, err)
		}
	})
}

// FuzzAnswer checks that any response of a receiver is classified, and that only success counts as
// success.
func FuzzAnswer(f *testing.F) {
	f.Add(200, "", []byte("ok"))
	f.Add(429, "99999999999999999999", []byte("\xff\x1b[31m"))
	f.Add(503, "Mon, 02 Jan 2006 15:04:05 GMT", []byte(nil))
	type answer struct {
		code  int
		after string
		body  []byte
	}
	var mu sync.Mutex
	var next answer
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Retry-After", next.after)
		w.WriteHeader(next.code)
		_, _ = w.Write(next.body)
	}))
	f.Cleanup(srv.Close)
	ch, err := webhook.New(webhook.Config{URL: srv.URL, Secret: "s"}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, code int, after string, body []byte) {
		if code < 200 || code > 999 || strings.ContainsFunc(after, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Skip() // no status, or no header
		}
		mu.Lock()
		next = answer{code, after, body}
		mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := ch.Send(ctx, channels.Delivery{ID: "d1"})
		if (err == nil) != (code < 300) {
			t.Fatalf("%d: Send = %v", code, err)
		}
		if e, ok := errors.AsType[*channels.Error](err); err != nil && (!ok || len(err.Error()) > 2000 || !utf8.ValidString(err.Error())) {
			t.Fatalf("%d: %v (%+v)", code, err, e)
		}
	})
}
