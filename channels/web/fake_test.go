package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/autonomy/api"
	"hob/channels"
	"hob/channels/web"
	"hob/templates"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// engine is a Backend whose turns are functions of the test.
type engine struct {
	web.Backend // nil, so that a call that the test does not expect panics

	turn func(e *engine, in channels.Inbound, st *api.EventStatus) // runs when a message arrives; nil echoes

	cancelled atomic.Value // event of the canceled call of a program

	mu      sync.Mutex
	next    int
	feedID  uint64
	events  map[string]*api.EventStatus
	changed chan struct{} // closed on every change of an event
	keys    map[string]string
	heard   []channels.Inbound
	subs    map[*subscription]bool
	answers map[string]api.Answer
	fired   []string
	shown   []string
	asked   []string // questions to List, Why and Manage
	ready   error
	deaf    bool // the feed drops everything
	wg      sync.WaitGroup
}

func newEngine() *engine {
	return &engine{
		events: map[string]*api.EventStatus{}, keys: map[string]string{}, changed: make(chan struct{}),
		subs: map[*subscription]bool{}, answers: map[string]api.Answer{},
	}
}

func (e *engine) Receive(_ context.Context, in channels.Inbound) (channels.Accepted, error) {
	if in.Text == "fail" {
		return channels.Accepted{}, errors.New("the disk is full")
	}
	e.mu.Lock()
	if id, ok := e.keys[in.Key]; ok && in.Key != "" {
		e.mu.Unlock()
		return channels.Accepted{Event: id, Repeated: true}, nil
	}
	e.next++
	id := fmt.Sprintf("e%d", e.next)
	e.keys[in.Key] = id
	e.heard = append(e.heard, in)
	st := &api.EventStatus{ID: id, Session: in.Session, State: "claimed", Attempts: 1}
	e.events[id] = st
	if e.turn == nil {
		st.State, st.Answer, st.Usage = "done", "echo: "+in.Text, json.RawMessage(`{"input":3,"output":2}`)
		e.mu.Unlock()
		return channels.Accepted{Event: id}, nil
	}
	e.mu.Unlock()
	e.wg.Go(func() { e.turn(e, in, st) })
	return channels.Accepted{Event: id}, nil
}

// changeEvent edits an event and wakes all requests that wait for it.
func (e *engine) changeEvent(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
	close(e.changed)
	e.changed = make(chan struct{})
}

func (e *engine) finishEvent(st *api.EventStatus, answer string) {
	e.changeEvent(func() { st.State, st.Answer, st.Approvals = "done", answer, nil })
	e.publishEvent("message_end", st.ID, map[string]any{"answer": answer, "interrupted": false})
}

func (e *engine) Event(_ context.Context, id string) (api.EventStatus, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	st, ok := e.events[id]
	if !ok {
		return api.EventStatus{}, fmt.Errorf("event %q: %w", id, api.ErrNotFound)
	}
	return *st, nil
}

func (e *engine) Wait(ctx context.Context, id string) (api.EventStatus, error) {
	for {
		e.mu.Lock()
		changed := e.changed
		e.mu.Unlock()
		st, err := e.Event(ctx, id)
		if err != nil || st.State == "done" || st.State == "dead" || len(st.Approvals) > 0 {
			return st, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return api.EventStatus{}, ctx.Err()
		}
	}
}

func (e *engine) Answer(_ context.Context, id string, a api.Answer) (api.Decision, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if id == "nope" {
		return api.Decision{}, api.ErrNotFound
	}
	if _, ok := e.answers[id]; ok {
		return api.Decision{}, fmt.Errorf("%w: already answered", api.ErrConflict)
	}
	e.answers[id] = a
	close(e.changed)
	e.changed = make(chan struct{})
	return api.Decision{Approvals: []api.Approval{{ID: id}}}, nil
}

func (e *engine) Shown(_ context.Context, client string, d api.Display) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d.Delivery == "nope" {
		return api.ErrNotFound
	}
	e.shown = append(e.shown, fmt.Sprintf("%s %s%v %v", client, d.Delivery, d.Approvals, d.Withdrawn))
	return nil
}

