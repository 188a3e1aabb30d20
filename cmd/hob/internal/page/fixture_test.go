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
	"testing"

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
}

func open(t *testing.T, conf string) *daemonFixture { return openWith(t, conf, nil) }

// openWith opens a fixture with additional channels.
func openWith(t *testing.T, conf string, own map[string]channels.Channel) *daemonFixture {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	paths, err := system.DefaultPaths()
	fatal(t, err)
	c, err := config.Parse("config.toml", []byte("[web]\nlisten = \"127.0.0.1:0\"\n"+conf))
	fatal(t, err)
	d, err := app.Open(t.Context(), app.Options{
		Paths: paths, Config: c, Version: "test", Channels: own,
		Peer: func(string, string, bool) web.Peer { return web.PeerOwner }, // the browser is a child process of this test, which is also the daemon
	})
	fatal(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := errors.Join(<-done, d.Close()); err != nil {
			t.Error(err)
		}
	})
	<-d.Ready()
	token, err := os.ReadFile(paths.TokenFile())
	fatal(t, err)
	return &daemonFixture{t: t, home: home, url: "http://" + d.Addr(), token: strings.TrimSpace(string(token))}
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// offline is the configuration of most tests.
const offline = "[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n"

func (h *daemonFixture) post(path string, in, out any) {
	h.t.Helper()
	body, err := json.Marshal(in)
	fatal(h.t, err)
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+path, bytes.NewReader(body))
	fatal(h.t, err)
	req.Header.Set("Authorization", "Bearer "+h.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	fatal(h.t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusAccepted {
		h.t.Fatalf("%s: %s", path, res.Status)
	}
	fatal(h.t, json.NewDecoder(res.Body).Decode(out))
}

// link returns a new login link, as `hob open` does.
func (h *daemonFixture) link() string {
	h.t.Helper()
	var out struct{ URL string }
	h.post("/api/v1/login", struct{}{}, &out)
	return out.URL
}
