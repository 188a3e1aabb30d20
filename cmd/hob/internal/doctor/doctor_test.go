package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/guard"
	"hob/autonomy/guard/pairing"
	"hob/knowledge"
	"hob/platform/host/system"
	"hob/platform/store"
)

// healthyEnv returns the environment of a home without problems.
func healthyEnv(t *testing.T) Env {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "hob")
	p := system.Paths{Home: dir, Data: dir, Logs: filepath.Join(dir, "logs"), Runtime: filepath.Join(dir, "run")}
	if err := p.Ensure(); err != nil {
		t.Fatal(err)
	}
	if _, err := system.EnsureToken(p.TokenFile()); err != nil {
		t.Fatal(err)
	}
	tables := append([]store.MigrationSet{bus.Migrations(), guard.Migrations(), pairing.Migrations(), {Owner: "test", Steps: []string{"CREATE TABLE t (x)"}}}, knowledge.Migrations()...)
	st, err := store.Open(t.Context(), p.Database(), tables, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return withConfig(t, Env{Paths: p, Tables: tables, Now: time.Now(), Getenv: func(string) string { return "" }, Secrets: system.Secrets{Getenv: func(string) string { return "" }, Fallback: emptyVault{}}}, "")
}

// emptyVault keeps nothing.
type emptyVault struct{}

func (emptyVault) Get(context.Context, string) (string, error) { return "", system.ErrNoSecret }
func (emptyVault) Set(context.Context, string, string) error   { return nil }
func (emptyVault) Remove(context.Context, string) error        { return system.ErrNoSecret }
func (emptyVault) Names(context.Context) ([]string, error)     { return nil, nil }

