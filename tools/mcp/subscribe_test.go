package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/autonomy/api"
	"hob/watchers"
)

// memoServer is a server with one resource, memo://x.
type memoServer struct {
	web        *httptest.Server
	mcp        *sdk.Server
	subscribed atomic.Int32

	mu   sync.Mutex
	text string
}

func newMemoServer(t *testing.T, revision string) *memoServer {
	t.Helper()
	m := &memoServer{text: "one"}
	s := sdk.NewServer(&sdk.Implementation{Name: "memo", Version: "1"}, &sdk.ServerOptions{
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { m.subscribed.Add(1); return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { m.subscribed.Add(-1); return nil },
	})
	s.AddResource(&sdk.Resource{URI: "memo://x", Name: "x"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: m.text}}}, nil
	})
	modern := revision == "2026-07-28"
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: modern, PropagateRequestCancellation: modern})
	m.mcp, m.web = s, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !modern && bytes.Contains(body, []byte("server/discover")) {
			http.Error(w, "unknown method", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		m.web.Close()
		for ss := range s.Sessions() { // sessions whose connection broke remain open
			_ = ss.Close()
		}
	})
	return m
}

// setText replaces the resource and announces it.
func (m *memoServer) setText(t *testing.T, text string) {
	t.Helper()
	m.mu.Lock()
	m.text = text
	m.mu.Unlock()
	if err := m.mcp.ResourceUpdated(t.Context(), &sdk.ResourceUpdatedNotificationParams{URI: "memo://x"}); err != nil {
		t.Fatal(err)
	}
}

// awaitChange waits until the change of the resource is announced.
func (b *bench) awaitChange(t *testing.T, what string) {
	t.Helper()
	select {
	case topic := <-b.changed:
		if topic != watchers.ResourceTopic("memo", "memo://x") {
			t.Errorf("%s: topic %q", what, topic)
		}
	case <-time.After(60 * time.Second):
		t.Fatalf("%s: no announcement", what)
	}
}

func TestWatchResource(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			srv := newMemoServer(t, revision)
			b := newBench(t, "[mcp.servers.memo]\nurl = \""+srv.web.URL+"\"\n")
			b.watched.Store(true)
			read := func(want string) {
				t.Helper()
				r, err := b.WatchResource(t.Context(), "memo", "memo://x")
				if err != nil || r.Text != want || r.Size != len(want) || r.Digest == "" {
					t.Fatalf("WatchResource = %.200q of %d bytes, %v, want %.200q", r.Text, r.Size, err, want)
				}
			}
			read("one")
			if s, err := b.MCPServers(t.Context(), api.Query{Of: "memo"}); err != nil || len(s) != 1 || s[0].Revision != revision || strings.Join(s[0].Watched, " ") != "memo://x" {
				t.Fatalf("MCPServers = %+v, %v", s, err)
			}
			srv.setText(t, "two")
			b.awaitChange(t, "an update")
			read("two")
			for range 500 {
				srv.setText(t, "three")
			}
			b.awaitChange(t, "a flood of updates")
			time.Sleep(2 * announceDelay)
			if n := len(b.changed); n > 2 {
				t.Errorf("%d announcements after a flood", n)
			}
			read("three")
			for len(b.changed) > 0 {
				<-b.changed
			}
			if revision == "2026-07-28" { // the SDK reports no end of the stream
				srv.web.CloseClientConnections()
				b.awaitChange(t, "a lost stream")
				read("three")
				srv.setText(t, "four")
				b.awaitChange(t, "an update after a lost stream")
			}
			srv.mu.Lock()
			srv.text = strings.Repeat("much ", 1<<20)
			srv.mu.Unlock()
			if r, err := b.WatchResource(t.Context(), "memo", "memo://x"); err != nil || r.Size != 5<<20 || len(r.Text) > watchers.MaxResourceText+10 {
				t.Errorf("resource of 5 MB: %d bytes of %d, %v", len(r.Text), r.Size, err)
			}
			b.watched.Store(false)
			srv.setText(t, "five")
			for end := time.Now().Add(60 * time.Second); srv.subscribed.Load() != 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			}
			if n := srv.subscribed.Load(); n != 0 || len(b.changed) > 0 {
				t.Errorf("%d subscriptions and %d announcements without a watcher", n, len(b.changed))
			}
			if err := srv.web.Listener.Close(); err != nil {
				t.Fatal(err)
			}
			srv.web.CloseClientConnections()
			if _, err := b.WatchResource(t.Context(), "memo", "memo://x"); err == nil {
				t.Error("WatchResource on a server that ended returned no error")
			}
		})
	}
	b := newBench(t, "")
	if _, err := b.WatchResource(t.Context(), "memo", "memo://x"); !errors.Is(err, api.ErrNotFound) || b.CheckServer("memo") == nil {
		t.Errorf("WatchResource on an unknown server = %v", err)
	}
}

// announceDelay is a bit longer than the delay in which announcements are collected.
const announceDelay = 1100 * time.Millisecond
