package apiclient_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/autonomy/api"
	"hob/channels/web"
	"hob/channels/web/apiclient"
	"hob/platform/host/system"
	"hob/templates"
)

// The client implements the interfaces of package api that the HTTP API offers in the same form.
var (
	_ api.Agents       = (*apiclient.Client)(nil)
	_ api.Approvals    = (*apiclient.Client)(nil)
	_ api.Audit        = (*apiclient.Client)(nil)
	_ api.Channels     = (*apiclient.Client)(nil)
	_ api.Doctor       = (*apiclient.Client)(nil)
	_ api.Documents    = (*apiclient.Client)(nil)
	_ api.Explanations = (*apiclient.Client)(nil)
	_ api.Forgetting   = (*apiclient.Client)(nil)
	_ api.Goals        = (*apiclient.Client)(nil)
	_ api.Learned      = (*apiclient.Client)(nil)
	_ api.Memory       = (*apiclient.Client)(nil)
	_ api.Notes        = (*apiclient.Client)(nil)
	_ api.Notices      = (*apiclient.Client)(nil)
	_ api.Sessions     = (*apiclient.Client)(nil)
	_ api.Tasks        = (*apiclient.Client)(nil)
	_ api.Tools        = (*apiclient.Client)(nil)
	_ api.MCP          = (*apiclient.Client)(nil)
	_ api.Undo         = (*apiclient.Client)(nil)
	_ api.Usage        = (*apiclient.Client)(nil)
	_ api.Watchers     = (*apiclient.Client)(nil)
)

// recorder answers every request with a status and a body, and remembers the last request.
type recorder struct {
	status int
	body   string
	last   *http.Request
	sent   []byte
}

func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	r.last, r.sent = q, nil
	if q.Body != nil {
		b, err := io.ReadAll(q.Body)
		if err != nil {
			return nil, err
		}
		r.sent = b
	}
	return &http.Response{StatusCode: r.status, Status: http.StatusText(r.status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(r.body)), Request: q}, nil
}

func newRecorder(status int, body string) (*recorder, *apiclient.Client) {
	r := &recorder{status: status, body: body}
	return r, apiclient.New(&http.Client{Transport: r}, "http://127.0.0.1:7717", system.Secret("token"))
}

// goldenRoute finds the documented route of a request and its parameters.
func goldenRoute(t *testing.T, q *http.Request) (params []string, ok bool) {
	t.Helper()
	golden, err := os.ReadFile("../testdata/routes.golden")
	if err != nil {
		t.Fatal(err)
	}
	best := -1
	for line := range strings.Lines(string(golden)) {
		fields := strings.Fields(line)
		want, got := strings.Split(fields[1], "/"), strings.Split(q.URL.EscapedPath(), "/")
		if fields[0] != q.Method || len(want) != len(got) {
			continue
		}
		exact, fits := 0, true
		for i := range want {
			if want[i] == got[i] {
				exact++
			} else if !strings.HasPrefix(want[i], "{") {
				fits = false
			}
		}
		if fits && exact > best {
			best, params, ok = exact, fields[3:], true
		}
	}
	return params, ok
}

