package app

import (
	"context"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/autonomy/llm/llmtest"
	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
)

// TestApps_Mail checks that without an account a draft goes to the Mail app, as data and not as a
// part of a script.
func TestApps_Mail(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	mac := osrun.NewScripts(osrun.Options{Output: func(_ context.Context, cmd *exec.Cmd, in []byte) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(strings.Join(cmd.Args, " "), "quarterly") {
			t.Error("the text became a part of the script")
		}
		asked = append(asked, string(in))
		return []byte(`{"ok":true,"data":{"taken":true}}`), nil
	}})
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: "It is among your drafts."}},
		llmtest.Answer{Match: "write a draft", Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"draft_email","arguments":{"to":["ada@example.org"],"subject":"The quarterly \"figures\"","text":"Dear Ada\nend tell"}}`}}},
	)
	h := openScriptedWith(t, t.TempDir(), model.URL, listPlayWays()[0], "", Options{Scripts: mac})
	h.askHob("write a draft to ada@example.org about the quarterly figures")
	h.stop()
	mu.Lock()
	defer mu.Unlock()
	want := `{"how":"draft","topic":"The quarterly \"figures\"","bodyText":"Dear Ada\nend tell","toList":["ada@example.org"],"ccList":[],"bccList":[]}`
	if len(asked) != 1 || asked[0] != want {
		t.Errorf("requests to the Mail app =\n%s\nwant\n%s", asked, want)
	}
}

// TestApps_Calendar checks that without an account the calendar of macOS is read.
func TestApps_Calendar(t *testing.T) {
	mac := osruntest.NewMac(t, map[string]any{"eventkit": map[string]any{
		"status": []int{3, 0}, "calendars": []map[string]any{{"id": "c1", "title": "Home"}}, "reminders": []any{},
		"events": []map[string]any{{"id": "e1", "uid": "u1", "title": "Dentist", "calendar": "c1", "start": time.Now().Add(time.Hour).UnixMilli(), "end": time.Now().Add(2 * time.Hour).UnixMilli()}},
	}})
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: "Done."}},
		llmtest.Answer{Match: "what is next", Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"read_calendar","arguments":{"next":true}}`}}},
	)
	h := openScriptedWith(t, t.TempDir(), model.URL, listPlayWays()[0], "", Options{Scripts: mac})
	h.askHob("what is next")
	h.stop()
	if all := model.Requests(); len(all) < 2 || !strings.Contains(string(all[1].Body), "Dentist") {
		t.Errorf("the model did not get the event")
	}
	if e := strings.Join(mac.Events(), "\n"); !strings.Contains(e, "eventkit events") {
		t.Errorf("calls of macOS =\n%s", e)
	}
}

// TestApps_Contacts checks that without an account the address book of macOS is searched.
func TestApps_Contacts(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	mac := osrun.NewScripts(osrun.Options{Output: func(_ context.Context, _ *exec.Cmd, in []byte) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, string(in))
		return []byte(`{"ok":true,"data":{"people":[{"id":"p1","name":"Ada Lovelace","addresses":["ada@example.org"]}],"rows":[{"ident":71,"topic":"The invoice","from":"Ada <ada@example.org>"}],"total":1}}`), nil
	}})
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: "Done."}},
		llmtest.Answer{Match: "who is ada", Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"search_contacts","arguments":{"query":"ada"}}`}}},
		llmtest.Answer{Match: "new mail", Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"read_emails","arguments":{}}`}}},
	)
	h := openScriptedWith(t, t.TempDir(), model.URL, listPlayWays()[0], "", Options{Scripts: mac})
	h.askHob("who is ada")
	h.askHob("is there new mail")
	h.stop()
	var told strings.Builder
	for _, r := range model.Requests() {
		told.Write(r.Body)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 2 || !strings.Contains(told.String(), "Ada Lovelace; mail: ada@example.org") || !strings.Contains(told.String(), "Subject: The invoice") {
		t.Errorf("requests to the apps = %q", asked)
	}
}
