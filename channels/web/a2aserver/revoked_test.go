package a2aserver

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// waitFor waits until done returns true.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timeout: %s", what)
		}
	}
}

// A revoked client gets no more answers and no push notifications.
func TestServer_StopsTasksOfRevokedClients(t *testing.T) {
	receiver := &pushReceiver{}
	web := httptest.NewServer(receiver)
	defer web.Close()
	b := newBench(t, strings.TrimPrefix(web.URL, "http://"))
	config := `,"configuration":{"returnImmediately":true,"taskPushNotificationConfig":{"url":"` + web.URL + `/hook","authentication":{"scheme":"Bearer","credentials":"secret-1"}}}}`
	sent := func(client, id string) string {
		result, code := b.callRPC(client, "SendMessage", strings.Replace(messageJSON(id, "hello", ""), `,"configuration":{"returnImmediately":true}}`, config, 1))
		var out struct{ Task struct{ ID string } }
		if err := json.Unmarshal([]byte(result), &out); err != nil || code != 0 {
			t.Fatalf("SendMessage = %s, %d", result, code)
		}
		return out.Task.ID
	}
	open, answered, question, honest := sent("peer", "m1"), sent("peer", "m2"), sent("peer", "m3"), sent("other", "m1")
	if err := b.engine.endEvent(question, "done", "SECRET-ANSWER: which one?"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the first notifications", func() bool { return receiver.hasText("SECRET-ANSWER") })
	b.engine.revokeClient("peer")
	receiver.clearBodies()
	if err := b.engine.endEvent(answered, "done", "SECRET-ANSWER"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end of the open task", func() bool {
		st, err := b.engine.Event(t.Context(), open)
		return err == nil && st.State == "dead"
	})
	waitFor(t, "the removal of the client's rows", func() bool {
		var tasks, messages, pushes int
		err := b.s.o.Store.Read().QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM a2a_tasks), (SELECT count(*) FROM a2a_messages), (SELECT count(*) FROM a2a_push)`).Scan(&tasks, &messages, &pushes)
		return err == nil && tasks == 1 && messages == 1 && pushes == 1
	})
	if err := b.engine.endEvent(honest, "done", "HONEST-ANSWER"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the notification of another client", func() bool { return receiver.hasText("HONEST-ANSWER") })
	if receiver.hasText("SECRET-ANSWER") {
		t.Error("a revoked client received an answer")
	}
}

func (p *pushReceiver) hasText(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Contains(bytes.Join(p.body, nil), []byte(text))
}

func (p *pushReceiver) clearBodies() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.body = nil
}

// A new client with the name of a revoked client cannot see that client's tasks.
func TestServer_GivesNoTasksToANewClientOfTheSameName(t *testing.T) {
	b := newBench(t)
	task := b.sendMessage("peer", "m1", "hello", `,"contextId":"shared"`)
	session := b.engine.last.Session
	for _, method := range []string{"GetTask", "CancelTask"} {
		if body, code := b.callRPC("peer#2", method, `{"id":"`+task+`"}`); code != -32001 {
			t.Errorf("%s = %d %s, want -32001", method, code, body)
		}
	}
	if list, _ := b.callRPC("peer#2", "ListTasks", `{}`); strings.Contains(list, task) {
		t.Errorf("listed: %s", list)
	}
	if again := b.sendMessage("peer#2", "m1", "hello", `,"contextId":"shared"`); again == task || b.engine.last.Session == session {
		t.Errorf("the new client continues the task %s in %s", again, b.engine.last.Session)
	}
}

// A page of large tasks contains fewer tasks, and images are not stored with a task.
func TestServer_BoundsPages(t *testing.T) {
	b := newBench(t)
	image := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 1<<20)...))
	for i := range 40 {
		extra, metadata := "", ""
		if i%10 == 0 { // 8 MiB in total, which must not be stored
			extra, metadata = fmt.Sprintf(`,{"raw":%q}`, image), strings.Repeat("m", 1<<20)
		}
		body := fmt.Sprintf(`{"message":{"messageId":"m%d","role":"ROLE_USER","metadata":{"x":%q},"parts":[{"text":%q}%s]},"configuration":{"returnImmediately":true}}`, i, metadata, strings.Repeat("t", 250<<10), extra)
		if result, code := b.callRPC("peer", "SendMessage", body); code != 0 {
			t.Fatalf("SendMessage = %.300s, %d", result, code)
		}
	}
	var stored int
	if err := b.s.o.Store.Read().QueryRowContext(t.Context(), `SELECT sum(length(message)) FROM a2a_messages`).Scan(&stored); err != nil || stored > 11<<20 {
		t.Errorf("%d bytes of messages, %v", stored, err)
	}
	seen, token := 0, ""
	for pages := 1; ; pages++ {
		result, code := b.callRPC("peer", "ListTasks", fmt.Sprintf(`{"pageSize":100,"pageToken":%q}`, token))
		var page struct {
			Tasks         []struct{ ID string }
			TotalSize     int
			NextPageToken string
		}
		if err := json.Unmarshal([]byte(result), &page); err != nil || code != 0 || page.TotalSize != 40 || len(page.Tasks) == 0 || len(result) > maxListed+1<<20 {
			t.Fatalf("page %d: %d tasks in %d bytes, %d: %v", pages, len(page.Tasks), len(result), code, err)
		}
		seen += len(page.Tasks)
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	if seen != 40 {
		t.Errorf("the pages contain %d tasks", seen)
	}
}
