package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/autonomy/llm/llmtest"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
)

// furnishCredentials stores, in each kind of memory, credentials that are shown only if the user
// asks for them by name.
func furnishCredentials(t *testing.T, h *daemonFixture) {
	t.Helper()
	failOnError(t, h.d.store.Write(t.Context(), func(tx *store.Tx) error {
		for _, text := range []string{"the wifi password is hunter2", "the guest room has two beds and wifi", "the cellar code is 4711"} {
			if _, err := h.d.base.RememberTx(tx, knowledge.Fact{Text: text, Provenance: provenance.Owner}); err != nil {
				return err
			}
		}
		return nil
	}))
	h.callTool("create_note", `{"title":"House guests","text":"They come in May. The wifi password is hunter2."}`)
	h.callTool("create_note", `{"title":"House rules","text":"No shoes."}`)
	h.callTool("create_task", `{"title":"print a card: wifi password is hunter2","due":"today"}`)
}

// A search for something else does not return a password, and reports that a row was omitted. A
// question that names the password returns it.
func TestReview11_SearchDoesNotVolunteerCredential(t *testing.T) {
	h := openOffline(t)
	furnishCredentials(t, h)
	for _, c := range []struct {
		tool, args string
		remark     bool
	}{
		{"recall", `{"query":"tell me about the wifi"}`, true},
		{"recall", `{"query":""}`, true},
		{"recall", `{"query":"hunter2"}`, true},
		{"search_knowledge", `{"query":"tell me about the wifi"}`, true},
		{"search_knowledge", `{"query":"house guests in May"}`, true},
		{"search_knowledge", `{"query":"print a card"}`, true},
		{"smart_recall", `{"query":"is there wifi in the guest room?"}`, true},
		{"list_notes", `{}`, true},
		{"list_tasks", `{}`, false},
		{"daily_briefing", `{}`, false},
		{"list_notes", `{"query":"May"}`, true},
	} {
		got := h.callTool(c.tool, c.args)
		if strings.Contains(got.Text+got.Error, "hunter2") && !strings.Contains(c.args, "hunter2") || strings.Contains(got.Text, "is hunter2") {
			t.Errorf("%s %s volunteers the password: %s", c.tool, c.args, got.Text)
		}
		if c.remark && !strings.Contains(got.Text, "left out") {
			t.Errorf("%s %s does not say that something was left out: %s", c.tool, c.args, got.Text)
		}
	}
	for _, c := range []struct{ tool, args, want string }{
		{"recall", `{"query":"what is the wifi password?"}`, "hunter2"},
		{"search_knowledge", `{"query":"wifi password"}`, "hunter2"},
		{"smart_recall", `{"query":"what is the code of the cellar?"}`, "4711"},
		{"read_note", `{"note":"House guests"}`, "hunter2"},
		{"read_note", `{"note":"House rules"}`, "No shoes"},
	} {
		if got := h.callTool(c.tool, c.args); !strings.Contains(got.Text, c.want) {
			t.Errorf("%s %s: %s %s, want %s", c.tool, c.args, got.Text, got.Error, c.want)
		}
	}
	// `hob memory search`.
	_, body := h.callAPI(http.MethodGet, "/api/v1/memory?q=tell+me+about+the+wifi", nil)
	if strings.Contains(string(body), "hunter2") || !strings.Contains(string(body), "search for them by name") {
		t.Errorf("hob memory search volunteers the password, or does not say so: %s", body)
	}
	if _, body = h.callAPI(http.MethodGet, "/api/v1/memory?q=wifi+password", nil); !strings.Contains(string(body), "hunter2") {
		t.Errorf("hob memory search does not find what is named: %s", body)
	}
	if _, body = h.callAPI(http.MethodGet, "/api/v1/memory", nil); !strings.Contains(string(body), "hunter2") {
		t.Errorf("hob memory list leaves something out: %s", body)
	}
}

