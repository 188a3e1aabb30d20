package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/channels/web"
	"hob/platform/host/permission"
	"hob/templates"
)

const memoryPath = "/api/v1/memory"

// Tools implements api.Tools.
func (c *Client) Tools(ctx context.Context, q api.Query) ([]api.Tool, error) {
	return getValue[[]api.Tool](ctx, c, "/api/v1/tools", listValues(q, "id", "state"))
}

// Call implements api.Tools. The outcome has a code if the tool failed.
func (c *Client) Call(ctx context.Context, session, tool string, args json.RawMessage) (api.ToolOutcome, error) {
	var out api.ToolOutcome
	r, err := jsonRequest(inPath("/api/v1/tools", tool), web.ToolRequest{Arguments: args, Session: session})
	if err != nil {
		return out, err
	}
	resp, err := c.openResponse(ctx, r, toolStatuses()...)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return out, connectionError(ctx, err)
	}
	if json.Unmarshal(b, &out) != nil || out.Code == "" && resp.StatusCode >= http.StatusBadRequest {
		return api.ToolOutcome{}, decodeError(resp, b)
	}
	return out, nil
}

// toolStatuses returns the statuses of error responses that may contain the outcome of a tool.
func toolStatuses() []int {
	return []int{
		http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusNotImplemented,
		http.StatusGatewayTimeout, http.StatusInternalServerError,
	}
}

// Undoable implements api.Undo.
func (c *Client) Undoable(ctx context.Context, q api.Query) ([]api.LedgerEntry, error) {
	return getValue[[]api.LedgerEntry](ctx, c, "/api/v1/undo", listValues(q, "id", "state"))
}

// Goals implements api.Goals.
func (c *Client) Goals(ctx context.Context, q api.Query) ([]api.GoalDetails, error) {
	return getValue[[]api.GoalDetails](ctx, c, "/api/v1/goals", listValues(q, "id", "state"))
}

// Plan implements api.Goals.
func (c *Client) Plan(ctx context.Context) (api.Plan, error) {
	return getValue[api.Plan](ctx, c, "/api/v1/plan", nil)
}

// Tasks implements api.Tasks.
func (c *Client) Tasks(ctx context.Context, q api.Query) ([]api.Task, error) {
	return getValue[[]api.Task](ctx, c, "/api/v1/tasks", listValues(q, "id", "state"))
}

// Notes implements api.Notes.
func (c *Client) Notes(ctx context.Context, q api.Query) ([]api.Note, error) {
	return getValue[[]api.Note](ctx, c, "/api/v1/notes", listValues(q, "id", "state"))
}

// Watchers implements api.Watchers.
func (c *Client) Watchers(ctx context.Context, q api.Query) ([]api.Watcher, error) {
	return getValue[[]api.Watcher](ctx, c, "/api/v1/watchers", listValues(q, "id", "state"))
}

// Schedules implements api.Watchers.
func (c *Client) Schedules(ctx context.Context, q api.Query) ([]api.Watcher, error) {
	return getValue[[]api.Watcher](ctx, c, "/api/v1/schedules", listValues(q, "id", "state"))
}

// Reminders implements api.Watchers.
func (c *Client) Reminders(ctx context.Context, q api.Query) ([]api.Watcher, error) {
	return getValue[[]api.Watcher](ctx, c, "/api/v1/reminders", listValues(q, "id", "state"))
}

// Instances implements api.Fleet.
func (c *Client) Instances(ctx context.Context) ([]api.Instance, error) {
	return getValue[[]api.Instance](ctx, c, "/api/v1/fleet", nil)
}

// Agents implements api.Agents.
func (c *Client) Agents(ctx context.Context, q api.Query) ([]api.Agent, error) {
	return getValue[[]api.Agent](ctx, c, "/api/v1/agents", listValues(q, "id", "state"))
}

// Delegations implements api.Agents.
func (c *Client) Delegations(ctx context.Context, q api.Query) ([]api.Delegation, error) {
	return getValue[[]api.Delegation](ctx, c, "/api/v1/delegations", listValues(q, "id", "state"))
}

// CancelDelegation implements api.Agents.
func (c *Client) CancelDelegation(ctx context.Context, id string) (api.Delegation, error) {
	return postValue[api.Delegation](ctx, c, inPath("/api/v1/delegations", id)+"/cancel", struct{}{})
}

// Facts implements api.Memory.
func (c *Client) Facts(ctx context.Context, limit int, all bool) ([]api.Fact, error) {
	return getValue[[]api.Fact](ctx, c, memoryPath, values("limit", countText(limit), "all", flagText(all)))
}

