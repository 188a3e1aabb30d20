package app

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/autonomy/llm/llmtest"
	"hob/channels"
)

// noText lists the tables that cannot contain personal text, or that must not be changed, with the
// reason.
var noText = map[string]string{
	"audit":            "append-only: contents stand there as keyed digests alone",
	"channel_state":    "where channels have read to: numbers and ids of platforms",
	"currency_rates":   "public exchange rates",
	"drafts":           "ids of messages at platforms",
	"guard_key":        "a key from before it was a file",
	"instances":        "the processes that share the database",
	"leases":           "what each process does",
	"migrations":       "the versions of the tables",
	"outbox_shown":     "ids of deliveries and clients",
	"pause":            "a time",
	"store_writers":    "random numbers",
	"unattended_calls": "times alone",
}

// TestErasers_CoverEveryTable checks that each table declares how forgetting handles it.
func TestErasers_CoverEveryTable(t *testing.T) {
	h := openDaemon(t, "")
	d := h.d
	owned := map[string]bool{}
	for _, e := range d.listErasers() {
		for _, table := range e.Tables() {
			owned[table] = true
		}
	}
	rows, err := d.store.Read().QueryContext(t.Context(), `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		all = append(all, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if base, _, shadow := strings.Cut(name, "_fts"); shadow && owned[base] { // triggers keep the index in step with its table
			continue
		}
		if !owned[name] && noText[name] == "" {
			t.Errorf("no Eraser covers the table %s: add one (platform/store/erase.Table) to the package that owns it and to listErasers in documents.go", name)
		}
	}
	for name := range owned {
		if !slices.Contains(all, name) {
			t.Errorf("an Eraser names the table %s, which does not exist", name)
		}
	}
}

// runForget runs the tool with approval and waits until the erasure has ended.
func (h *daemonFixture) runForget(args string) {
	h.t.Helper()
	if c := h.callTool("forget", args); c.Error != "" || c.Code != "" {
		h.t.Fatalf("forget %s: %+v", args, c)
	}
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var list []struct{ State string }
		_, body := h.callAPI(http.MethodGet, "/api/v1/memory/erasures", nil)
		failOnError(h.t, json.Unmarshal(body, &list))
		if len(list) > 0 && !slices.ContainsFunc(list, func(e struct{ State string }) bool { return e.State != "done" }) {
			return
		}
	}
	h.t.Fatal("the erasure did not end")
}

// messagesWith counts the stored messages of a conversation that contain a text.
func (h *daemonFixture) messagesWith(session, text string) (n int) {
	h.t.Helper()
	failOnError(h.t, h.d.store.Reader(h.t.Context()).QueryRow(`SELECT count(*) FROM messages WHERE session = ? AND instr(CAST(message AS TEXT), ?) > 0`, session, text).Scan(&n))
	return n
}

// What Hob learned in a conversation stands in the context of later messages in other conversations.
// It goes with the conversation, also if a later message has reworded it since.
func TestForget_RemovesLessonsOfAConversation(t *testing.T) {
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: "All right."}})
	h := openScripted(t, t.TempDir(), model.URL, listPlayWays()[0], "")
	sayIn := func(session, text string) {
		t.Helper()
		if code, body := h.callAPI(http.MethodPost, "/api/v1/sessions/"+session+"/messages", map[string]string{"text": text}); code != http.StatusOK {
			t.Fatalf("%q: %d %s", text, code, body)
		}
	}
	sayIn("first", "Always write the report for Marisol in green ink, please.")
	sayIn("second", "what about the report for Marisol?")
	sayIn("third", "Always write the report for Marisol in blue ink, please.")
	sayIn("fourth", "what about the report for Marisol?")
	if h.messagesWith("second", "green ink") == 0 || h.messagesWith("fourth", "blue ink") == 0 {
		t.Fatal("no message carries the lesson, so the test shows nothing")
	}
	h.runForget(`{"source":"session:first"}`)
	if n := h.messagesWith("second", "green ink"); n != 0 {
		t.Errorf("%d messages still contain the lesson", n)
	}
	if h.messagesWith("third", "blue ink") == 0 || h.messagesWith("fourth", "blue ink") == 0 {
		t.Error("the lesson of another conversation is gone as well")
	}
}

// A notice about a message goes with the message, and an intent with its text.
func TestForget_ReachesWatchersOfMessages(t *testing.T) {
	h, a := openWithGuests(t, t.TempDir())
	a.writeMessage(h, "u3", "Ben", "hello")
	h.askHob("when Ben mentions the invoice, tell me")
	acc := a.receiveMessage(t, channels.Inbound{Chat: "chat-u3", Sender: "u3", SenderName: "Ben", Text: "the invoice is at 12 Otter Lane"})
	h.waitEvent(acc.Event)
	h.awaitDelivery("notice", "12 Otter Lane")
	h.runForget(`{"source":"event:` + acc.Event + `"}`)
	for _, d := range h.listDeliveries(channels.Notice) {
		if strings.Contains(d.Text, "Otter Lane") {
			t.Errorf("a notice still contains it: %q", d.Text)
		}
	}
	if got := h.listIntents(); !strings.Contains(got, "invoice") {
		t.Errorf("waiting for %q", got)
	}
	h.askHob("remember that the purple otter lane is closed")
	h.askHob("next time I mention the boat, remind me of the purple otter lane")
	h.runForget(`{"query":"purple otter lane"}`)
	if got := h.listIntents(); strings.Contains(got, "otter") || strings.Contains(got, "forgotten") {
		t.Errorf("waiting for %q", got)
	}
}
