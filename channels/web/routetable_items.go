package web

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"hob/autonomy/api"
	"hob/templates"
)

// This file holds the routes for the user's items, the memory and the daemon. routetable.go holds
// the routes for conversations.

func (s *Server) toolRoutes() []route {
	outcome := []reflect.Type{reflect.TypeFor[api.ToolOutcome]()}
	return []route{
		{
			method: "GET", path: "/api/v1/tools", id: "tools", tag: "lists", summary: "List the tools, or the best matches of q",
			params: pageParams(queryParam("q", "only tools that match these words")), endpoint: listEndpoint(s, s.backend.Tools),
		},
		{
			method: "POST", path: "/api/v1/tools/{tool}", id: "tool", tag: "api", grave: true, summary: "Run a tool through the guard",
			params: []param{pathParam("tool", "name of the tool")}, fails: []int{404},
			endpoint: endpoint{owner: s.serveTool, request: bodyOf[ToolRequest](), replies: []reply{
				{status: http.StatusOK, text: "OK", json: outcome},
				{status: http.StatusAccepted, text: "the call is waiting for the user", json: outcome},
				{status: http.StatusBadRequest, text: "invalid_arguments", json: outcome},
				{status: http.StatusForbidden, text: "policy_denied, denied_by_owner or approval_timeout", json: outcome},
			}},
		},
		{
			method: "GET", path: "/api/v1/timeline", id: "timeline", tag: "lists", endpoint: readEndpoint(s, s.timelineEntries),
			summary: "List what Hob did, sent and held back, newest first",
			params: append(pageParams(
				queryParam("kind", "only entries of this kind: action, lookup, denied, message or notice; without it, all except lookup"),
			), sincePeriod()...),
		},
		{
			method: "GET", path: "/api/v1/undo", id: "undo", tag: "lists", summary: "List the actions that can be undone, newest first",
			params: pageParams(), endpoint: listEndpoint(s, s.backend.Undoable),
		},
	}
}

func (s *Server) goalRoutes() []route {
	return []route{
		{
			method: "GET", path: "/api/v1/goals", id: "goals", tag: "lists", summary: "List the goals, newest first", endpoint: listEndpoint(s, s.backend.Goals),
			params: []param{
				limitParam("1000"), stateFilter(), flagParam("all", "include goals that are done or abandoned"), queryParam("id", "only this goal, with its reviews"),
			},
		},
		{
			method: "POST", path: "/api/v1/goals", id: "create_goal", tag: "api", grave: true, summary: "Create a goal",
			endpoint: endpoint{owner: s.newGoal, request: bodyOf[GoalRequest](), replies: okJSON(reflect.TypeFor[api.ToolOutcome]())},
		},
		{
			method: "GET", path: "/api/v1/plan", id: "plan", tag: "lists", summary: "Get today's plan: calendars, tasks, reminders, schedules, important email, goals",
			endpoint: readEndpoint(s, s.planOfDay),
		},
		{
			method: "GET", path: "/api/v1/tasks", id: "tasks", tag: "lists", summary: "List the tasks, newest first",
			params: pageParams(flagParam("all", "include completed tasks"), stateFilter()), endpoint: listEndpoint(s, s.backend.Tasks),
		},
		{
			method: "GET", path: "/api/v1/notes", id: "notes", tag: "lists", summary: "List the notes, newest first",
			params: pageParams(queryParam("q", "only notes that match these words")), endpoint: listEndpoint(s, s.backend.Notes),
		},
	}
}

func (s *Server) watcherRoutes() []route {
	return []route{
		{
			method: "GET", path: "/api/v1/watchers", id: "watchers", tag: "lists", summary: "List the watchers, newest first",
			params: pageParams(stateFilter()), endpoint: listEndpoint(s, s.backend.Watchers),
		},
		{
			method: "GET", path: "/api/v1/schedules", id: "schedules", tag: "lists", summary: "List the schedules, newest first",
			params: pageParams(stateFilter()), endpoint: listEndpoint(s, s.backend.Schedules),
		},
		{
			method: "GET", path: "/api/v1/reminders", id: "reminders", tag: "lists", summary: "List the reminders, newest first",
			params: pageParams(), endpoint: listEndpoint(s, s.backend.Reminders),
		},
	}
}