func TestClient_UsesDocumentedRoutes(t *testing.T) {
	r, c := newRecorder(http.StatusOK, "null")
	ctx, day := context.Background(), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	list := api.Query{Limit: 5, Before: "b"}
	find := api.MemoryQuery{Text: "x", Kinds: []string{"fact"}, Speaker: "hob", Since: day, Until: day, Limit: 3, History: true, Meaning: true}
	audit := api.AuditQuery{Event: "e", Session: "s", Tool: "t", Actor: "a", Action: "c", Verdict: "v", Outcome: "o", Call: "l", Since: day, Until: day, Before: 3, Tainted: true, Limit: 9}
	change := api.LearnedChange{Retire: true}
	for name, call := range map[string]func() (any, error){
		"Agents":           func() (any, error) { return c.Agents(ctx, api.Query{Of: "a"}) },
		"Instances":        func() (any, error) { return c.Instances(ctx) },
		"Delegations":      func() (any, error) { return c.Delegations(ctx, api.Query{Limit: 1, All: true, Of: "d"}) },
		"CancelDelegation": func() (any, error) { return c.CancelDelegation(ctx, "d/1") },
		"MCPServers":       func() (any, error) { return c.MCPServers(ctx, api.Query{Of: "s"}) },
		"MCPTools":         func() (any, error) { return c.MCPTools(ctx, api.Query{Of: "s"}) },
		"MCPLogs":          func() (any, error) { return c.MCPLogs(ctx, api.Query{Of: "s", Limit: 1}) },
		"TestMCP":          func() (any, error) { return c.TestMCP(ctx, "s") },
		"TrustMCP":         func() (any, error) { return c.TrustMCP(ctx, "s", []string{"d"}) },
		"LoginMCP":         func() (any, error) { return c.LoginMCP(ctx, "s", true) },
		"Approvals":        func() (any, error) { return c.Approvals(ctx, api.Query{Of: "s", State: "pending", Limit: 1}) },
		"Answer":           func() (any, error) { return c.Answer(ctx, "ap1", api.Answer{Approved: true, Scope: "once"}) },
		"Grants":           func() (any, error) { return c.Grants(ctx, api.Query{Of: "s", All: true, Limit: 1}) },
		"Grant":            func() (any, error) { return c.Grant(ctx, api.NewGrant{Tool: "t", Session: "s"}) },
		"Revoke":           func() (any, error) { return c.Revoke(ctx, "g1", "") },
		"Audit":            func() (any, error) { return c.Audit(ctx, audit) },
		"AuditLine":        func() (any, error) { return c.AuditLine(ctx, 3) },
		"AuditVerify":      func() (any, error) { return c.AuditVerify(ctx) },
		"RecordTrust": func() (any, error) {
			return c.RecordTrust(ctx, api.TrustRecord{Kind: "hook", Items: []api.TrustedItem{}})
		},
		"AuditExport":  func() (any, error) { return nil, c.AuditExport(ctx, io.Discard, "csv", day, day) },
		"Channels":     func() (any, error) { return c.Channels(ctx) },
		"Clients":      func() (any, error) { return c.Clients(ctx, api.Query{State: "a2a"}) },
		"CreateClient": func() (any, error) { return c.CreateClient(ctx, api.NewClient{Kind: "mcp", Name: "laptop"}) },
		"RevokeClient": func() (any, error) { return c.RevokeClient(ctx, "mcp", "laptop") },
		"Pair":         func() (any, error) { return c.Pair(ctx, "telegram", "") },
		"Unpair":       func() (any, error) { return c.Unpair(ctx, "p1", "") },
		"TestChannel":  func() (any, error) { return c.TestChannel(ctx, "telegram", true) },
		"Deliveries": func() (any, error) {
			return c.Deliveries(ctx, api.Query{Of: "s", State: "sent", Limit: 1, Before: "b"})
		},
		"ReportShown": func() (any, error) { return nil, c.ReportShown(ctx, "d1") },
		"Examine":     func() (any, error) { return nil, c.Examine(ctx, []string{"disk"}, true, func(api.Finding) {}) },
		"Permissions": func() (any, error) { return c.Permissions(ctx) },
		"Documents":   func() (any, error) { return c.Documents(ctx, api.Query{Limit: 1, State: "failed"}) },
		"TrustFile":   func() (any, error) { return c.TrustFile(ctx, "/tmp/x") },
		"Why":         func() (any, error) { return c.Why(ctx, "tick", "last") },
		"PreviewErasure": func() (any, error) {
			return c.PreviewErasure(ctx, api.Query{Of: "f1", Text: "x", State: "file:/x", All: true})
		},
		"Erasures":        func() (any, error) { return c.Erasures(ctx, api.Query{Of: "e1", Limit: 1}) },
		"Goals":           func() (any, error) { return c.Goals(ctx, api.Query{Of: "g", State: "open", All: true, Limit: 1}) },
		"Plan":            func() (any, error) { return c.Plan(ctx) },
		"Lessons":         func() (any, error) { return c.Lessons(ctx, api.Query{All: true}) },
		"ChangeLesson":    func() (any, error) { return c.ChangeLesson(ctx, "l1", change) },
		"UserEntries":     func() (any, error) { return c.UserEntries(ctx) },
		"ChangeUserEntry": func() (any, error) { return c.ChangeUserEntry(ctx, "u1", change) },
		"Backup":          func() (any, error) { return c.Backup(ctx) },
		"Hold":            func() (any, error) { return c.Hold(ctx) },
		"DecideHold":      func() (any, error) { return c.DecideHold(ctx, "i1", true) },
		"RotateToken":     func() (any, error) { return c.RotateToken(ctx) },
		"Shutdown":        func() (any, error) { return c.Shutdown(ctx) },
		"ConfigChanged":   func() (any, error) { return nil, c.ConfigChanged(ctx, api.ConfigChange{What: "x"}) },
		"Template":        func() (any, error) { return c.Template(ctx, templates.DesiredState{}) },
		"Facts":           func() (any, error) { return c.Facts(ctx, 5, true) },
		"MemorySearch":    func() (any, error) { return c.MemorySearch(ctx, find) },
		"ExplainSearch":   func() (any, error) { return c.ExplainSearch(ctx, find) },
		"MemoryItem":      func() (any, error) { return c.MemoryItem(ctx, "Ana Müller/2") },
		"MemoryGraph":     func() (any, error) { return c.MemoryGraph(ctx, "Ana", 3) },
		"MemoryStats":     func() (any, error) { return c.MemoryStats(ctx) },
		"MemoryExport":    func() (any, error) { return nil, c.MemoryExport(ctx, io.Discard, "jsonl", true) },
		"MemoryImport": func() (any, error) {
			return c.MemoryImport(ctx, api.MemoryImport{Path: "/x"}, func(api.MemoryProgress) {})
		},
		"MemoryConsolidate": func() (any, error) { return c.MemoryConsolidate(ctx) },
		"MemoryFlush":       func() (any, error) { return c.MemoryFlush(ctx, "cli") },
		"PinFact":           func() (any, error) { return c.PinFact(ctx, "f1", true) },
		"MemoryReindex":     func() (any, error) { return nil, c.MemoryReindex(ctx, func(api.MemoryProgress) {}) },
		"Notes":             func() (any, error) { return c.Notes(ctx, api.Query{Text: "x", Limit: 1}) },
		"Notices":           func() (any, error) { return c.Notices(ctx, api.Query{Of: "n", State: "held", Limit: 1}) },
		"ReleaseNotices":    func() (any, error) { return c.ReleaseNotices(ctx, "n1") },
		"SnoozeNotice":      func() (any, error) { return c.SnoozeNotice(ctx, "n1", "1h") },
		"SetQuiet":          func() (any, error) { return c.SetQuiet(ctx, "1h") },
		"SetPause":          func() (any, error) { return c.SetPause(ctx, "1h") },
		"Sessions":          func() (any, error) { return c.Sessions(ctx, list) },
		"Messages":          func() (any, error) { return c.Messages(ctx, api.Query{Of: "cli", Limit: 1}) },
		"Search": func() (any, error) {
			return c.Search(ctx, api.SearchQuery{Text: "x", Session: "s", Who: "hob", Since: day, Until: day, Limit: 2})
		},
		"Export":    func() (any, error) { return nil, c.Export(ctx, "cli", "jsonl", io.Discard) },
		"Fork":      func() (any, error) { return c.Fork(ctx, "cli", "new", "m1") },
		"Replay":    func() (any, error) { return c.Replay(ctx, "cli", "t1") },
		"Reset":     func() (any, error) { return c.Reset(ctx, "cli") },
		"Compact":   func() (any, error) { return c.Compact(ctx, "cli") },
		"Send":      func() (any, error) { return c.Send(ctx, "cli", web.Message{Text: "hi"}) },
		"Tasks":     func() (any, error) { return c.Tasks(ctx, api.Query{All: true, State: "done", Limit: 1}) },
		"Tools":     func() (any, error) { return c.Tools(ctx, api.Query{Text: "x", Limit: 1}) },
		"Call":      func() (any, error) { return c.Call(ctx, "cli", "list_tasks", nil) },
		"Triggers":  func() (any, error) { return c.Triggers(ctx) },
		"Fire":      func() (any, error) { return c.Fire(ctx, "t1", "k", []byte("x")) },
		"Event":     func() (any, error) { return c.Event(ctx, "e1") },
		"Inbox":     func() (any, error) { return c.Inbox(ctx, api.Query{Of: "s", Limit: 1}) },
		"Stop":      func() (any, error) { return c.Stop(ctx, "cli") },
		"Undoable":  func() (any, error) { return c.Undoable(ctx, list) },
		"Usage":     func() (any, error) { return c.Usage(ctx, list) },
		"Budget":    func() (any, error) { return c.Budget(ctx) },
		"Watchers":  func() (any, error) { return c.Watchers(ctx, api.Query{State: "active", Limit: 1}) },
		"Schedules": func() (any, error) { return c.Schedules(ctx, api.Query{State: "active", Limit: 1}) },
		"Reminders": func() (any, error) { return c.Reminders(ctx, list) },
		"LoginLink": func() (any, error) { return c.LoginLink(ctx, true) },
		"Ready":     func() (any, error) { return nil, c.Ready(ctx) },
		"Follow": func() (any, error) {
			for range c.Follow(ctx, "12") {
			}
			return nil, nil
		},
		"SendStreaming": func() (any, error) {
			for range c.SendStreaming(ctx, "cli", web.Message{Text: "hi"}) {
			}
			return nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			r.last = nil
			if _, err := call(); err != nil {
				t.Fatal(err)
			}
			params, ok := goldenRoute(t, r.last)
			if !ok {
				t.Fatalf("%s %s is not a documented route", r.last.Method, r.last.URL.EscapedPath())
			}
			for name := range r.last.URL.Query() {
				if !slices.Contains(params, "query:"+name) {
					t.Errorf("%s %s: the parameter %s is not documented", r.last.Method, r.last.URL.Path, name)
				}
			}
		})
	}
}

