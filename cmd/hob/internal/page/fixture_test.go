package page

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/autonomy/config"
	"hob/channels"
	"hob/channels/web"
	"hob/cmd/hob/internal/app"
	"hob/platform/host/system"
)

// daemonFixture is a complete Hob on a free port, with its own home.
type daemonFixture struct {
	t     *testing.T
	home  string
	url   string
	token string
	// restart receives when Hob may restart itself, so that the page is seen before.
	restart chan struct{}
}

func openDaemon(t *testing.T, conf string) *daemonFixture { return openWith(t, conf, nil) }

// openWith opens a fixture with additional channels.
func openWith(t *testing.T, conf string, own map[string]channels.Channel) *daemonFixture {
	t.Helper()
	h := newFixture(t)
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	c, err := config.Parse("config.toml", []byte("[web]\nlisten = \"127.0.0.1:0\"\n"+conf))
	failOnError(t, err)
	o := app.Options{Paths: paths, Config: c, Version: "test", Channels: own}
	h.runHob(o, nil)
	return h
}

// newFixture returns a fixture with an empty home, which does not run.
func newFixture(t *testing.T) *daemonFixture {
	t.Helper()
	return newFixtureIn(t, t.TempDir())
}

func newFixtureIn(t *testing.T, home string) *daemonFixture {
	t.Helper()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	return &daemonFixture{t: t, home: home, restart: make(chan struct{})}
}

// runHob starts Hob until the test ends. If again is not nil, Hob restarts itself with the options that
// again returns.
func (h *daemonFixture) runHob(o app.Options, again func() (app.Options, error)) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() {
		defer close(ready)
		for {
			restarts, err := h.runOnce(ctx, o, again != nil, func(address string) {
				select {
				case ready <- address:
				default: // Hob has restarted
				}
			})
			if err == nil && restarts && ctx.Err() == nil {
				o, err = again()
				if err == nil {
					continue
				}
			}
			done <- err
			return
		}
	}()
	h.t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	})
	h.url = "http://" + <-ready
	token, err := os.ReadFile(o.Paths.TokenFile())
	failOnError(h.t, err)
	h.token = strings.TrimSpace(string(token))
}

// runOnce runs Hob until ctx ends, or until Hob restarts itself and the test allows it. It calls ready
// with Hob's address.
func (h *daemonFixture) runOnce(ctx context.Context, o app.Options, again bool, ready func(address string)) (restarts bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o.Peer = func(string, string, bool) web.Peer { return web.PeerOwner } // the browser is a child process of this test, which is also the daemon
	asked := make(chan struct{}, 1)
	if again {
		o.Restart = sync.OnceFunc(func() { asked <- struct{}{} })
	}
	d, err := app.Open(ctx, o)
	if err != nil {
		return false, err
	}
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	<-d.Ready()
	if err := system.WriteEndpoint(o.Paths.EndpointFile(), system.Endpoint{PID: os.Getpid(), Address: d.Addr(), Version: o.Version}); err != nil {
		h.t.Error(err)
	}
	ready(d.Addr())
	var allowed <-chan struct{} // nil until Hob wants to restart
	for {
		select {
		case <-asked:
			allowed = h.restart
		case <-allowed:
			restarts, allowed = true, nil
			cancel()
		case err := <-done:
			return restarts, errors.Join(err, d.Close())
		}
	}
}

// allowRestart waits until Hob wants to restart, and lets it.
func (h *daemonFixture) allowRestart() {
	h.t.Helper()
	select {
	case h.restart <- struct{}{}:
	case <-time.After(2 * patience):
		h.t.Fatal("Hob did not restart")
	}
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// offline is the configuration of most tests.
const offline = "[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n"

func (h *daemonFixture) postJSON(path string, in, out any) {
	h.t.Helper()
	body, err := json.Marshal(in)
	failOnError(h.t, err)
	h.sendRequest(http.MethodPost, path, body, out)
}

// getJSON decodes the response of the API.
func (h *daemonFixture) getJSON(path string, out any) {
	h.t.Helper()
	h.sendRequest(http.MethodGet, path, nil, out)
}

func (h *daemonFixture) sendRequest(method, path string, body []byte, out any) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, bytes.NewReader(body))
	failOnError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+h.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	failOnError(h.t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusAccepted {
		h.t.Fatalf("%s: %s", path, res.Status)
	}
	failOnError(h.t, json.NewDecoder(res.Body).Decode(out))
}

// loginLink returns a new login link, as `hob open` does.
func (h *daemonFixture) loginLink() string {
	h.t.Helper()
	var out struct{ URL string }
	h.postJSON("/api/v1/login", struct{}{}, &out)
	return out.URL
}