// awaitAnswer waits for the answer to an approval.
func (e *engine) awaitAnswer(id string) api.Answer {
	for {
		e.mu.Lock()
		a, ok := e.answers[id]
		changed := e.changed
		e.mu.Unlock()
		if ok {
			return a
		}
		<-changed
	}
}

func (e *engine) Search(context.Context, api.SearchQuery) ([]api.FoundMessage, error) {
	return []api.FoundMessage{}, nil
}

func (e *engine) Export(_ context.Context, session, format string, w io.Writer) error {
	if session == "nope" {
		return fmt.Errorf("%s: %w", session, api.ErrNotFound)
	}
	_, err := io.WriteString(w, format+" of "+session)
	return err
}

func (e *engine) Fork(_ context.Context, session, to, at string) (api.Session, error) {
	if session == "nope" {
		return api.Session{}, fmt.Errorf("%s: %w", session, api.ErrNotFound)
	}
	return api.Session{ID: to, Chat: at}, nil
}

func (e *engine) Replay(_ context.Context, session, turn string) (api.Replay, error) {
	return api.Replay{Session: session, Turn: turn}, nil
}

func (e *engine) Grant(_ context.Context, g api.NewGrant) (api.Grant, error) {
	return api.Grant{ID: "g1", Name: g.By}, nil
}

func (e *engine) Revoke(_ context.Context, grant, by string) (api.Grant, error) {
	if grant != "g1" {
		return api.Grant{}, api.ErrNotFound
	}
	return api.Grant{ID: grant, Name: by}, nil
}

func (e *engine) Pair(_ context.Context, channel, by string) (api.PairingCode, error) {
	return api.PairingCode{Channel: channel, Code: by}, nil
}

func (e *engine) Unpair(_ context.Context, pairing, by string) (api.Pairing, error) {
	return api.Pairing{ID: pairing, By: by}, nil
}

func (e *engine) Clients(_ context.Context, q api.Query) ([]api.Client, error) {
	return []api.Client{{ID: "c1", Kind: q.State, Name: "laptop"}}, nil
}

func (e *engine) CreateClient(_ context.Context, n api.NewClient) (api.ClientToken, error) {
	return api.ClientToken{Client: api.Client{ID: "c1", Kind: n.Kind, Name: n.Name}, Token: "hobc_x"}, nil
}

func (e *engine) RevokeClient(_ context.Context, kind, client string) (api.Client, error) {
	return api.Client{ID: "c1", Kind: kind, Name: client}, nil
}

func (e *engine) AuthenticateClient(_ context.Context, kind, token string) (api.Client, error) {
	if kind == "mcp" && token == clientToken {
		return api.Client{ID: "c1", Kind: kind, Name: "laptop"}, nil
	}
	return api.Client{}, api.ErrDenied
}

// clientToken is the token of the client laptop.
const clientToken = "hobc_laptop_laptop_laptop_laptop_laptop"

func (e *engine) ClientTools(context.Context, api.Client) ([]api.Tool, error) {
	return []api.Tool{{Name: "list_tasks", Effects: []string{"read"}, Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "create_task", Effects: []string{"write"}, Schema: json.RawMessage(`{"type":"object"}`)}}, nil
}

func (e *engine) ClientCall(_ context.Context, c api.Client, tool string, args json.RawMessage) (api.ToolOutcome, error) {
	if tool == "create_task" {
		return api.ToolOutcome{Event: "e1", Approvals: []api.Approval{{ID: "ap1"}}}, nil
	}
	return api.ToolOutcome{Text: c.Name + " called " + tool + " " + string(args), Data: json.RawMessage(`{"tasks":[]}`)}, nil
}

func (e *engine) AwaitClientCall(ctx context.Context, _ api.Client, _ string) (api.ToolOutcome, error) {
	<-ctx.Done()
	return api.ToolOutcome{}, ctx.Err()
}