func (s *Server) noticeRoutes() []route {
	return []route{
		{
			method: "GET", path: "/api/v1/notices", id: "notices", tag: "lists", endpoint: listEndpoint(s, s.backend.Notices),
			summary: "List the notices, whether sent or not, with the rule that applied, newest first",
			params: pageParams(
				queryParam("state", "only notices in this state: told, held, released, repeated or dropped"),
				queryParam("id", "only the notice with this id, or the notices of this event or delivery"),
			),
		},
		{
			method: "POST", path: "/api/v1/notices/release", id: "release_notices", tag: "api", summary: "Send one deferred notice now, or all of them",
			endpoint: noticesEndpoint(s, false, func(ctx context.Context, id, _ string) (api.Released, error) {
				return s.backend.ReleaseNotices(ctx, id)
			}),
		},
		{
			method: "POST", path: "/api/v1/notices/snooze", id: "snooze_notice", tag: "api", summary: "Send a notice again at another time; without id the last one that was sent",
			endpoint: noticesEndpoint(s, true, s.backend.SnoozeNotice),
		},
		{
			method: "POST", path: "/api/v1/notices/quiet", id: "quiet", tag: "api", summary: "Defer notices that are not critical, or stop deferring (off); without for, only return the state",
			endpoint: noticesEndpoint(s, false, func(ctx context.Context, _, until string) (api.Quiet, error) { return s.backend.SetQuiet(ctx, until) }),
		},
		{
			method: "POST", path: "/api/v1/pause", id: "pause", tag: "api", grave: true, summary: "Pause background work, or resume it (off); without for, only return the state",
			endpoint: actionEndpoint(s, s.setPause),
		},
		{
			method: "GET", path: "/api/v1/hold", id: "hold", tag: "api", summary: "Get the messages and events on hold since a backup was restored",
			endpoint: readEndpoint(s, func(r *http.Request, _ call) (api.RestoreHold, error) { return s.backend.Hold(r.Context()) }),
		},
		{
			method: "POST", path: "/api/v1/hold", id: "decide_hold", tag: "api", grave: true, summary: "Release or drop one held item, or all of them, which ends the hold", fails: []int{404},
			endpoint: actionEndpoint(s, func(r *http.Request, _ call, in HoldRequest) (api.HoldDecision, error) {
				return s.backend.DecideHold(r.Context(), in.ID, in.Release)
			}),
		},
	}
}

func (s *Server) agentRoutes() []route {
	return []route{
		{
			method: "GET", path: "/api/v1/fleet", id: "fleet", tag: "lists", summary: "List the instances that share the database, by name",
			endpoint: listEndpoint(s, unfiltered(s.backend.Instances)),
		},
		{
			method: "GET", path: "/api/v1/agents", id: "agents", tag: "lists", summary: "List the agents with their permissions and routes",
			params: []param{queryParam("id", "only the agent with this name")}, endpoint: listEndpoint(s, s.backend.Agents),
		},
		{
			method: "GET", path: "/api/v1/delegations", id: "delegations", tag: "lists", summary: "List the tasks that one agent delegated to another, newest first",
			params:   []param{limitParam("1000"), flagParam("all", "include ended tasks"), queryParam("id", "only this task, ended or not")},
			endpoint: listEndpoint(s, s.backend.Delegations),
		},
		{
			method: "POST", path: "/api/v1/delegations/{id}/cancel", id: "cancel_delegation", tag: "api", summary: "Cancel a delegated task and its subtasks",
			params: []param{pathParam("id", "id of the delegated task")}, endpoint: readEndpoint(s, s.cancelDelegation),
		},
	}
}

