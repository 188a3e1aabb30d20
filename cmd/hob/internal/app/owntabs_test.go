package app

import (
	"strings"
	"testing"

	"hob/autonomy/guard"
	"hob/autonomy/llm/llmtest"
	"hob/platform/host/osrun/osruntest"
)

// TestOwnTabs checks that the tabs of the owner's own browser are listed without approval, and
// without the parts of their addresses that may be secret; and that a script in a tab needs
// approval.
func TestOwnTabs(t *testing.T) {
	type obj = map[string]any
	mac := osruntest.NewMac(t, obj{"apps": obj{"com.google.Chrome": obj{
		"running": true,
		"root": obj{"windows": []obj{
			{"__class": "Window", "id": 1, "mode": "normal", "activeTabIndex": 1, "tabs": []obj{{"__class": "Tab", "id": "7", "title": "My bank", "url": "https://bank.example/account?token=tok123"}}},
			{"__class": "Window", "id": 2, "mode": "incognito", "activeTabIndex": 1, "tabs": []obj{{"__class": "Tab", "id": "8", "title": "Presents", "url": "https://gifts.example/"}}},
		}},
		"dict": obj{
			"Application": obj{"properties": []string{}, "elements": obj{"windows": "Window"}},
			"Window":      obj{"properties": []string{"id", "index", "mode", "activeTabIndex"}, "elements": obj{"tabs": "Tab"}},
			"Tab":         obj{"properties": []string{"id", "title", "url"}, "elements": obj{}, "commands": []string{"close", "execute"}},
		},
	}}})
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: "Done."}},
		llmtest.Answer{Match: "which tabs", Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"browser_list_tabs","arguments":{"browser":"chrome"}}`}}},
		llmtest.Answer{Match: "pay the first bill", Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"browser_execute_js","arguments":{"browser":"chrome","script":"pay()"}}`}}},
		llmtest.Answer{Match: "read my page", Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"browser_get_page_content","arguments":{"browser":"chrome"}}`}}},
		llmtest.Answer{Match: "pay the second bill", Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"browser_execute_js","arguments":{"browser":"chrome","script":"pay()"}}`}}},
	)
	h := openScriptedWith(t, t.TempDir(), model.URL, listPlayWays()[0], "", Options{Scripts: mac})
	h.askHob("which tabs are open in my chrome")
	all := model.Requests()
	if len(all) < 2 {
		t.Fatal("the model was not called")
	}
	told := string(all[1].Body)
	if !strings.Contains(told, "My bank") || !strings.Contains(told, "bank.example/account") || strings.Contains(told, "tok123") || strings.Contains(told, "Presents") || !strings.Contains(told, "Private windows") {
		t.Errorf("the model got %s", told)
	}
	const page = "world.apps['com.google.Chrome'].root.windows[0].tabs[0]"
	ran := func() bool { return strings.Contains(mac.EvalWorld(page+".__ran || []"), "pay()") }
	event, question := h.sendForApproval("pay the first bill in my chrome")
	open, err := h.d.guard.Approvals(t.Context(), guard.Pending, "", "", 9)
	failOnError(t, err)
	if len(open) != 1 || !strings.Contains(open[0].Why, "runs a script") || !strings.Contains(open[0].Why, "bank.example in your own Google Chrome") || ran() {
		t.Fatalf("approval requests = %+v, the script ran = %v", open, ran())
	}
	mac.EvalWorld(page + ".url = 'https://other.example/'")
	h.answerApproval(question, true)
	h.waitEvent(event)
	if ran() {
		t.Error("the script ran on another page than the approved one")
	}
	mac.EvalWorld(page + ".url = 'https://bank.example/account'")
	event, question = h.sendForApproval("pay the second bill in my chrome")
	// The owner approves on Hob's page, which is a tab in the same window.
	mac.EvalWorld("world.apps['com.google.Chrome'].root.windows[0].tabs.push({__class: 'Tab', id: '99', title: 'Hob', url: 'http://127.0.0.1:7717/'})")
	mac.EvalWorld("world.apps['com.google.Chrome'].root.windows[0].activeTabIndex = " + mac.EvalWorld("world.apps['com.google.Chrome'].root.windows[0].tabs.length"))
	h.answerApproval(question, true)
	h.waitEvent(event)
	if !ran() {
		t.Error("the approved script did not run")
	}
	h.askHob("read my page in my chrome")
	if all = model.Requests(); !strings.Contains(string(all[len(all)-1].Body), "the tab shows a page served by this computer") {
		t.Errorf("the model read the dashboard: %s", all[len(all)-1].Body)
	}
	h.stop()
}