// MemorySearch implements api.Memory.
func (c *Client) MemorySearch(ctx context.Context, q api.MemoryQuery) ([]api.MemoryRow, error) {
	return getValue[[]api.MemoryRow](ctx, c, memoryPath, memoryValues(q))
}

// ExplainSearch implements api.Memory.
func (c *Client) ExplainSearch(ctx context.Context, q api.MemoryQuery) (api.ExplainedSearch, error) {
	return getValue[api.ExplainedSearch](ctx, c, memoryPath+"/why", memoryValues(q))
}

func memoryValues(q api.MemoryQuery) url.Values {
	return values(
		"q", q.Text, "kind", strings.Join(q.Kinds, ","), "speaker", q.Speaker, "since", timeText(q.Since), "until", timeText(q.Until),
		"limit", countText(q.Limit), "history", flagText(q.History), "meaning", flagText(q.Meaning),
	)
}

// MemoryItem implements api.Memory.
func (c *Client) MemoryItem(ctx context.Context, id string) (api.MemoryItem, error) {
	return getValue[api.MemoryItem](ctx, c, inPath(memoryPath, id), nil)
}

// MemoryGraph implements api.Memory.
func (c *Client) MemoryGraph(ctx context.Context, name string, limit int) (api.MemoryGraph, error) {
	return getValue[api.MemoryGraph](ctx, c, memoryPath+"/graph", values("q", name, "limit", countText(limit)))
}

// MemoryStats implements api.Memory.
func (c *Client) MemoryStats(ctx context.Context) (api.MemoryStats, error) {
	return getValue[api.MemoryStats](ctx, c, memoryPath+"/stats", nil)
}

// MemoryConsolidate implements api.Memory.
func (c *Client) MemoryConsolidate(ctx context.Context) (api.Consolidation, error) {
	return postValue[api.Consolidation](ctx, c, memoryPath+"/consolidate", struct{}{})
}

// MemoryFlush implements api.Memory.
func (c *Client) MemoryFlush(ctx context.Context, session string) (api.MemoryFlush, error) {
	return postValue[api.MemoryFlush](ctx, c, memoryPath+"/flush", web.OptionalSession{Session: session})
}

// PinFact implements api.Memory.
func (c *Client) PinFact(ctx context.Context, id string, pinned bool) (api.Fact, error) {
	return postValue[api.Fact](ctx, c, inPath(memoryPath+"/pins", id), web.Pin{Pinned: pinned})
}

// MemoryExport implements api.Memory.
func (c *Client) MemoryExport(ctx context.Context, w io.Writer, format string, conversations bool) error {
	return c.copyBody(ctx, w, memoryPath+"/export", values("format", format, "conversations", flagText(conversations)))
}

// Documents implements api.Documents.
func (c *Client) Documents(ctx context.Context, q api.Query) ([]api.Document, error) {
	return getValue[[]api.Document](ctx, c, "/api/v1/documents", listValues(q, "id", "state"))
}

// TrustFile implements api.Documents.
func (c *Client) TrustFile(ctx context.Context, path string) (api.TrustedFiles, error) {
	return postValue[api.TrustedFiles](ctx, c, managePath+"/files/trust", web.FileRequest{Path: path})
}

// PreviewErasure implements api.Forgetting.
func (c *Client) PreviewErasure(ctx context.Context, q api.Query) ([]api.ErasurePreview, error) {
	return getValue[[]api.ErasurePreview](ctx, c, memoryPath+"/forget", listValues(q, "id", "source"))
}

// Erasures implements api.Forgetting.
func (c *Client) Erasures(ctx context.Context, q api.Query) ([]api.Erasure, error) {
	return getValue[[]api.Erasure](ctx, c, memoryPath+"/erasures", listValues(q, "id", "state"))
}

// Lessons implements api.Learned.
func (c *Client) Lessons(ctx context.Context, q api.Query) ([]api.Lesson, error) {
	return getValue[[]api.Lesson](ctx, c, memoryPath+"/lessons", listValues(q, "id", "state"))
}

// ChangeLesson implements api.Learned.
func (c *Client) ChangeLesson(ctx context.Context, id string, change api.LearnedChange) (api.Lesson, error) {
	return postValue[api.Lesson](ctx, c, inPath(memoryPath+"/lessons", id), change)
}

// UserEntries implements api.Learned.
func (c *Client) UserEntries(ctx context.Context) ([]api.UserEntry, error) {
	return getValue[[]api.UserEntry](ctx, c, memoryPath+"/user", nil)
}

