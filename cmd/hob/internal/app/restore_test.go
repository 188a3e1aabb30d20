package app

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/autonomy/agents"
	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/recovery"
	"hob/channels"
	"hob/channels/channelstest"
	"hob/knowledge"
	"hob/platform/host/system"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
)

const restoreConfig = "timezone = \"UTC\"\n[web]\nlisten = \"127.0.0.1:0\"\n[autonomy]\ntick = \"1s\"\n[channels.webhook]\nurl = \"http://127.0.0.1:9/\"\nsecret = \"not-a-real-secret\"\n"

// secretPhrase is erased after the backup.
const secretPhrase = "Kestrel-9981"

// TestRestore_SendsAndRunsNothingByItself restores a backup with queued texts, open approval
// requests, pending events, due reminders, a background task, a grant and a pairing that were later
// ended, and text that was later deleted. Nothing is sent or run without the user's decision, and
// nothing that was ended or deleted comes back.
func TestRestore_SendsAndRunsNothingByItself(t *testing.T) {
	storetest.FileOnly(t, "backups are files")
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	paths, err := system.DefaultPaths()
	failOnError(t, err)
	for name, dated := range map[string]bool{"snapshot": false, "dated database": true} {
		t.Run(name, func(t *testing.T) {
			p := paths
			p.Home = filepath.Join(t.TempDir(), "hob")
			p.Data, p.Logs, p.Runtime = p.Home, filepath.Join(p.Home, "logs"), filepath.Join(p.Home, "run")
			backup := liveThenBackUp(t, home, p, dated)
			s, err := recovery.Find(p.Backups(), backup)
			failOnError(t, err)
			r, err := recovery.Restore(t.Context(), recovery.Options{Paths: p, Migrations: Migrations(), Version: "test", Snapshot: s})
			failOnError(t, err)
			if r.Applied != (recovery.Applied{Grants: 1, Pairings: 1, Erasures: 1}) || r.Closed != 1 || len(r.Held) < 4 || r.Before == "" {
				t.Errorf("Restore = %+v", r)
			}
			letTaskExpire(t, p)
			checkRestored(t, home, p)
		})
	}
}

// putBackgroundTask stores a background task whose end starts a turn in its conversation.
func putBackgroundTask(d *App, tx *store.Tx) error {
	_, err := d.bus.Inbox.PutTx(tx, bus.Event{
		ID: "task-event", Kind: bus.Task, Source: agents.Source, Session: "home/t-1", Text: "sort the photos", Provenance: provenance.Owner, NotBefore: time.Now().Add(time.Hour),
		Payload: []byte(`{"id":"t-1","agent":"hob","background":true,"follow_up":true,"report":"home"}`),
	})
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO crew_tasks (id, call, n, parent, session, event, agent, task, background, state, created_at)
		VALUES ('t-1', 'call-1', 0, 'an-event', 'home', 'task-event', 'hob', 'sort the photos', 1, 'open', ?)`, time.Now().UnixMilli())
	return err
}

// letTaskExpire makes the restored background task older than its time limit.
func letTaskExpire(t *testing.T, p system.Paths) {
	t.Helper()
	st, err := storetest.Open(t.Context(), p.Database(), Migrations(), store.Options{})
	failOnError(t, err)
	failOnError(t, st.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE crew_tasks SET created_at = created_at - 86400000`)
		return err
	}))
	failOnError(t, st.Close())
}