// Only the user's words can request a credential. A model that searches for the password on its own
// does not get it, and it is not in the prompt.
func TestReview11_ModelCannotAskForCredentialByItself(t *testing.T) {
	model := llmtest.NewServer(
		t, llmtest.Options{Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: "Done."}},
		llmtest.Answer{Match: "prepare the guest room", Calls: []llmtest.Call{
			{Name: "recall", Args: `{"query":"wifi password"}`},
			{Name: "use_tool", Args: `{"name":"search_knowledge","arguments":{"query":"wifi password"}}`},
			{Name: "use_tool", Args: `{"name":"smart_recall","arguments":{"query":"what is the wifi password?"}}`},
			{Name: "use_tool", Args: `{"name":"search_conversations","arguments":{"query":"wifi password"}}`},
			{Name: "use_tool", Args: `{"name":"read_note","arguments":{"note":"House guests"}}`},
		}},
		llmtest.Answer{Match: "what is the wifi password", Calls: []llmtest.Call{{Name: "recall", Args: `{"query":"wifi password"}`}}},
	)
	h := openScriptedWith(t, t.TempDir(), model.URL, listPlayWays()[0], "", Options{})
	furnishCredentials(t, h)
	h.askHob("prepare the guest room with wifi")
	sent := requestsOf(t, model)
	if strings.Contains(sent, "is hunter2") {
		t.Errorf("the model read the password:\n%s", sent)
	}
	if n := strings.Count(sent, "left out"); n < 4 {
		t.Errorf("%d results say that something was left out, want 4 or more:\n%s", n, sent)
	}
	h.askHob("what is the wifi password?")
	if sent = requestsOf(t, model); !strings.Contains(sent, "is hunter2") {
		t.Errorf("the user named the password, but the model did not read it:\n%s", sent)
	}
}

// Only the user gets a credential, in a private chat without untrusted text.
func TestReview11_CredentialNeedsTheOwnersCleanChat(t *testing.T) {
	const ask = "what is the wifi password?"
	search := []llmtest.Call{{Name: "recall", Args: `{"query":"wifi password"}`}}
	for _, c := range []struct {
		name string
		send func(h *daemonFixture)
	}{
		{"a tainted conversation", func(h *daemonFixture) {
			failOnError(h.t, os.WriteFile(filepath.Join(h.home, "Documents", "letter.txt"), []byte("Dear reader"), 0o600))
			h.askHob("read the letter")
			h.askHob(ask)
		}},
		{"a trigger", func(h *daemonFixture) {
			h.callAPI(http.MethodPost, "/api/v1/triggers/door/fire", map[string]string{"text": "ding"})
			h.awaitExtraction()
		}},
		{"a guest", func(h *daemonFixture) {
			code, said := h.postHook("/hooks/webhook", []byte(`{"text":"`+ask+`","sender":"ada@example.org"}`), signedHook("whsec", `{"text":"`+ask+`","sender":"ada@example.org"}`))
			if code != http.StatusAccepted {
				h.t.Fatalf("the guest's message: %d %s", code, said)
			}
			h.waitFor("the owner is asked about the guest's call", func() bool { return h.awaitPending() != "" })
			h.answerApproval(h.awaitPending(), true)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := llmtest.NewServer(
				t, llmtest.Options{Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: "Done."}},
				llmtest.Answer{Match: "read the letter", Calls: []llmtest.Call{{Name: "read_file", Args: `{"path":"letter.txt"}`}}},
				llmtest.Answer{Match: "(?s)wifi password", Calls: search},
			)
			h := openScriptedWith(t, t.TempDir(), model.URL, listPlayWays()[0], "[triggers.door]\naction = \""+ask+"\"\n[channels.webhook]\nsecret = \"whsec\"\nallow = [\"ada@example.org\"]\n", Options{})
			furnishCredentials(t, h)
			c.send(h)
			h.waitFor("the model has answered", func() bool {
				return len(model.Unused()) == 0 || c.name != "a tainted conversation" && model.Count() > 1
			})
			h.stop()
			sent := requestsOf(t, model)
			if strings.Contains(sent, "is hunter2") {
				t.Errorf("the model read the password:\n%s", sent)
			}
			if !strings.Contains(sent, "left out; only the user") {
				t.Errorf("the model did not learn that something was left out:\n%s", sent)
			}
		})
	}
}

// requestsOf returns the bodies of all requests that a model got.
func requestsOf(t *testing.T, model *llmtest.Server) string {
	t.Helper()
	var b strings.Builder
	for _, r := range model.Requests() {
		b.Write(r.Body)
		b.WriteByte('\n')
	}
	return b.String()
}
