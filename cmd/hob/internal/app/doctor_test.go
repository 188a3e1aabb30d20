package app

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"hob/cmd/hob/internal/doctor"
	"hob/platform/host/system"
)

// The doctor, the page, the status and the API report the same state of a channel: all get it from
// the running channel.
func TestDoctor_AgreesWithTheStatus(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	h := openWith(t, home, Options{Paths: paths},
		"[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n[channels.webhook]\nurl = \"https://hook.example.org\"\nsecret = \"env:NO_SUCH_SECRET\"\n")
	code, body := h.callAPI(http.MethodGet, "/api/v1/channels", nil)
	var states []struct{ Name, State, Error string }
	if err := json.Unmarshal(body, &states); code != http.StatusOK || err != nil {
		t.Fatal(code, string(body), err)
	}
	code, body = h.callAPI(http.MethodGet, "/api/v1/doctor?name=channels", nil)
	var found []doctor.Check
	if err := json.Unmarshal(body, &found); code != http.StatusOK || err != nil {
		t.Fatal(code, string(body), err)
	}
	broken := 0
	for _, s := range states {
		if s.State != "failed" && s.State != "stopped" {
			continue
		}
		broken++
		told := false
		for _, c := range found {
			told = told || c.Name == "channel "+s.Name && c.State == doctor.Fail && strings.Contains(c.Cause+"; "+c.Remedy, strings.TrimPrefix(s.Error, "channels: webhook: "))
		}
		if !told {
			t.Errorf("%+v is not reported in %+v", s, found)
		}
	}
	if broken != 1 || found[0].In != "daemon" {
		t.Errorf("%d channels are broken: %s; the doctor: %+v", broken, body, found)
	}
}

// A POST request streams each finding as soon as it is available.
func TestDoctor_StreamsFindings(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	h := openWith(t, home, Options{Paths: paths}, "[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n[browser]\nenabled = false\n")
	code, body := h.callAPI(http.MethodPost, "/api/v1/doctor", map[string]any{})
	seen := map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(body)); lines.Scan(); {
		var c doctor.Check
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil || c.Name == "" || c.State == "" || c.Cause == "" {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		seen[c.Name] = true
	}
	for _, want := range []string{"config", "database", "memory", "port", "model", "clock"} {
		if !seen[want] {
			t.Errorf("status %d: no finding about %s in %s", code, want, body)
		}
	}
	if code, body := h.callAPI(http.MethodPost, "/api/v1/doctor", map[string]any{"names": []string{"nothing"}}); code != http.StatusBadRequest || !strings.Contains(string(body), "unknown check") {
		t.Error(code, string(body))
	}
}