func (e *engine) CancelClientCall(_ context.Context, _ api.Client, event string) error {
	e.cancelled.Store(event)
	return nil
}

func (e *engine) ClientResource(_ context.Context, _ api.Client, uri string) (api.ToolOutcome, error) {
	if uri != "hob://tasks" {
		return api.ToolOutcome{}, api.ErrNotFound
	}
	return api.ToolOutcome{Data: json.RawMessage(`{"tasks":[]}`)}, nil
}

func (e *engine) ClientPrompts(context.Context, api.Client) ([]api.SkillPrompt, error) {
	return []api.SkillPrompt{{Name: "letter", Description: "Writes letters."}}, nil
}

func (e *engine) ClientPrompt(_ context.Context, _ api.Client, name string) (api.SkillPrompt, error) {
	if name != "letter" {
		return api.SkillPrompt{}, api.ErrNotFound
	}
	return api.SkillPrompt{Name: name, Text: "Dear Sir"}, nil
}

func (e *engine) TestChannel(_ context.Context, channel string, send bool) (api.ChannelTest, error) {
	return api.ChannelTest{Channel: channel, OK: !send}, nil
}

func (e *engine) Fire(_ context.Context, trigger, key string, payload []byte) (api.Fired, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if trigger != "build" && trigger != "timed" {
		return api.Fired{}, api.ErrNotFound
	}
	id, repeated := e.keys[key]
	if !repeated {
		id = fmt.Sprintf("t%d", len(e.fired))
		e.keys[key] = id
		e.fired = append(e.fired, string(payload))
	}
	return api.Fired{Event: id, Repeated: repeated}, nil
}

func (e *engine) TriggerSecret(trigger string) ([]byte, error) {
	switch trigger {
	case "build":
		return []byte("s3cret"), nil
	case "open":
		return nil, nil
	}
	return nil, api.ErrNotFound
}

func (e *engine) Sessions(_ context.Context, q api.Query) ([]api.Session, error) {
	e.recordCall("list %s %+v", "sessions", q)
	return []api.Session{{ID: "x"}}, nil
}

func (e *engine) Deliveries(_ context.Context, q api.Query) ([]api.Delivery, error) {
	e.recordCall("list %s %+v", "deliveries", q)
	return []api.Delivery{{ID: "x"}}, nil
}

func (e *engine) Approvals(_ context.Context, q api.Query) ([]api.Approval, error) {
	e.recordCall("list %s %+v", "approvals", q)
	return []api.Approval{{ID: "x"}}, nil
}

func (e *engine) Messages(_ context.Context, q api.Query) ([]api.ChatLine, error) {
	e.recordCall("list %s %+v", "messages", q)
	return []api.ChatLine{{ID: "x"}}, nil
}

func (e *engine) Tasks(_ context.Context, q api.Query) ([]api.Task, error) {
	e.recordCall("list %s %+v", "tasks", q)
	return []api.Task{{ID: "x"}}, nil
}

func (e *engine) Tools(_ context.Context, q api.Query) ([]api.Tool, error) {
	e.recordCall("list %s %+v", "tools", q)
	return []api.Tool{{Name: "x"}}, nil
}

func (e *engine) Goals(_ context.Context, q api.Query) ([]api.GoalDetails, error) {
	e.recordCall("list %s %+v", "goals", q)
	return nil, nil
}

func (e *engine) Usage(_ context.Context, q api.Query) ([]api.UsageRow, error) {
	e.recordCall("list %s %+v", "usage", q)
	return nil, nil
}

func (e *engine) Watchers(_ context.Context, q api.Query) ([]api.Watcher, error) {
	e.recordCall("list %s %+v", "watchers", q)
	return []api.Watcher{{WatcherSpec: api.WatcherSpec{ID: "x"}}}, nil
}

func (e *engine) SaveSetting(_ context.Context, key, old, value string) (api.SettingChange, error) {
	e.recordCall("save %s %s %s", key, old, value)
	return api.SettingChange{Key: key, Old: old, New: value}, nil
}

