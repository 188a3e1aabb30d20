package web

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// route is one API route. Exactly one of open and owner is set: open routes need no proof or
// check it themselves; the server authenticates requests to owner routes. A grave route
// decides for the owner: its client must be identified.
type route struct {
	method, path string
	grave        bool
	open         func(w http.ResponseWriter, r *http.Request) error
	owner        func(w http.ResponseWriter, r *http.Request, by surface) error
}

// table returns every route; openapi.json describes the same ones, and a test compares the
// two.
func (s *Server) table() []route {
	t := []route{
		{method: "GET", path: "/healthz", open: s.healthz},
		{method: "GET", path: "/readyz", open: s.readyz},
		{method: "GET", path: "/{$}", open: s.file("index.html")},
		{method: "GET", path: "/app.js", open: s.file("app.js")},
		{method: "GET", path: "/pastes.js", open: s.file("pastes.js")},
		{method: "GET", path: "/things.js", open: s.file("things.js")},
		{method: "GET", path: "/health.js", open: s.file("health.js")},
		{method: "GET", path: "/channels.js", open: s.file("channels.js")},
		{method: "GET", path: "/style.css", open: s.file("style.css")},
		{method: "GET", path: "/icon.svg", open: s.file("icon.svg")},
		{method: "GET", path: "/login", open: s.useLogin},
		{method: "POST", path: "/login", open: s.passwordLogin},
		{method: "POST", path: "/api/v1/triggers/{trigger}/fire", open: s.fire},
		{method: "POST", path: "/hooks/{channel}", open: s.hook},

		{method: "POST", path: "/api/v1/login", grave: true, owner: s.newLogin},
		{method: "POST", path: "/api/v1/sessions/{session}/messages", owner: s.message},
		{method: "POST", path: "/api/v1/sessions/{session}/approvals/{approval}", grave: true, owner: s.approve},
		{method: "POST", path: "/api/v1/deliveries/{delivery}/shown", grave: true, owner: s.shown},
		{method: "GET", path: "/api/v1/grants", owner: s.list("grants", listParams("grants")...)},
		{method: "POST", path: "/api/v1/grants", grave: true, owner: s.grant},
		{method: "POST", path: "/api/v1/grants/{grant}/revoke", grave: true, owner: s.act("grant", s.backend.Revoke)},
		{method: "POST", path: "/api/v1/channels/{channel}/pair", grave: true, owner: s.act("channel", s.backend.Pair)},
		{method: "POST", path: "/api/v1/channels/{channel}/test", grave: true, owner: s.testChannel},
		{method: "POST", path: "/api/v1/pairings/{pairing}/remove", grave: true, owner: s.act("pairing", s.backend.Unpair)},
		{method: "GET", path: "/api/v1/channels", owner: s.list("channels", listParams("channels")...)},
		{method: "GET", path: "/api/v1/inbox/{event}", owner: s.event},
		{method: "GET", path: "/api/v1/events", owner: s.events},
		{method: "GET", path: "/api/v1/why", owner: s.why},
		{method: "POST", path: "/api/v1/tools/{tool}", grave: true, owner: s.tool},
		{method: "GET", path: "/api/v1/openapi.json", owner: s.openapi},
		{method: "GET", path: "/metrics", owner: s.metrics},
		{method: "GET", path: "/api/v1/doctor", owner: s.examined},
		{method: "POST", path: "/api/v1/doctor", grave: true, owner: s.examine},
		{method: "POST", path: "/v1/chat/completions", owner: s.completions},
		{method: "GET", path: "/v1/models", owner: s.models},
		{method: "GET", path: "/api/v1/sessions/search", owner: s.search},
		{method: "GET", path: "/api/v1/sessions/{session}/export", owner: s.export},
		{method: "POST", path: "/api/v1/sessions/{session}/fork", owner: s.fork},
		{method: "POST", path: "/api/v1/sessions/{session}/replay", owner: s.replay},
		{method: "GET", path: "/api/v1/sessions/{session}/messages", owner: s.list("messages", "limit", "before")},
	}
	for _, name := range []string{"backup", "stop", "new", "shutdown", "token"} {
		t = append(t, route{method: "POST", path: "/api/v1/manage/" + name, grave: true, owner: s.manage(name)})
	}
	for _, name := range []string{
		"sessions", "deliveries", "approvals", "watchers", "schedules", "triggers", "goals", "tasks", "reminders",
		"notes", "memory/forget", "memory/erasures", "tools", "usage", "budget", "undo", "inbox",
	} {
		t = append(t, route{method: "GET", path: "/api/v1/" + name, owner: s.list(name, listParams(name)...)})
	}
	for _, name := range []string{"agents", "delegations", "documents", "plan", "notices", "permissions"} {
		t = append(t, route{method: "GET", path: "/api/v1/" + name, owner: s.list(name, listParams(name)...)})
	}
	t = append(
		t,
		route{method: "GET", path: "/api/v1/audit", owner: s.audit},
		route{method: "GET", path: "/api/v1/audit/verify", owner: s.auditVerify},
		route{method: "GET", path: "/api/v1/audit/export", owner: s.auditExport},
		route{method: "GET", path: "/api/v1/audit/{line}", owner: s.auditLine},
	)
	t = append(t, s.memoryRoutes()...)
	t = append(t, route{method: "POST", path: "/api/v1/goals", grave: true, owner: s.newGoal})
	t = append(t, route{method: "POST", path: "/api/v1/manage/config", grave: true, owner: s.configChanged})
	t = append(t, route{method: "POST", path: "/api/v1/manage/files/trust", grave: true, owner: s.trustFile})
	t = append(t, route{method: "POST", path: "/api/v1/manage/template", grave: true, owner: s.template})
	t = append(t, route{method: "POST", path: "/api/v1/delegations/{id}/cancel", owner: s.cancel})
	t = append(
		t,
		route{method: "POST", path: "/api/v1/notices/release", owner: s.notices("release")},
		route{method: "POST", path: "/api/v1/notices/snooze", owner: s.notices("snooze")},
		route{method: "POST", path: "/api/v1/notices/quiet", owner: s.notices("quiet")},
		route{method: "POST", path: "/api/v1/pause", grave: true, owner: s.pause},
	)
	for _, name := range []string{"memory/lessons", "memory/user"} {
		t = append(
			t,
			route{method: "GET", path: "/api/v1/" + name, owner: s.list(name, listParams(name)...)},
			route{method: "POST", path: "/api/v1/" + name + "/{id}", owner: s.change(name)},
		)
	}
	return t
}

