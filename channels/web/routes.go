package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"hob/autonomy/api"
)

// route is one API route. Exactly one of open and owner is set: open routes need no proof or
// check it themselves; the server authenticates requests to owner routes. A grave route
// decides for the owner: its client must be identified.
type route struct {
	method, path string
	grave        bool
	open         func(w http.ResponseWriter, r *http.Request) error
	owner        func(w http.ResponseWriter, r *http.Request, by authMethod) error
}

// routeTable returns every route; openapi.json describes the same ones, and a test compares the
// two.
func (s *Server) routeTable() []route {
	t := []route{
		{method: "GET", path: "/healthz", open: s.serveHealthz},
		{method: "GET", path: "/readyz", open: s.serveReadyz},
		{method: "GET", path: "/{$}", open: s.fileHandler("index.html")},
		{method: "GET", path: "/app.js", open: s.fileHandler("app.js")},
		{method: "GET", path: "/pastes.js", open: s.fileHandler("pastes.js")},
		{method: "GET", path: "/things.js", open: s.fileHandler("things.js")},
		{method: "GET", path: "/health.js", open: s.fileHandler("health.js")},
		{method: "GET", path: "/channels.js", open: s.fileHandler("channels.js")},
		{method: "GET", path: "/style.css", open: s.fileHandler("style.css")},
		{method: "GET", path: "/icon.svg", open: s.fileHandler("icon.svg")},
		{method: "GET", path: "/login", open: s.useLogin},
		{method: "POST", path: "/login", open: s.passwordLogin},
		{method: "POST", path: "/api/v1/triggers/{trigger}/fire", open: s.serveTrigger},
		{method: "POST", path: "/hooks/{channel}", open: s.serveHook},

		{method: "POST", path: "/api/v1/login", grave: true, owner: s.newLogin},
		{method: "POST", path: "/api/v1/sessions/{session}/messages", owner: s.serveMessage},
		{method: "POST", path: "/api/v1/sessions/{session}/approvals/{approval}", grave: true, owner: s.serveApproval},
		{method: "POST", path: "/api/v1/deliveries/{delivery}/shown", grave: true, owner: s.serveShown},
		{method: "GET", path: "/api/v1/grants", owner: listHandler(s, s.backend.Grants, listParams("grants")...)},
		{method: "POST", path: "/api/v1/grants", grave: true, owner: s.serveGrant},
		{method: "POST", path: "/api/v1/grants/{grant}/revoke", grave: true, owner: ownerActHandler(s, "grant", s.backend.Revoke)},
		{method: "POST", path: "/api/v1/channels/{channel}/pair", grave: true, owner: ownerActHandler(s, "channel", s.backend.Pair)},
		{method: "POST", path: "/api/v1/channels/{channel}/test", grave: true, owner: s.testChannel},
		{method: "POST", path: "/api/v1/pairings/{pairing}/remove", grave: true, owner: ownerActHandler(s, "pairing", s.backend.Unpair)},
		{method: "GET", path: "/api/v1/channels", owner: listHandler(s, unfiltered(s.backend.Channels), listParams("channels")...)},
		{method: "GET", path: "/api/v1/inbox/{event}", owner: s.serveEvent},
		{method: "GET", path: "/api/v1/events", owner: s.serveEvents},
		{method: "GET", path: "/api/v1/why", owner: s.serveWhy},
		{method: "POST", path: "/api/v1/tools/{tool}", grave: true, owner: s.serveTool},
		{method: "GET", path: "/api/v1/openapi.json", owner: s.serveOpenAPI},
		{method: "GET", path: "/metrics", owner: s.serveMetrics},
		{method: "GET", path: "/api/v1/doctor", owner: s.serveFindings},
		{method: "POST", path: "/api/v1/doctor", grave: true, owner: s.streamFindings},
		{method: "POST", path: "/v1/chat/completions", owner: s.serveCompletions},
		{method: "GET", path: "/v1/models", owner: s.serveModels},
		{method: "GET", path: "/api/v1/sessions/search", owner: s.serveSearch},
		{method: "GET", path: "/api/v1/sessions/{session}/export", owner: s.serveExport},
		{method: "POST", path: "/api/v1/sessions/{session}/fork", owner: s.serveFork},
		{method: "POST", path: "/api/v1/sessions/{session}/replay", owner: s.serveReplay},
		{method: "GET", path: "/api/v1/sessions/{session}/messages", owner: listHandler(s, s.backend.Messages, "limit", "before")},
	}
	t = append(
		t,
		listRoute(s, "sessions", s.backend.Sessions),
		listRoute(s, "deliveries", s.backend.Deliveries),
		listRoute(s, "approvals", s.backend.Approvals),
		listRoute(s, "watchers", s.backend.Watchers),
		listRoute(s, "schedules", s.backend.Schedules),
		listRoute(s, "reminders", s.backend.Reminders),
		listRoute(s, "triggers", unfiltered(s.backend.Triggers)),
		listRoute(s, "goals", s.backend.Goals),
		listRoute(s, "tasks", s.backend.Tasks),
		listRoute(s, "notes", s.backend.Notes),
		listRoute(s, "memory/forget", s.backend.PreviewErasure),
		listRoute(s, "memory/erasures", s.backend.Erasures),
		listRoute(s, "tools", s.backend.Tools),
		listRoute(s, "usage", s.backend.Usage),
		listRoute(s, "budget", unfiltered(s.backend.Budget)),
		listRoute(s, "undo", s.backend.Undoable),
		listRoute(s, "inbox", s.backend.Inbox),
		listRoute(s, "agents", s.backend.Agents),
		listRoute(s, "delegations", s.backend.Delegations),
		listRoute(s, "documents", s.backend.Documents),
		listRoute(s, "notices", s.backend.Notices),
		listRoute(s, "permissions", unfiltered(s.backend.Permissions)),
		listRoute(s, "memory/lessons", s.backend.Lessons),
		listRoute(s, "memory/user", unfiltered(s.backend.UserEntries)),
		route{method: "GET", path: "/api/v1/plan", owner: s.servePlan},
		route{method: "POST", path: "/api/v1/memory/lessons/{id}", owner: changeHandler(s, s.backend.ChangeLesson)},
		route{method: "POST", path: "/api/v1/memory/user/{id}", owner: changeHandler(s, s.backend.ChangeUserEntry)},
	)
	t = append(
		t,
		route{method: "GET", path: "/api/v1/audit", owner: s.serveAudit},
		route{method: "GET", path: "/api/v1/audit/verify", owner: s.auditVerify},
		route{method: "GET", path: "/api/v1/audit/export", owner: s.auditExport},
		route{method: "GET", path: "/api/v1/audit/{line}", owner: s.auditLine},
	)
	t = append(t, s.memoryRoutes()...)
	t = append(t, route{method: "POST", path: "/api/v1/goals", grave: true, owner: s.newGoal})
	t = append(t, s.manageRoutes()...)
	t = append(t, route{method: "POST", path: "/api/v1/delegations/{id}/cancel", owner: s.serveCancel})
	t = append(
		t,
		route{method: "POST", path: "/api/v1/notices/release", owner: noticesHandler(s, false, func(ctx context.Context, id, _ string) (api.Released, error) {
			return s.backend.ReleaseNotices(ctx, id)
		})},
		route{method: "POST", path: "/api/v1/notices/snooze", owner: noticesHandler(s, true, s.backend.SnoozeNotice)},
		route{method: "POST", path: "/api/v1/notices/quiet", owner: noticesHandler(s, false, func(ctx context.Context, _, until string) (api.Quiet, error) {
			return s.backend.SetQuiet(ctx, until)
		})},
		route{method: "POST", path: "/api/v1/pause", grave: true, owner: s.servePause},
	)
	return t
}