func (e *engine) MailAccounts(context.Context) ([]api.MailAccount, error) {
	return []api.MailAccount{{Name: "home", Address: "ada@example.org", Servers: []string{"mail: imap.example.org"}, Pending: api.PendingStart}}, nil
}

func (e *engine) ApplySettings(context.Context) error {
	e.recordCall("apply settings")
	return nil
}

func (e *engine) Notes(_ context.Context, q api.Query) ([]api.Note, error) {
	e.recordCall("list %s %+v", "notes", q)
	return nil, fmt.Errorf("%w: cannot be narrowed so", api.ErrInvalid)
}

func (e *engine) Undoable(_ context.Context, q api.Query) ([]api.LedgerEntry, error) {
	e.recordCall("list undo %+v", q)
	return []api.LedgerEntry{{Args: json.RawMessage("{")}}, nil // cannot be encoded
}

func (e *engine) Why(_ context.Context, kind, about string) (api.Explanation, error) {
	e.recordCall("why %s", strings.TrimSpace(kind+" "+about))
	return api.Explanation{Why: &api.Why{}, Text: "because"}, nil
}

func (e *engine) Audit(_ context.Context, q api.AuditQuery) ([]api.AuditRecord, error) {
	e.recordCall("audit %+v", q)
	return []api.AuditRecord{}, nil
}

func (e *engine) AuditLine(_ context.Context, seq int64) (api.AuditLine, error) {
	e.recordCall("audit line %d", seq)
	return api.AuditLine{AuditRecord: api.AuditRecord{Seq: seq}}, nil
}

func (e *engine) AuditVerify(context.Context) (api.AuditHead, error) {
	return api.AuditHead{Lines: 1}, nil
}

func (e *engine) RecordTrust(_ context.Context, t api.TrustRecord) (api.TrustRecord, error) {
	e.recordCall("trust %+v", t)
	return t, nil
}

func (e *engine) AuditExport(_ context.Context, w io.Writer, format string, _, _ time.Time) error {
	_, err := io.WriteString(w, format)
	return err
}

func (e *engine) Template(context.Context, templates.DesiredState) (templates.ApplyResult, error) {
	return templates.ApplyResult{}, nil
}

func (e *engine) TrustFile(_ context.Context, path string) (api.TrustedFiles, error) {
	return api.TrustedFiles{Path: path, Files: 1}, nil
}

func (e *engine) ConfigChanged(context.Context, api.ConfigChange) error { return nil }

func (e *engine) Stop(_ context.Context, session string) (api.Stopped, error) {
	e.recordCall("stop %s", session)
	return api.Stopped{Stopped: true}, nil
}

func (e *engine) Backup(context.Context) (api.Backup, error) {
	e.recordCall("backup")
	return api.Backup{Path: "hob.db"}, nil
}

func (e *engine) Hold(context.Context) (api.RestoreHold, error) {
	return api.RestoreHold{Active: true, Items: []api.HeldItem{}}, nil
}

func (e *engine) DecideHold(_ context.Context, id string, release bool) (api.HoldDecision, error) {
	e.recordCall("hold %s %v", id, release)
	return api.HoldDecision{Decided: 1}, nil
}

func (e *engine) Shutdown() api.Shutdown {
	e.recordCall("shutdown")
	return api.Shutdown{Stopping: true}
}

func (e *engine) ChangeLesson(_ context.Context, id string, c api.LearnedChange) (api.Lesson, error) {
	e.recordCall("change lesson %s %+v", id, c)
	return api.Lesson{ID: id}, nil
}

func (e *engine) ChangeUserEntry(_ context.Context, id string, c api.LearnedChange) (api.UserEntry, error) {
	e.recordCall("change entry %s %+v", id, c)
	return api.UserEntry{ID: id}, nil
}