// memoryParams returns the parameters of a memory search.
func memoryParams() []param {
	p := []param{
		limitParam(""), queryParam("q", "the search text, in plain words"), flagParam("all", "without q: include replaced facts"),
		queryParam("kind", "only rows of these kinds, separated by commas: fact, retired, turn, chunk, note, task, ..."),
		queryParam("speaker", "only statements by this speaker: owner, hob or a name"),
	}
	p = append(p, sincePeriod()...)
	return append(p, flagParam("history", "include former values"), flagParam("meaning", "allow the search to use the embedder and the model"))
}

// memoryRoutes returns the routes of the memory. The import route is grave, because it reads a file
// with the owner's permissions.
func (s *Server) memoryRoutes() []route {
	const at = "/api/v1/memory"
	return []route{
		{
			method: "GET", path: at, id: "memory", tag: "lists", summary: "List the newest facts, or search the memory for q, best match first", params: memoryParams(),
			endpoint: endpoint{owner: s.serveMemory, replies: okJSON(reflect.TypeFor[[]api.Fact](), reflect.TypeFor[[]api.MemoryRow]())},
		},
		{
			method: "GET", path: at + "/why", id: "memory_why", tag: "api", summary: "Search the memory and explain the score of each result",
			params: memoryParams(), endpoint: readEndpoint(s, s.explainSearch),
		},
		{
			method: "GET", path: at + "/graph", id: "memory_graph", tag: "api", summary: "Get the people and other entities and their relations",
			params: []param{queryParam("q", "only entities related to this name; empty: the most connected ones"), limitParam("200")}, endpoint: readEndpoint(s, s.memoryGraph),
		},
		{
			method: "GET", path: at + "/stats", id: "memory_stats", tag: "api", summary: "Count the entries of the memory and the data derived from them",
			endpoint: readEndpoint(s, func(r *http.Request, _ call) (api.MemoryStats, error) { return s.backend.MemoryStats(r.Context()) }),
		},
		{
			method: "GET", path: at + "/export", id: "memory_export", tag: "api", summary: "Export the whole memory as one file",
			params:   []param{choiceParam("format", "the format; jsonl is one JSON object per line", "jsonl", "markdown"), flagParam("conversations", "include all messages")},
			endpoint: endpoint{owner: s.memoryExport, replies: okMedia("application/jsonl", "text/markdown")},
		},
		{
			method: "POST", path: at + "/import", id: "memory_import", tag: "api", grave: true,
			summary:  "Import a file or folder on this machine; each line is a MemoryProgress, the last one an ImportResult",
			endpoint: endpoint{owner: s.memoryImport, request: bodyOf[api.MemoryImport](), replies: okMedia("application/jsonl")},
		},
		{
			method: "POST", path: at + "/reindex", id: "memory_reindex", tag: "api", grave: true,
			summary:  "Rebuild the data that is derived from the memory; each line is a MemoryProgress",
			endpoint: endpoint{owner: s.memoryReindex, replies: okMedia("application/jsonl")},
		},
		{
			method: "POST", path: at + "/consolidate", id: "memory_consolidate", tag: "api", grave: true,
			summary: "Merge duplicate facts, close superseded ones and retire past events; undo it by the event",
			endpoint: actionEndpoint(s, func(r *http.Request, _ call, _ struct{}) (api.Consolidation, error) {
				return s.backend.MemoryConsolidate(r.Context())
			}),
		},
		{
			method: "POST", path: at + "/flush", id: "memory_flush", tag: "api", grave: true,
			summary: "Extract the facts from the messages that still wait for that, of one session or of all",
			endpoint: actionEndpoint(s, func(r *http.Request, _ call, in OptionalSession) (api.MemoryFlush, error) {
				return s.backend.MemoryFlush(r.Context(), in.Session)
			}),
		},
		{
			method: "POST", path: at + "/pins/{id}", id: "memory_pin", tag: "api", grave: true, fails: []int{404},
			summary: "Set whether tidying the memory may merge or retire a fact", params: []param{pathParam("id", "id of the fact")},
			endpoint: actionEndpoint(s, func(r *http.Request, _ call, in Pin) (api.Fact, error) {
				return s.backend.PinFact(r.Context(), r.PathValue("id"), in.Pinned)
			}),
		},
		{
			method: "GET", path: at + "/{id}", id: "memory_item", tag: "api", summary: "Get the details of a fact, an entity or another row", fails: []int{404},
			params: []param{pathParam("id", "id of the entry, or name of the entity")}, endpoint: readEndpoint(s, s.memoryItem),
		},
		{
			method: "GET", path: "/api/v1/documents", id: "documents", tag: "lists", summary: "List the ingested documents, newest first, and the files that could not be read",
			params: []param{limitParam("1000"), queryParam("state", "failed: only files that could not be read")}, endpoint: listEndpoint(s, s.backend.Documents),
		},
	}
}