// memoryRoutes returns the routes of the memory. Importing a file reads it as the owner, so
// that route is grave.
func (s *Server) memoryRoutes() []route {
	const at = "/api/v1/memory"
	return []route{
		{method: "GET", path: at, owner: s.memoryHandler(false)},
		{method: "GET", path: at + "/why", owner: s.memoryHandler(true)},
		{method: "GET", path: at + "/graph", owner: s.memoryGraph},
		{method: "GET", path: at + "/stats", owner: s.memoryStats},
		{method: "GET", path: at + "/export", owner: s.memoryExport},
		{method: "POST", path: at + "/import", grave: true, owner: s.memoryImport},
		{method: "POST", path: at + "/reindex", grave: true, owner: s.memoryReindex},
		{method: "GET", path: at + "/{id}", owner: s.memoryItem},
	}
}

// listParams returns the query parameters of a list.
func listParams(name string) []string {
	p := []string{"limit", "before"}
	switch name {
	case "deliveries", "approvals":
		return append(p, "session", "state")
	case "inbox":
		return append(p, "session")
	case "goals":
		return []string{"limit", "state", "all", "id"}
	case "watchers", "schedules":
		return append(p, "state")
	case "grants":
		return []string{"limit", "session", "all"}
	case "channels", "plan", "permissions":
		return nil
	case "agents":
		return []string{"id"}
	case "notices":
		return append(p, "state", "id")
	case "delegations":
		return []string{"limit", "all", "id"}
	case "memory/lessons":
		return []string{"all"}
	case "memory/user":
		return nil
	case "memory/forget":
		return []string{"id", "q", "source", "all"}
	case "memory/erasures":
		return []string{"id", "limit"}
	case "documents":
		return []string{"limit", "state"}
	case "tasks":
		return append(p, "all", "state")
	case "memory":
		return []string{"limit", "q", "all", "kind", "speaker", "since", "until", "history", "meaning"}
	case "notes", "tools":
		return append(p, "q")
	}
	return p
}