func (e *engine) Examine(_ context.Context, names []string, fix bool, step func(api.Finding)) error {
	e.recordCall("examine %v %t", names, fix)
	step(api.Finding{Name: "clock", State: "ok", Cause: "is plausible"})
	return nil
}

func (e *engine) recordCall(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, fmt.Sprintf(format, args...))
}

func (e *engine) Call(_ context.Context, session, tool string, args json.RawMessage) (api.ToolOutcome, error) {
	e.recordCall("call %s %s %s", session, tool, args)
	switch tool {
	case "nope":
		return api.ToolOutcome{}, api.ErrNotFound
	case "ask":
		return api.ToolOutcome{Call: "c1", Approvals: []api.Approval{{ID: "a1"}}}, nil
	case "panics":
		panic("oh no")
	}
	if code, ok := strings.CutPrefix(tool, "fails_"); ok {
		return api.ToolOutcome{Call: "c1", Code: code, Error: "because"}, nil
	}
	return api.ToolOutcome{Text: "done", Call: "c1"}, nil
}

type subscription struct {
	e *engine
	c chan api.FeedEvent
}

func (s *subscription) C() <-chan api.FeedEvent { return s.c }

func (s *subscription) Close() {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	delete(s.e.subs, s)
	close(s.c)
}

func (e *engine) Subscribe(after uint64) api.Subscription {
	e.recordCall("subscribe %d", after)
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &subscription{e: e, c: make(chan api.FeedEvent, 1000)}
	e.subs[s] = true
	return s
}

// publishEvent publishes a live event.
func (e *engine) publishEvent(kind, event string, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.feedID++
	if e.deaf {
		return
	}
	var session string
	if st := e.events[event]; st != nil {
		session = st.Session
	}
	for s := range e.subs {
		s.c <- api.FeedEvent{ID: e.feedID, Type: kind, Event: event, Session: session, Data: raw}
	}
}

func (e *engine) countReaders() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.subs)
}

func (e *engine) publishText(st *api.EventStatus, words ...string) {
	for _, w := range words {
		e.publishEvent("content_delta", st.ID, map[string]string{"text": w})
	}
}

func (e *engine) Ready() error { return e.ready }
func (e *engine) Problems(context.Context) []api.Problem {
	return []api.Problem{{Name: "port", Text: "another program uses 127.0.0.1:7717"}}
}
func (e *engine) Metrics() []byte { return []byte("hob_up 1\n") }
func (e *engine) Version() string { return "1.2.3" }

// serverFixture is a server with its engine, reached in-process.
type serverFixture struct {
	*web.Server
	e *engine
	c *http.Client
}

func newServerFixture(t testing.TB, change func(*web.Options)) *serverFixture {
	t.Helper()
	h := &serverFixture{e: newEngine()}
	o := web.Options{Token: token, Backend: h.e, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	s, err := web.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h.Server, h.c = s, s.Client()
	t.Cleanup(h.e.wg.Wait)
	return h
}

type reply struct {
	code   int
	header http.Header
	body   string
}

// sendRequest sends a request as the owner. Header pairs replace the default headers; an empty value
// removes a header.
func (h *serverFixture) sendRequest(t testing.TB, method, path, body string, header ...string) reply {
	t.Helper()
	resp, err := h.c.Do(h.newRequest(t, method, path, body, header...))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(b)}
}

func (h *serverFixture) newRequest(t testing.TB, method, path, body string, header ...string) *http.Request {
	t.Helper()
	var b io.Reader
	if body != "" {
		b = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, h.URL()+path, b)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		switch {
		case header[i] == "Host":
			r.Host = header[i+1]
		case header[i+1] == "":
			r.Header.Del(header[i])
		default:
			r.Header.Set(header[i], header[i+1])
		}
	}
	return r
}

// decodeAs decodes a reply.
func decodeAs[T any](t testing.TB, r reply) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Fatalf("%d %s: %v", r.code, r.body, err)
	}
	return v
}

type refusal struct {
	Error struct{ Code, Message, Remedy string }
	Event string
}

