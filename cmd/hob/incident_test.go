package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hob/platform/host/system"
)

// CVE-2026-22174: the gateway's token was sent to any process that listened on a port of this
// machine. A command sends it only to the daemon that holds the lock, and a model server on
// loopback never sees it.
func TestIncidentI6(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	port := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.URL.Path)
		for _, vs := range r.Header {
			seen = append(seen, vs...)
		}
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
	}))
	defer port.Close()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	p, err := system.DefaultPaths()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Ensure(); err != nil {
		t.Fatal(err)
	}
	conf := "[agent]\nmodel = \"local/x\"\n[providers.local]\nkind = \"openai\"\nbase_url = \"" + port.URL + "/v1\"\n"
	if err := os.WriteFile(p.ConfigFile(), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	token, err := system.EnsureToken(p.TokenFile())
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		var out bytes.Buffer
		a := &cli{in: strings.NewReader(""), out: &out, err: &out, version: "test", open: openDaemon}
		a.main(context.Background(), args)
		t.Logf("hob %s: %s", strings.Join(args, " "), out.String())
	}
	// Another process uses the port of a daemon that has ended.
	for _, pid := range []int{os.Getpid(), 1 << 30} {
		at := system.Endpoint{PID: pid, Address: strings.TrimPrefix(port.URL, "http://")}
		if err := system.WriteEndpoint(p.EndpointFile(), at); err != nil {
			t.Fatal(err)
		}
		run("approvals", "list")
		run("status")
		run("stop")
	}
	mu.Lock()
	early := len(seen)
	mu.Unlock()
	if early != 0 {
		t.Errorf("a port that belongs to another process got a request: %q", seen)
	}
	run("ask", "hello")
	mu.Lock()
	defer mu.Unlock()
	if len(seen) == 0 {
		t.Error("the model server got no request, so the test proves nothing")
	}
	for _, s := range seen {
		if strings.Contains(s, token.Reveal()) {
			t.Errorf("the token was sent: %q", s)
		}
	}
}