func (s *Server) forgetRoutes() []route {
	return []route{
		{
			method: "GET", path: "/api/v1/memory/forget", id: "memory_forget", tag: "lists", endpoint: listEndpoint(s, s.backend.PreviewErasure),
			summary: "Preview what the tool forget would delete for a row, a text or a source",
			params: []param{
				queryParam("id", "a fact, note, task or other row"), queryParam("q", "the text to delete"),
				queryParam("source", "delete what came from this source: event:ID, session:ID, mail:ID, file:PATH, url:URL, import:NAME"),
				flagParam("all", "also delete a single plain word wherever it occurs"),
			},
		},
		{
			method: "GET", path: "/api/v1/memory/erasures", id: "memory_erasures", tag: "lists", summary: "List the deletions with their progress; with id, the response is sent when that deletion is done",
			params: []param{queryParam("id", "only this deletion"), limitParam("1000")}, endpoint: listEndpoint(s, s.backend.Erasures),
		},
	}
}

func (s *Server) learnedRoutes() []route {
	id := pathParam("id", "id of the entry")
	return []route{
		{
			method: "GET", path: "/api/v1/memory/lessons", id: "memory_lessons", tag: "lists", summary: "List the lessons learned from errors and corrections",
			params: []param{flagParam("all", "include retired lessons")}, endpoint: listEndpoint(s, s.backend.Lessons),
		},
		{
			method: "POST", path: "/api/v1/memory/lessons/{id}", id: "change_lesson", tag: "api", summary: "Reword, retire or delete a lesson",
			params: []param{id}, endpoint: changeEndpoint(s, s.backend.ChangeLesson),
		},
		{
			method: "GET", path: "/api/v1/memory/user", id: "memory_user", tag: "lists", summary: "List what Hob knows about the user",
			endpoint: listEndpoint(s, unfiltered(s.backend.UserEntries)),
		},
		{
			method: "POST", path: "/api/v1/memory/user/{id}", id: "change_user", tag: "api", summary: "Reword or delete an entry about the user",
			params: []param{id}, endpoint: changeEndpoint(s, s.backend.ChangeUserEntry),
		},
	}
}