func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range s.routeTable() {
		mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) {
			var err error
			if rt.open != nil {
				err = rt.open(w, r)
			} else {
				err = s.serveOwned(w, r, rt)
			}
			if err != nil {
				s.writeError(w, r, err)
			}
		})
	}
	return mux
}

// serveOwned serves an owner route for as long as the proof is valid.
func (s *Server) serveOwned(w http.ResponseWriter, r *http.Request, rt route) error {
	by, cred, err := s.checkProof(r, rt.grave)
	if err != nil {
		return err
	}
	r, done := withProofLifetime(r, cred)
	defer done()
	return rt.owner(w, r, by)
}

func (s *Server) serveHealthz(w http.ResponseWriter, _ *http.Request) error {
	s.writeJSON(w, http.StatusOK, map[string]string{"status": "ok", "version": s.buildVersion()})
	return nil
}

func (s *Server) buildVersion() string {
	if s.opt.Version != "" {
		return s.opt.Version
	}
	return s.backend.Version()
}

func (s *Server) serveReadyz(w http.ResponseWriter, _ *http.Request) error {
	if err := s.backend.Ready(); err != nil {
		return newFailure(http.StatusServiceUnavailable, "not_ready", "", "%v", err)
	}
	s.writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
	return nil
}

func (s *Server) serveMetrics(w http.ResponseWriter, _ *http.Request, _ authMethod) error {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	writeBy(w, time.Now().Add(writeTime))
	_, _ = w.Write(s.backend.Metrics())
	return nil
}

// fileHandler serves one file of the page.
func (s *Server) fileHandler(name string) func(http.ResponseWriter, *http.Request) error {
	f := s.page[name]
	return func(w http.ResponseWriter, r *http.Request) error {
		h := w.Header()
		h.Set("Content-Type", f.mime)
		h.Set("ETag", f.etag)
		h.Set("Cache-Control", "no-cache") // revalidate, so that
		writeBy(w, time.Now().Add(writeTime))
		if slices.Contains(strings.Split(r.Header.Get("If-None-Match"), ", "), f.etag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		_, _ = w.Write(f.data)
		return nil
	}
}