// events reads the names and data of a stream.
type event struct {
	name string
	data map[string]any
}

func parseEvents(t testing.TB, body string) []event {
	t.Helper()
	var out []event
	for block := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		if strings.HasPrefix(block, ":") {
			continue
		}
		var e event
		for line := range strings.SplitSeq(block, "\n") {
			if v, ok := strings.CutPrefix(line, "event: "); ok {
				e.name = v
			} else if v, ok := strings.CutPrefix(line, "data: "); ok && v != "[DONE]" {
				if err := json.Unmarshal([]byte(v), &e.data); err != nil {
					t.Fatalf("%q: Unmarshal = %v, want nil", v, err)
				}
			}
		}
		out = append(out, e)
	}
	return out
}

func eventNames(evs []event) string {
	var out []string
	for _, e := range evs {
		out = append(out, e.name)
	}
	return strings.Join(out, " ")
}

func waitUntil(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 2000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("timed out: %s", what)
}

func (e *engine) Facts(_ context.Context, limit int, all bool) ([]api.Fact, error) {
	return []api.Fact{{Text: fmt.Sprintf("facts %d %t", limit, all)}}, nil
}

func (e *engine) MemorySearch(_ context.Context, q api.MemoryQuery) ([]api.MemoryRow, error) {
	return []api.MemoryRow{{Text: fmt.Sprintf("%+v", q)}}, nil
}

func (e *engine) ExplainSearch(_ context.Context, q api.MemoryQuery) (api.ExplainedSearch, error) {
	return api.ExplainedSearch{Query: q.Text, Hits: []api.MemoryRow{}}, nil
}

func (e *engine) MemoryItem(_ context.Context, id string) (api.MemoryItem, error) {
	if id == "nope" {
		return api.MemoryItem{}, fmt.Errorf("%q: %w", id, api.ErrNotFound)
	}
	return api.MemoryItem{MemoryRow: api.MemoryRow{ID: id}}, nil
}

func (e *engine) MemoryGraph(_ context.Context, name string, _ int) (api.MemoryGraph, error) {
	return api.MemoryGraph{Root: name}, nil
}

func (e *engine) MemoryStats(context.Context) (api.MemoryStats, error) {
	return api.MemoryStats{Rows: 3}, nil
}

func (e *engine) MemoryExport(_ context.Context, w io.Writer, format string, conversations bool) error {
	_, err := fmt.Fprintln(w, format, conversations)
	return err
}

func (e *engine) MemoryImport(_ context.Context, in api.MemoryImport, step func(api.MemoryProgress)) (api.ImportResult, error) {
	if in.Path == "nope" {
		return api.ImportResult{}, fmt.Errorf("%s: %w", in.Path, api.ErrNotFound)
	}
	step(api.MemoryProgress{Done: 1})
	if in.Path == "broken" {
		return api.ImportResult{}, errors.New("it broke")
	}
	return api.ImportResult{Sealed: in.Trust, DryRun: in.DryRun}, nil
}

func (e *engine) MemoryConsolidate(context.Context) (api.Consolidation, error) {
	return api.Consolidation{Merged: 2, Event: "e1"}, nil
}

func (e *engine) MemoryFlush(_ context.Context, session string) (api.MemoryFlush, error) {
	return api.MemoryFlush{Turns: 1, Facts: []api.Fact{{ID: "f1", Text: "said in " + session}}}, nil
}

func (e *engine) Compact(_ context.Context, session string) (api.Compaction, error) {
	return api.Compaction{Session: session, How: "digest", Before: 2, After: 1}, nil
}

func (e *engine) PinFact(_ context.Context, id string, pinned bool) (api.Fact, error) {
	if id == "nope" {
		return api.Fact{}, api.ErrNotFound
	}
	return api.Fact{ID: id, Pinned: pinned}, nil
}

func (e *engine) MemoryReindex(_ context.Context, step func(api.MemoryProgress)) error {
	step(api.MemoryProgress{Doing: "done", Done: 1})
	return nil
}