// liveThenBackUp creates the data in a home, backs up the home, and then ends or deletes the data.
// It returns the backup.
func liveThenBackUp(t *testing.T, home string, p system.Paths, dated bool) (backup string) {
	t.Helper()
	f := &channelstest.Fake{}
	h := openWith(t, home, Options{Paths: p, Channels: map[string]channels.Channel{"pigeon": f}}, "[agent]\nmodel = \"offline\"\n"+restoreConfig)
	d, ctx := h.d, t.Context()
	h.askHob("remember that the gate code is " + secretPhrase)
	h.askHob("remember that my favourite colour is teal")
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline) && !isListening(h, "pigeon"); {
		time.Sleep(5 * time.Millisecond)
	}
	c, err := d.pairings.NewCode(ctx, "pigeon", "test")
	failOnError(t, err)
	if !f.Say(ctx, "7", "ada", c.Code, false) {
		t.Fatal("the account was not paired")
	}
	var tool tools.Tool
	for _, x := range d.tools {
		if x.Spec().Name == "create_task" {
			tool = x
		}
	}
	grant, err := d.approvals.Grant(ctx, guard.NewGrant{Tool: tool, Args: json.RawMessage(`{"title":"x"}`), Session: "watcher:w1", For: time.Hour, By: "test"})
	failOnError(t, err)
	h.askHob("remind me in 4 seconds to stretch")
	h.sendForApproval("forget my favourite colour")
	f.Down()
	if !f.Say(ctx, "7", "ada", "what is the gate code?", false) {
		t.Fatal("a message was refused")
	}
	failOnError(t, d.store.Write(ctx, func(tx *store.Tx) error {
		_, err := d.bus.Outbox.SendTx(tx, "an-event", bus.OutboxItem{
			Provenance: provenance.Owner, NotBefore: time.Now().Add(time.Hour),
			Delivery: channels.Delivery{Session: "home", Channel: "pigeon", Chat: "8", Text: "see you at eight"},
		})
		if err != nil {
			return err
		}
		err = d.bus.Scheduled.AddTx(tx, bus.ScheduledSend{
			Call: "c1", Event: "an-event", Session: "home", Report: "home", Tool: "send_email", Effects: "send", Args: []byte(`{"to":["bob@example.org"],"text":"hi"}`),
			What: "the mail to bob@example.org", Provenance: provenance.Owner, Zone: "UTC", At: time.Now().Add(4 * time.Second), CreatedAt: time.Now(),
		})
		if err != nil {
			return err
		}
		if err := putBackgroundTask(d, tx); err != nil {
			return err
		}
		_, err = d.bus.Inbox.PutTx(tx, bus.Event{Kind: bus.Watcher, Source: "w1", Session: "watcher:w1", Text: "a file appeared", Provenance: provenance.Outside, NotBefore: time.Now().Add(time.Hour)})
		return err
	}))
	h.awaitDelivery("reply", "gate code") // queued: the channel is down
	if dated {
		backup, err = d.store.BackupNow(ctx)
		failOnError(t, err)
	} else {
		code, body := h.callAPI(http.MethodPost, "/api/v1/manage/backup", struct{}{})
		var b api.Backup
		if code != http.StatusOK || json.Unmarshal(body, &b) != nil {
			t.Fatalf("backup: %d %s", code, body)
		}
		backup = b.Path
	}
	h.awaitDelivery("notice", "stretch")
	_, err = d.approvals.Revoke(ctx, grant.ID, "test")
	failOnError(t, err)
	pairs, err := d.pairings.List(ctx)
	failOnError(t, err)
	_, err = d.pairings.Remove(ctx, pairs[0].ID, "test")
	failOnError(t, err)
	plan, err := d.base.PlanErasure(d.base.Reader(ctx), knowledge.ForgetRequest{Query: secretPhrase, Everything: true, EveryRealm: true})
	failOnError(t, err)
	var id string
	failOnError(t, d.store.Write(ctx, func(tx *store.Tx) error {
		id, err = d.erasing.BeginTx(tx, d.base, plan.Erasure, "", true)
		return err
	}))
	_, err = d.erasing.Wait(ctx, id)
	failOnError(t, err)
	h.stop()
	if found := filesWith(t, p.Home, secretPhrase); !areInBackups(found) {
		t.Fatalf("before the restore the text is in %q, want the backup only", found)
	}
	return backup
}