// ChangeUserEntry implements api.Learned.
func (c *Client) ChangeUserEntry(ctx context.Context, id string, change api.LearnedChange) (api.UserEntry, error) {
	return postValue[api.UserEntry](ctx, c, inPath(memoryPath+"/user", id), change)
}

// Audit implements api.Audit.
func (c *Client) Audit(ctx context.Context, q api.AuditQuery) ([]api.AuditRecord, error) {
	before := ""
	if q.Before > 0 {
		before = strconv.FormatInt(q.Before, 10)
	}
	return getValue[[]api.AuditRecord](ctx, c, "/api/v1/audit", values(
		"event", q.Event, "session", q.Session, "tool", q.Tool, "actor", q.Actor, "action", q.Action, "verdict", q.Verdict, "outcome", q.Outcome, "call", q.Call,
		"since", timeText(q.Since), "until", timeText(q.Until), "before", before, "tainted", flagText(q.Tainted), "limit", countText(q.Limit),
	))
}

// AuditLine implements api.Audit.
func (c *Client) AuditLine(ctx context.Context, seq int64) (api.AuditLine, error) {
	return getValue[api.AuditLine](ctx, c, inPath("/api/v1/audit", strconv.FormatInt(seq, 10)), nil)
}

// AuditVerify implements api.Audit.
func (c *Client) AuditVerify(ctx context.Context) (api.AuditHead, error) {
	return getValue[api.AuditHead](ctx, c, "/api/v1/audit/verify", nil)
}

// RecordTrust implements api.Audit.
func (c *Client) RecordTrust(ctx context.Context, t api.TrustRecord) (api.TrustRecord, error) {
	return postValue[api.TrustRecord](ctx, c, "/api/v1/audit/trust", t)
}

// AuditExport implements api.Audit.
func (c *Client) AuditExport(ctx context.Context, w io.Writer, format string, since, until time.Time) error {
	return c.copyBody(ctx, w, "/api/v1/audit/export", values("format", format, "since", timeText(since), "until", timeText(until)))
}

// Usage implements api.Usage.
func (c *Client) Usage(ctx context.Context, q api.Query) ([]api.UsageRow, error) {
	return getValue[[]api.UsageRow](ctx, c, "/api/v1/usage", listValues(q, "id", "state"))
}

// Metrics returns the current values of the metrics by name.
func (c *Client) Metrics(ctx context.Context) (map[string]float64, error) {
	var b bytes.Buffer
	if err := c.copyBody(ctx, &b, "/metrics", nil); err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for line := range strings.Lines(b.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			out[name] = v
		}
	}
	return out, nil
}

// Budget implements api.Usage.
func (c *Client) Budget(ctx context.Context) ([]api.BudgetRow, error) {
	return getValue[[]api.BudgetRow](ctx, c, "/api/v1/budget", nil)
}

// Permissions implements api.Doctor.
func (c *Client) Permissions(ctx context.Context) ([]permission.Permission, error) {
	return getValue[[]permission.Permission](ctx, c, "/api/v1/permissions", nil)
}

// Backup implements api.Management.
func (c *Client) Backup(ctx context.Context) (api.Backup, error) {
	return postValue[api.Backup](ctx, c, managePath+"/backup", struct{}{})
}

// RotateToken implements api.Management. This client's token is invalid afterwards.
func (c *Client) RotateToken(ctx context.Context) (api.RotatedToken, error) {
	return postValue[api.RotatedToken](ctx, c, managePath+"/token", struct{}{})
}

// Hold implements api.Management.
func (c *Client) Hold(ctx context.Context) (api.RestoreHold, error) {
	return getValue[api.RestoreHold](ctx, c, "/api/v1/hold", nil)
}

// DecideHold implements api.Management.
func (c *Client) DecideHold(ctx context.Context, id string, release bool) (api.HoldDecision, error) {
	return postValue[api.HoldDecision](ctx, c, "/api/v1/hold", web.HoldRequest{ID: id, Release: release})
}

// Shutdown asks the daemon to stop.
func (c *Client) Shutdown(ctx context.Context) (api.Shutdown, error) {
	return postValue[api.Shutdown](ctx, c, managePath+"/shutdown", struct{}{})
}

// ConfigChanged implements api.Management.
func (c *Client) ConfigChanged(ctx context.Context, change api.ConfigChange) error {
	_, err := postValue[web.Journalled](ctx, c, managePath+"/config", change)
	return err
}

// Template implements api.Management.
func (c *Client) Template(ctx context.Context, w templates.DesiredState) (templates.ApplyResult, error) {
	return postValue[templates.ApplyResult](ctx, c, managePath+"/template", w)
}