func (s *Server) auditRoutes() []route {
	filters := pageParams(
		queryParam("event", "only lines for this event"), sessionFilter(), queryParam("tool", "only lines for this tool"), queryParam("actor", "hob or owner"),
		queryParam("action", "call, answer, undo, stop, ..."), queryParam("verdict", "allow, ask, deny, ..."),
		queryParam("outcome", "done, started or an error code"), queryParam("call", "only lines for this call"),
	)
	filters = append(append(filters, sincePeriod()...), queryParam("tainted", "1: only lines that untrusted text influenced"))
	return []route{
		{
			method: "GET", path: "/api/v1/audit", id: "audit", tag: "lists", summary: "List the audit log, newest line first",
			params: filters, endpoint: readEndpoint(s, s.auditRecords),
		},
		{
			method: "GET", path: "/api/v1/audit/verify", id: "audit_verify", tag: "lists", summary: "Check the complete audit log", fails: []int{409},
			endpoint: readEndpoint(s, func(r *http.Request, _ call) (api.AuditHead, error) { return s.backend.AuditVerify(r.Context()) }),
		},
		{
			method: "POST", path: "/api/v1/audit/trust", id: "audit_trust", tag: "api", grave: true, summary: "Record that you trusted hook programs or skills",
			endpoint: actionEndpoint(s, func(r *http.Request, _ call, in api.TrustRecord) (api.TrustRecord, error) {
				return s.backend.RecordTrust(r.Context(), in)
			}),
		},
		{
			method: "GET", path: "/api/v1/audit/export", id: "audit_export", tag: "lists", summary: "Export lines of the audit log, oldest first, with a seal over them",
			params:   append([]param{choiceParam("format", "the format; jsonl is one JSON object per line", "jsonl", "csv")}, sincePeriod()...),
			endpoint: endpoint{owner: s.auditExport, replies: okMedia("application/jsonl", "text/csv")},
		},
		{
			method: "GET", path: "/api/v1/audit/{line}", id: "audit_line", tag: "lists", summary: "Get one line of the audit log with its authority and texts", fails: []int{404},
			params:   []param{{name: "line", in: "path", text: "number of the line", required: true, schema: paramSchema{kind: "integer"}}},
			endpoint: readEndpoint(s, s.auditLine),
		},
	}
}

func (s *Server) usageRoutes() []route {
	return []route{
		{
			method: "GET", path: "/api/v1/usage", id: "usage", tag: "lists", summary: "List tokens and cost by day and model, newest first",
			params: pageParams(), endpoint: listEndpoint(s, s.backend.Usage),
		},
		{
			method: "GET", path: "/api/v1/budget", id: "budget", tag: "lists", summary: "Get today's and this month's cost with the limits",
			params: pageParams(), endpoint: listEndpoint(s, unfiltered(s.backend.Budget)),
		},
		{
			method: "GET", path: "/api/v1/spending", id: "spending", tag: "lists", summary: "Get the user's expenses by month and category, and the budgets",
			endpoint: readEndpoint(s, func(r *http.Request, _ call) (api.SpendingOverview, error) { return s.backend.Spending(r.Context()) }),
		},
	}
}

// manageRoutes returns the routes for the administrative actions.
func (s *Server) manageRoutes() []route {
	const at = "/api/v1/manage/"
	t := []route{
		{
			path: "backup", summary: "Back up the database",
			endpoint: actionEndpoint(s, func(r *http.Request, _ call, _ OptionalSession) (api.Backup, error) {
				return s.backend.Backup(r.Context())
			}),
		},
		{path: "stop", summary: "Stop the running turn of a session", endpoint: sessionEndpoint(s, s.backend.Stop)},
		{path: "new", summary: "Start a new conversation in a session", endpoint: sessionEndpoint(s, s.backend.Reset)},
		{path: "compact", summary: "Replace the older part of a session's context by a summary; the messages stay", endpoint: sessionEndpoint(s, s.backend.Compact)},
		{
			path: "shutdown", summary: "Stop the daemon",
			endpoint: actionEndpoint(s, func(*http.Request, call, OptionalSession) (api.Shutdown, error) { return s.backend.Shutdown(), nil }),
		},
		{
			path: "token", summary: "Replace the token: everything opened with the old token ends immediately; the token file contains the new one",
			endpoint: actionEndpoint(s, func(r *http.Request, _ call, _ OptionalSession) (api.RotatedToken, error) {
				return s.backend.RotateToken(r.Context())
			}),
		},
		{path: "config", summary: "Journal a configuration change, so that it can be undone", endpoint: actionEndpoint(s, s.configChanged)},
		{path: "files/trust", summary: "Trust the current content of a file, or of the files below a folder", endpoint: actionEndpoint(s, s.trustFile)},
		{
			path: "template", summary: "Create the schedules, watchers and goals of templates, or only preview them (dry)",
			endpoint: actionEndpoint(s, func(r *http.Request, _ call, in templates.DesiredState) (templates.ApplyResult, error) {
				return s.backend.Template(r.Context(), in)
			}),
		},
	}
	for i := range t {
		t[i].method, t[i].grave, t[i].tag = "POST", true, "api"
		t[i].id, t[i].path = "manage_"+strings.ReplaceAll(t[i].path, "/", "_"), at+t[i].path
	}
	return t
}

