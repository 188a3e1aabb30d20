package app

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
	"hob/platform/host/system"
)

// The owner pairs an account with a bot and gets answers there.
func TestTelegram(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	api := telegramtest.New(t)
	h := openWith(t, home, Options{Paths: paths, Drivers: []channels.Driver{api.Driver()}},
		"[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n[channels.telegram]\ntoken = \""+telegramtest.Token+"\"\n")
	arrived := func(answer string) {
		t.Helper()
		for deadline := time.Now().Add(60 * time.Second); !slices.ContainsFunc(api.Arrived(), func(text string) bool { return strings.Contains(text, answer) }); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the answer %q was not sent; arrived: %q", answer, api.Arrived())
			}
		}
	}
	says := func(text, answer string) {
		t.Helper()
		for deadline := time.Now().Add(60 * time.Second); !api.Say(t.Context(), "7", "7", text, false); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the bot did not start polling")
			}
		}
		arrived(answer)
	}
	status, body := h.callAPI(http.MethodPost, "/api/v1/channels/telegram/pair", struct{}{})
	var c struct{ Code string }
	if status != http.StatusOK || json.Unmarshal(body, &c) != nil {
		t.Fatalf("%d %s", status, body)
	}
	says("/start "+c.Code, "This account is paired")
	says("remember that the gate is green", "gate is green")
	api.Edit(api.Last(), "/stop", 2) // an edit gets an answer but is not executed as a command
	arrived("(edited) /stop")
}