// checkRestored starts the restored home with a scripted model and a working channel.
func checkRestored(t *testing.T, home string, p system.Paths) {
	t.Helper()
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: "Hello from the model."}})
	f := &channelstest.Fake{}
	h := openWith(t, home, Options{Paths: p, Channels: map[string]channels.Channel{"pigeon": f}},
		"[agent]\nmodel = \"test/scripted\"\n"+restoreConfig+"[providers.test]\nkind = \"openai\"\nbase_url = \""+model.URL+"/v1\"\napi_key = \""+llmtest.Key+"\"\n")
	d, ctx := h.d, t.Context()
	status := func() (s api.Status) {
		t.Helper()
		s, err := d.service.Status(ctx)
		failOnError(t, err)
		return s
	}
	for deadline, from := time.Now().Add(60*time.Second), status().Ticks; time.Now().Before(deadline) && (status().Ticks < from+3 || !isListening(h, "pigeon")); {
		time.Sleep(20 * time.Millisecond)
	}
	if n := len(model.Requests()); n != 0 {
		t.Errorf("the model was called %d times", n)
	}
	if got := f.Arrived(); len(got) != 0 {
		t.Errorf("sent without a request: %q", got)
	}
	if s := status(); s.Restored == "" || s.Held < 4 || s.Questions != 0 || s.Pending != 0 {
		t.Errorf("Status = %+v", s)
	}
	if grants, err := d.guard.Grants(ctx, false, "", 10); err != nil || len(grants) != 0 {
		t.Errorf("grants = %+v, %v, want none", grants, err)
	}
	if f.Say(ctx, "7", "ada", "hello", false) {
		t.Error("the removed account may write again")
	}
	if found := filesWith(t, p.Home, secretPhrase); !areInBackups(found) {
		t.Errorf("the deleted text is in %q, want the backup only", found)
	}
	if rows, err := d.base.Search(d.base.Reader(ctx), "gate code", knowledge.SearchOptions{Limit: 10, All: true}); err != nil || len(rows) > 0 && strings.Contains(rows[0].Text, secretPhrase) {
		t.Errorf("Search = %+v, %v", rows, err)
	}
	code, body := h.callAPI(http.MethodGet, "/api/v1/audit/verify", nil)
	var head api.AuditHead
	if code != http.StatusOK || json.Unmarshal(body, &head) != nil || len(head.Restores) != 1 || head.Restores[0].ReplacedLines == 0 || head.Restores[0].ReplacedHead == "" {
		t.Errorf("audit verify: %d %s", code, body)
	}
	if got := h.askHob("hello"); got != "Hello from the model." {
		t.Errorf("a local message was answered %q", got)
	}
	before := len(model.Requests())
	code, body = h.callAPI(http.MethodGet, "/api/v1/hold", nil)
	var hold api.RestoreHold
	if code != http.StatusOK || json.Unmarshal(body, &hold) != nil || !hold.Active {
		t.Fatalf("hold: %d %s", code, body)
	}
	var send, mail, reminder string
	for _, x := range hold.Items {
		switch {
		case x.Text == "see you at eight":
			send = x.ID
		case x.Type == "send":
			mail = x.ID
		case x.Type == "event" && strings.Contains(x.Text, "stretch"):
			reminder = x.ID
		}
	}
	if send == "" || mail == "" || reminder == "" {
		t.Fatalf("items on hold = %+v", hold.Items)
	}
	if len(f.Arrived()) != 0 || len(model.Requests()) != before {
		t.Errorf("sent %q, called the model %d times", f.Arrived(), len(model.Requests()))
	}
	if code, body := h.callAPI(http.MethodPost, "/api/v1/hold", map[string]any{"id": send, "release": true}); code != http.StatusOK {
		t.Fatalf("release: %d %s", code, body)
	}
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline) && len(f.Arrived()) == 0; {
		time.Sleep(10 * time.Millisecond)
	}
	if got := f.Arrived(); len(got) != 1 || got[0] != "(possibly repeated) see you at eight" {
		t.Errorf("released: %q", got)
	}
	if code, body := h.callAPI(http.MethodPost, "/api/v1/hold", map[string]any{"id": "all", "release": false}); code != http.StatusOK {
		t.Fatalf("drop: %d %s", code, body)
	}
	if s := status(); s.Restored != "" || s.Held != 0 {
		t.Errorf("after the hold Status = %+v", s)
	}
	h.stop()
}

// filesWith lists the files below a folder that contain a text.
func filesWith(t *testing.T, dir, text string) (out []string) {
	t.Helper()
	failOnError(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(name)
		if bytes.Contains(b, []byte(text)) {
			out = append(out, strings.TrimPrefix(name, dir))
		}
		return err
	}))
	return out
}

// areInBackups reports whether the backup contains the text, in its database or in MEMORY.md, and no
// other file does.
func areInBackups(found []string) bool {
	return len(found) > 0 && !slices.ContainsFunc(found, func(path string) bool { return !strings.Contains(path, "backups") })
}