func (s *Server) doctorRoutes() []route {
	return []route{
		{
			method: "GET", path: "/api/v1/doctor", id: "doctor", tag: "api", summary: "Run the daemon's checks and return their findings",
			params: []param{queryParam("name", "only this check; may be repeated")}, endpoint: readEndpoint(s, s.findings),
		},
		{
			method: "GET", path: "/api/v1/problems", id: "problems", tag: "api", summary: "List the faults that Hob is currently working around",
			endpoint: readEndpoint(s, func(r *http.Request, _ call) ([]api.Problem, error) {
				return notNil(s.backend.Problems(r.Context())), nil
			}),
		},
		{
			method: "POST", path: "/api/v1/doctor", id: "doctor_run", tag: "api", grave: true,
			summary:  "Run the checks, optionally repair problems; each line is a Finding, sent as soon as it is known",
			endpoint: endpoint{owner: s.streamFindings, request: bodyOf[ExamineRequest](), replies: okMedia("application/jsonl")},
		},
		{
			method: "GET", path: "/api/v1/permissions", id: "permissions", tag: "lists", summary: "List the system permissions that the daemon has or lacks (macOS only)",
			endpoint: listEndpoint(s, unfiltered(s.backend.Permissions)),
		},
	}
}

func (s *Server) openAIRoutes() []route {
	return []route{
		{
			method: "POST", path: "/v1/chat/completions", id: "completions", tag: "openai", summary: "Create a chat completion (OpenAI-compatible)",
			detail: "Only the last message with the role user counts as the user's own words; everything else in the request is untrusted text. " +
				"The client's tools are not used. Images must be data: URLs.",
			params: []param{headerParam("X-Hob-Session", "the session; default: the field user, or else openai"), channelParam(), keyParam(keyText)},
			endpoint: endpoint{owner: s.serveCompletions, request: bodyOf[chatRequest](), replies: []reply{{
				status: http.StatusOK, text: "a chat.completion, or chunks of it with stream", json: []reflect.Type{reflect.TypeFor[chatCompletion]()}, media: []string{"text/event-stream"},
			}}},
		},
		{
			method: "POST", path: "/v1/responses", id: "responses", tag: "openai", summary: "Create a response (Open Responses)",
			detail: "Only the last message with the role user counts as the user's own words; everything else in the request is untrusted text. " +
				"previous_response_id continues the session of that response; otherwise a new session begins. Tools of the client are not used. Images must be data: URLs.",
			params: []param{headerParam("X-Hob-Session", "the session; without it, that of previous_response_id or a new one"), channelParam(), keyParam(keyText)},
			endpoint: endpoint{owner: s.serveResponses, request: bodyOf[responsesRequest](), replies: []reply{{
				status: http.StatusOK, text: "the response, or its events with stream", json: []reflect.Type{reflect.TypeFor[response]()}, media: []string{"text/event-stream"},
			}}},
		},
		{
			method: "GET", path: "/v1/models", id: "models", tag: "openai", summary: "List the models: only hob",
			endpoint: readEndpoint(s, serveModels),
		},
	}
}