// memoryRoutes returns the routes of the memory. Importing a file reads it as the owner, so
// that route is grave.
func (s *Server) memoryRoutes() []route {
	const at = "/api/v1/memory"
	return []route{
		{method: "GET", path: at, owner: s.memory(false)},
		{method: "GET", path: at + "/why", owner: s.memory(true)},
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

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range s.table() {
		mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) {
			var err error
			if rt.open != nil {
				err = rt.open(w, r)
			} else {
				err = s.owned(w, r, rt)
			}
			if err != nil {
				s.refuse(w, r, err)
			}
		})
	}
	return mux
}

// owned serves an owner route for as long as the proof is valid.
func (s *Server) owned(w http.ResponseWriter, r *http.Request, rt route) error {
	by, cred, err := s.proof(r, rt.grave)
	if err != nil {
		return err
	}
	r, done := while(r, cred)
	defer done()
	return rt.owner(w, r, by)
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) error {
	s.reply(w, http.StatusOK, map[string]string{"status": "ok", "version": s.version()})
	return nil
}

func (s *Server) version() string {
	if s.opt.Version != "" {
		return s.opt.Version
	}
	return s.backend.Version()
}

func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) error {
	if err := s.backend.Ready(); err != nil {
		return fail(http.StatusServiceUnavailable, "not_ready", "", "%v", err)
	}
	s.reply(w, http.StatusOK, map[string]string{"status": "ready"})
	return nil
}

func (s *Server) metrics(w http.ResponseWriter, _ *http.Request, _ surface) error {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	writeBy(w, time.Now().Add(writeTime))
	_, _ = w.Write(s.backend.Metrics())
	return nil
}

// file serves one file of the page.
func (s *Server) file(name string) func(http.ResponseWriter, *http.Request) error {
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