// withConfig parses a configuration with the built-in model and a free port, unless the text sets others.
func withConfig(t *testing.T, e Env, text string) Env {
	t.Helper()
	if !strings.Contains(text, "[agent]") {
		text = "[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n" + text
	}
	if !strings.Contains(text, "[web]") {
		text += "\n[web]\nlisten = \"127.0.0.1:0\"\n"
	}
	c, err := config.Parse("config.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e.Config = c
	return e
}

// runAll runs every check.
func runAll(t *testing.T, e Env) []Check {
	t.Helper()
	list, err := Run(t.Context(), e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func modelServer(t *testing.T, answer http.HandlerFunc) string {
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// embeddingsConfig returns a configuration with an embedder on a local server.
func embeddingsConfig(url string) string {
	return fmt.Sprintf("[knowledge]\nembeddings = \"local/nomic\"\n[providers.local]\nkind = \"openai\"\nbase_url = %q\n", url)
}

func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestChecks(t *testing.T) {
	lists := func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"m1","object":"model"}]}`)
	}
	refuses := func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"bad key"}}`, http.StatusUnauthorized)
	}
	provider := func(url, model string) string {
		return fmt.Sprintf("[agent]\nmodel = \"local/%s\"\n[providers.local]\nkind = \"openai\"\nbase_url = %q\n", model, url)
	}
	tests := []struct {
		name, check string
		spoil       func(t *testing.T, e Env) Env
		state       State
		cause       string
		unix        bool
	}{
		{"broken configuration", "config", func(_ *testing.T, e Env) Env {
			_, e.ConfigErr = config.Parse("c.toml", []byte("[agnet]\n"))
			return e
		}, Fail, `did you mean "agent"`, false},
		{"unknown channel", "config", func(t *testing.T, e Env) Env { return withConfig(t, e, "[channels.pigeon]\n") }, Fail, "unknown channel", false},
		{"bad channel", "config", func(t *testing.T, e Env) Env { return withConfig(t, e, "[channels.webhook]\nulr = \"x\"\n") }, Fail, `did you mean "channels.webhook.url"`, false},
		{"unknown kind", "config", func(t *testing.T, e Env) Env { return withConfig(t, e, "[providers.x]\nkind = \"x\"\n") }, Fail, "must be one of", false},
		{"search without a key", "web", func(t *testing.T, e Env) Env { return withConfig(t, e, "[search]\nprovider = \"brave\"\n") }, Fail, "needs a key", false},
		{"search inside by name", "web", func(t *testing.T, e Env) Env {
			return withConfig(t, e, "[search]\nprovider = \"searxng\"\nbase_url = \"http://searx.local\"\n")
		}, Fail, "a name inside your own network", false},
		{"search with an instance here", "web", func(t *testing.T, e Env) Env {
			return withConfig(t, e, "[search]\nbase_url = \"http://127.0.0.1:8888\"\n")
		}, OK, "searxng", false},
		{"a proxy that resolves", "web", func(t *testing.T, e Env) Env {
			return withConfig(t, e, "[network]\nproxy = \"http://proxy:3128\"\nproxy_resolves = true\n")
		}, Warn, "cannot check their addresses", false},
		{"a browser that is not there", "browser", func(t *testing.T, e Env) Env { return withConfig(t, e, "[browser]\npath = \"/nowhere/chrome\"\n") }, Fail, "no browser at /nowhere/chrome", false},
		{"open home", "home", func(t *testing.T, e Env) Env {
			if err := os.Chmod(e.Paths.Home, 0o755); err != nil { //nolint:gosec // the test needs an open home
				t.Fatal(err)
			}
			return e
		}, Warn, "other users can read", true},
		{"open token", "token", func(t *testing.T, e Env) Env {
			writeFile(t, e.Paths.TokenFile(), strings.Repeat("ab", 32), 0o644)
			return e
		}, Fail, "other users can read", true},
		{"damaged token", "token", func(t *testing.T, e Env) Env {
			writeFile(t, e.Paths.TokenFile(), "x", 0o600)
			return e
		}, Fail, "does not contain a token", false},
		{"damaged database", "database", func(t *testing.T, e Env) Env {
			writeFile(t, e.Paths.Database(), strings.Repeat("not a database", 400), 0o600)
			return e
		}, Fail, "file is damaged", false},
		{"database of a newer Hob", "database", func(_ *testing.T, e Env) Env {
			e.Tables = nil // simulates a program that knows no migrations
			return e
		}, Fail, "update Hob", false},
		{"database is a folder", "database", func(t *testing.T, e Env) Env {
			if err := errors.Join(os.Remove(e.Paths.Database()), os.Mkdir(e.Paths.Database(), 0o700)); err != nil {
				t.Fatal(err)
			}
			return e
		}, Fail, "make the file", false},
		{"home cannot be made", "home", func(t *testing.T, e Env) Env {
			file := filepath.Join(t.TempDir(), "file")
			writeFile(t, file, "", 0o600)
			e.Paths.Home, e.Paths.Data = filepath.Join(file, "x"), filepath.Join(file, "x")
			return e
		}, Fail, "not a", false},
		{"model of no provider", "config", func(t *testing.T, e Env) Env { return withConfig(t, e, "[agent]\nmodel = \"nobody/x\"\n") }, Fail, "[providers.nobody] does not exist", false},
		{"no daemon", "daemon", func(_ *testing.T, e Env) Env { return e }, Warn, "not running", false},
		{"silent daemon", "daemon", func(_ *testing.T, e Env) Env {
			e.DaemonErr = fmt.Errorf("it does not answer")
			return e
		}, Fail, "does not answer", false},
		{"taken port", "port", func(t *testing.T, e Env) Env {
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			return withConfig(t, e, fmt.Sprintf("[web]\nlisten = %q\n", l.Addr()))
		}, Warn, "another program listens", false},
		{"daemon elsewhere", "port", func(t *testing.T, e Env) Env {
			e.Daemon = 42
			if err := system.WriteEndpoint(e.Paths.EndpointFile(), system.Endpoint{PID: 42, Address: "127.0.0.1:9"}); err != nil {
				t.Fatal(err)
			}
			return withConfig(t, e, "[web]\nlisten = \"127.0.0.1:8\"\n")
		}, Warn, "the configuration says 127.0.0.1:8", false},
		{"clock before Hob", "clock", func(_ *testing.T, e Env) Env {
			e.Now = time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC)
			return e
		}, Fail, "before this version of Hob was built", false},
		{"clock set back", "clock", func(_ *testing.T, e Env) Env {
			e.Now = e.Now.Add(-time.Hour)
			return e
		}, Warn, "set back", false},
		{"model answers", "model", func(t *testing.T, e Env) Env { return withConfig(t, e, provider(modelServer(t, lists), "m1")) }, OK, "local/m1 answers", false},
		{"model is not there", "model", func(t *testing.T, e Env) Env { return withConfig(t, e, provider(modelServer(t, lists), "m2")) }, Warn, "does not list", false},
		{"key is refused", "model", func(t *testing.T, e Env) Env { return withConfig(t, e, provider(modelServer(t, refuses), "m1")) }, Fail, "does not work", false},
		{"server is off", "model", func(t *testing.T, e Env) Env { return withConfig(t, e, provider("http://127.0.0.1:9/v1", "m1")) }, Fail, "does not work", false},
		{"agent is there", "model", func(t *testing.T, e Env) Env {
			return withConfig(t, e, "[agent]\nmodel = \"x\"\n[providers.x]\nkind = \"acp\"\ncommand = \"go\"\n")
		}, OK, "x is installed", false},
		{"agent is missing", "model", func(t *testing.T, e Env) Env {
			t.Setenv("PATH", t.TempDir())
			return withConfig(t, e, "[agent]\nmodel = \"x\"\n[providers.x]\nkind = \"acp\"\npreset = \"gemini\"\n")
		}, Fail, "npm install -g @google/gemini-cli", false},
		{"agent of no kind", "config", func(t *testing.T, e Env) Env {
			return withConfig(t, e, "[agent]\nmodel = \"x\"\n[providers.x]\nkind = \"acp\"\npreset = \"clod\"\n")
		}, Fail, "is not one of claude, codex, copilot, gemini, opencode", false},
		{"key is missing", "model", func(t *testing.T, e Env) Env {
			return withConfig(t, e, provider("http://127.0.0.1:9/v1", "m1")+"api_key = \"env:NO_SUCH_KEY\"\n")
		}, Fail, "NO_SUCH_KEY", false},
		{"secret of a channel is missing", "channel webhook", func(t *testing.T, e Env) Env {
			return withConfig(t, e, "[channels.webhook]\nurl = \"https://example.org\"\nsecret = \"env:NO_SUCH_SECRET\"\n")
		}, Fail, "NO_SUCH_SECRET", false},
		{"secret of a trigger is missing", "trigger t", func(t *testing.T, e Env) Env {
			return withConfig(t, e, "[triggers.t]\naction = \"x\"\nsecret = \"file:/no/such/file\"\n")
		}, Fail, "/no/such/file", false},
		{"two triggers share a secret", "trigger b", func(t *testing.T, e Env) Env {
			return withConfig(t, e, "[triggers.a]\naction = \"x\"\nsecret = \"same\"\n[triggers.b]\naction = \"x\"\nsecret = \"same\"\n")
		}, Warn, "same secret as the trigger a", false},
		{"no embedder", "embeddings", func(_ *testing.T, e Env) Env { return e }, OK, "words only", false},
		{"an embedder", "embeddings", func(t *testing.T, e Env) Env {
			return withConfig(t, e, embeddingsConfig(modelServer(t, func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, `{"object":"list","data":[{"index":0,"embedding":[1,2,3]}]}`)
			})))
		}, OK, "local/nomic returns vectors with 3 dimensions", false},
		{"an embedder that is away", "embeddings", func(t *testing.T, e Env) Env {
			return withConfig(t, e, embeddingsConfig("http://127.0.0.1:1/v1"))
		}, Warn, "until it answers, new items are found by words only", false},
		{"an embedder without its model", "embeddings", func(t *testing.T, e Env) Env {
			return withConfig(t, e, embeddingsConfig(modelServer(t, func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, `{"error":{"message":"model \"nomic\" not found"}}`, http.StatusNotFound)
			})))
		}, Warn, "nomic", false},
		{"an embedder without a provider", "embeddings", func(t *testing.T, e Env) Env {
			return withConfig(t, e, "[knowledge]\nembeddings = \"nowhere/nomic\"\n")
		}, Fail, "[providers.nowhere] does not exist", false},
		{"a model that makes no vectors", "embeddings", func(t *testing.T, e Env) Env {
			return withConfig(t, e, "[knowledge]\nembeddings = \"a/b\"\n[providers.a]\nkind = \"anthropic\"\napi_key = \"k\"\n")
		}, Fail, "does not support embeddings", false},
		{"errors in the log", "log", func(t *testing.T, e Env) Env {
			line := "time=" + e.Now.Format(time.RFC3339Nano) + " level=ERROR msg=\"it broke\"\n"
			old := "time=2020-01-01T00:00:00Z level=ERROR msg=old\n"
			writeFile(t, e.Paths.LogFile(), old+line, 0o600)
			return e
		}, Warn, "1 errors in the last day", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.unix && runtime.GOOS == "windows" {
				t.Skip("Windows has no file modes")
			}
			e := tt.spoil(t, healthyEnv(t))
			for _, c := range runAll(t, e) {
				if c.Name != tt.check {
					continue
				}
				if c.State != tt.state || !strings.Contains(c.Cause+"; "+c.Remedy, tt.cause) {
					t.Errorf("got %+v, want %s with %q", c, tt.state, tt.cause)
				}
				return
			}
			t.Errorf("the check %q did not run", tt.check)
		})
	}
}

func TestRun_HealthyHome(t *testing.T) {
	checks := runAll(t, healthyEnv(t))
	if Failed(checks) {
		t.Error(checks)
	}
	for _, c := range checks {
		if c.State != OK && c.State != Skip && c.Name != "daemon" && c.Name != "disk" && c.Name != "browser" && c.Name != "watches" {
			t.Errorf("%+v", c)
		}
		if c.State != OK && c.Remedy == "" {
			t.Errorf("%s has no remedy", c.Name)
		}
	}
}

// TestRun_EmptyHome checks that no check fails before the first start, and that the doctor creates nothing.
func TestRun_EmptyHome(t *testing.T) {
	e := healthyEnv(t)
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	e.Paths = system.Paths{Home: dir, Data: dir, Logs: dir, Runtime: dir}
	if checks := runAll(t, e); Failed(checks) {
		t.Error(checks)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the doctor created a folder")
	}
}
