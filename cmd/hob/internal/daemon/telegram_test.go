package daemon

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/telegram/telegramtest"
	"hob/platform/system"
)

// The owner pairs his account with a bot, and is answered there.
func TestTelegram(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	paths, err := system.DefaultPaths()
	fatal(t, err)
	api := telegramtest.New(t)
	h := openWith(t, home, Options{Paths: paths, Drivers: []channels.Driver{api.Driver()}},
		"[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n[channels.telegram]\ntoken = \""+telegramtest.Token+"\"\n")
	says := func(text, answer string) {
		t.Helper()
		ok := func() bool {
			return slices.ContainsFunc(api.Posts(), func(m telegramtest.Post) bool { return strings.Contains(m.Text, answer) })
		}
		for deadline := time.Now().Add(30 * time.Second); !api.Say(t.Context(), "7", "7", text, false); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the bot does not listen")
			}
		}
		for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%q is not answered with %q; arrived: %q", text, answer, api.Arrived())
			}
		}
	}
	status, body := h.api(http.MethodPost, "/api/v1/channels/telegram/pair", struct{}{})
	var c struct{ Code string }
	if status != http.StatusOK || json.Unmarshal(body, &c) != nil {
		t.Fatalf("%d %s", status, body)
	}
	says("/start "+c.Code, "This account is yours")
	says("remember that the gate is green", "gate is green")
}