func TestClient_ReturnsErrorsOfTheAPI(t *testing.T) {
	_, c := newRecorder(http.StatusNotFound, `{"error":{"code":"not_found","message":"no such event","remedy":"list them"},"event":"e1"}`)
	_, err := c.Event(context.Background(), "e1")
	e, ok := errors.AsType[*apiclient.ResponseError](err)
	if !ok || e.Status != http.StatusNotFound || e.Event != "e1" || err.Error() != "no such event; list them" || !errors.Is(err, api.ErrNotFound) {
		t.Errorf("err = %#v", err)
	}
}

func TestClient_StopsAtErrorLine(t *testing.T) {
	_, c := newRecorder(http.StatusOK, "{\"doing\":\"facts\",\"done\":1,\"total\":2}\n{\"error\":\"disk is full; free some space\",\"code\":\"disk_full\"}\n")
	var steps []api.MemoryProgress
	err := c.MemoryReindex(context.Background(), func(p api.MemoryProgress) { steps = append(steps, p) })
	if len(steps) != 1 || steps[0].Done != 1 || !errors.Is(err, api.ErrFull) || err.Error() != "disk is full; free some space" {
		t.Errorf("steps = %v, err = %v", steps, err)
	}
}

func TestClient_SeparatesImportProgressFromResult(t *testing.T) {
	_, c := newRecorder(http.StatusOK, "{\"doing\":\"reading\",\"done\":1,\"total\":2}\n{\"text\":\"Imported 2 facts.\",\"format\":\"hob\",\"sealed\":true,\"added\":{\"fact\":2},\"total\":2,\"known\":0}\n")
	steps := 0
	out, err := c.MemoryImport(context.Background(), api.MemoryImport{Path: "/x"}, func(api.MemoryProgress) { steps++ })
	if err != nil || steps != 1 || out.Added != 2 || out.Text != "Imported 2 facts." {
		t.Errorf("steps = %d, out = %+v, err = %v", steps, out, err)
	}
}

func TestClient_SendsItsToken(t *testing.T) {
	r, c := newRecorder(http.StatusOK, "null")
	if _, err := c.Call(context.Background(), "cli", "echo", []byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	if r.last.Header.Get("Authorization") != "Bearer token" || r.last.Header.Get(web.ClientHeader) == "" || !bytes.Equal(r.sent, []byte(`{"arguments":{"a":1},"session":"cli"}`)) {
		t.Errorf("header = %v, body = %s", r.last.Header, r.sent)
	}
}
