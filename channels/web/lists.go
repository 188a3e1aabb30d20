package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hob/autonomy/api"
	"hob/templates"
)

const (
	defaultLimit = 1000
	maxLimit     = 100_000
)

// listHandler returns the handler of a read-only list. It accepts only the named parameters, so that
// a typing mistake does not look like an empty list.
func listHandler[T any](s *Server, list func(context.Context, api.Query) ([]T, error), params ...string) func(http.ResponseWriter, *http.Request, authMethod) error {
	return func(w http.ResponseWriter, r *http.Request, _ authMethod) error {
		q, err := parseQuery(r.URL.RawQuery, params)
		if err != nil {
			return err
		}
		if r.PathValue("session") != "" {
			if q.Of, err = sessionID(r.PathValue("session")); err != nil {
				return err
			}
		}
		out, err := list(r.Context(), q)
		if err != nil {
			return err
		}
		if out == nil {
			out = []T{} // an empty list, not null
		}
		s.writeJSON(w, http.StatusOK, out)
		return nil
	}
}

// listRoute returns the route of a list.
func listRoute[T any](s *Server, name string, list func(context.Context, api.Query) ([]T, error)) route {
	return route{method: "GET", path: "/api/v1/" + name, owner: listHandler(s, list, listParams(name)...)}
}

// unfiltered makes a list of a use case that has no filter.
func unfiltered[T any](list func(context.Context) ([]T, error)) func(context.Context, api.Query) ([]T, error) {
	return func(ctx context.Context, _ api.Query) ([]T, error) { return list(ctx) }
}

// servePlan returns the plan of the day.
func (s *Server) servePlan(w http.ResponseWriter, r *http.Request, _ authMethod) error {
	if _, err := parseQuery(r.URL.RawQuery, listParams("plan")); err != nil {
		return err
	}
	out, err := s.backend.Plan(r.Context())
	if err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, out)
	return nil
}

func parseQuery(raw string, params []string) (api.Query, error) {
	q := api.Query{Limit: defaultLimit}
	values, err := url.ParseQuery(raw)
	if err != nil || !utf8.ValidString(raw) {
		return q, invalidFailure("the query string cannot be read")
	}
	for k, vs := range values {
		v := vs[len(vs)-1]
		if !slices.Contains(params, k) || !utf8.ValidString(v) {
			return q, newFailure(http.StatusBadRequest, "invalid", "the parameters are "+strings.Join(params, ", "), "unknown parameter %q", k)
		}
		switch k {
		case "limit":
			if q.Limit, err = strconv.Atoi(v); err != nil || q.Limit < 1 {
				return q, invalidFailure("limit must be a number from 1 to %d", maxLimit)
			}
			q.Limit = min(q.Limit, maxLimit)
		case "before":
			q.Before = v
		case "state", "source", "kind":
			q.State = v
		case "q":
			q.Text = v
		case "session", "event", "id":
			q.Of = v
		case "all":
			q.All = v != "0" && v != "false"
		}
	}
	return q, nil
}

func (s *Server) serveWhy(w http.ResponseWriter, r *http.Request, _ authMethod) error {
	q, err := parseQuery(r.URL.RawQuery, []string{"kind", "id"})
	if err != nil {
		return err
	}
	out, err := s.backend.Why(r.Context(), q.State, q.Of)
	if err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, out)
	return nil
}

// manageHandler returns the handler of an administrative action, on a session if it names one.
func manageHandler[T any](s *Server, named bool, act func(ctx context.Context, session string) (T, error)) func(http.ResponseWriter, *http.Request, authMethod) error {
	return func(w http.ResponseWriter, r *http.Request, _ authMethod) error {
		var in struct {
			Session string `json:"session"`
		}
		if err := s.readJSONBody(w, r, &in); err != nil {
			return err
		}
		if in.Session == "" && named {
			return newFailure(http.StatusBadRequest, "invalid", `send {"session": "..."}`, "the session is missing")
		}
		out, err := act(r.Context(), in.Session)
		if err != nil {
			return err
		}
		s.writeJSON(w, http.StatusOK, out)
		return nil
	}
}

// manageRoutes returns the routes of the administrative actions.
func (s *Server) manageRoutes() []route {
	const at = "/api/v1/manage/"
	return []route{
		{method: "POST", path: at + "backup", grave: true, owner: manageHandler(s, false, func(ctx context.Context, _ string) (api.Backup, error) { return s.backend.Backup(ctx) })},
		{method: "POST", path: at + "stop", grave: true, owner: manageHandler(s, true, s.backend.Stop)},
		{method: "POST", path: at + "new", grave: true, owner: manageHandler(s, true, s.backend.Reset)},
		{method: "POST", path: at + "shutdown", grave: true, owner: manageHandler(s, false, func(context.Context, string) (api.Shutdown, error) { return s.backend.Shutdown(), nil })},
		{method: "POST", path: at + "token", grave: true, owner: manageHandler(s, false, func(ctx context.Context, _ string) (api.RotatedToken, error) { return s.backend.RotateToken(ctx) })},
		{method: "POST", path: at + "config", grave: true, owner: s.configChanged},
		{method: "POST", path: at + "files/trust", grave: true, owner: s.trustFile},
		{method: "POST", path: at + "template", grave: true, owner: s.serveTemplate},
	}
}

// configChanged journals a change of the configuration that the owner made on the command
// line, so that it can be undone.
func (s *Server) configChanged(w http.ResponseWriter, r *http.Request, _ authMethod) error {
	var in api.ConfigChange
	if err := s.readJSONBody(w, r, &in); err != nil {
		return err
	}
	if in.What == "" || len(in.What) > 500 {
		return newFailure(http.StatusBadRequest, "invalid", `send {"what": "...", "before": "...", "after": "..."}`, "the change is missing")
	}
	if err := s.backend.ConfigChanged(r.Context(), in); err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, map[string]bool{"journalled": true})
	return nil
}

// trustFile marks a file as trusted by the owner.
func (s *Server) trustFile(w http.ResponseWriter, r *http.Request, _ authMethod) error {
	var in struct {
		Path string `json:"path"`
	}
	if err := s.readJSONBody(w, r, &in); err != nil {
		return err
	}
	if in.Path == "" {
		return newFailure(http.StatusBadRequest, "invalid", `send {"path": "..."}`, "the path is missing")
	}
	out, err := s.backend.TrustFile(r.Context(), in.Path)
	if err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, out)
	return nil
}

// serveTemplate applies a template, or only previews it.
func (s *Server) serveTemplate(w http.ResponseWriter, r *http.Request, _ authMethod) error {
	var in templates.DesiredState
	if err := s.readJSONBody(w, r, &in); err != nil {
		return err
	}
	out, err := s.backend.Template(r.Context(), in)
	if err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, out)
	return nil
}

// changeHandler rewords, retires or deletes one learned entry.
func changeHandler[T any](s *Server, change func(ctx context.Context, id string, c api.LearnedChange) (T, error)) func(http.ResponseWriter, *http.Request, authMethod) error {
	return func(w http.ResponseWriter, r *http.Request, _ authMethod) error {
		var in api.LearnedChange
		if err := s.readJSONBody(w, r, &in); err != nil {
			return err
		}
		id := r.PathValue("id")
		in.Text = strings.TrimSpace(in.Text)
		n := 0
		for _, is := range []bool{in.Text != "", in.Retire, in.Delete} {
			if is {
				n++
			}
		}
		if n != 1 || len(id) > 200 {
			return newFailure(http.StatusBadRequest, "invalid", `send {"text": "..."}, {"retire": true} or {"delete": true}`, "give exactly one change")
		}
		out, err := change(r.Context(), id, in)
		if err != nil {
			return err
		}
		s.writeJSON(w, http.StatusOK, out)
		return nil
	}
}

// serveCancel cancels a task that one agent delegated to another.
func (s *Server) serveCancel(w http.ResponseWriter, r *http.Request, _ authMethod) error {
	out, err := s.backend.CancelDelegation(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, out)
	return nil
}

// newGoal creates a goal: the body holds the arguments of the tool for that.
func (s *Server) newGoal(w http.ResponseWriter, r *http.Request, _ authMethod) error {
	var in struct {
		Description string `json:"description"`
		Success     string `json:"success,omitempty"`
		Priority    int    `json:"priority,omitempty"`
		CheckEvery  string `json:"check_every,omitempty"`
		NextReview  string `json:"next_review,omitempty"`
		ReportTo    string `json:"report_to,omitempty"`
	}
	if err := s.readJSONBody(w, r, &in); err != nil {
		return err
	}
	args, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := withServerLifetime(r.Context())
	defer cancel()
	out, err := s.backend.Call(ctx, "api", "create_goal", args)
	if err != nil {
		return err
	}
	s.writeJSON(w, toolStatus(out), out)
	return nil
}

// serveTool runs one tool through the guard. A failed tool responds with its outcome, whose code is
// the reason, and a matching status.
func (s *Server) serveTool(w http.ResponseWriter, r *http.Request, _ authMethod) error {
	var in struct {
		Arguments json.RawMessage `json:"arguments"`
		Session   string          `json:"session"`
	}
	if err := s.readJSONBody(w, r, &in); err != nil {
		return err
	}
	if in.Session == "" {
		in.Session = "api"
	}
	session, err := sessionID(in.Session)
	if err != nil {
		return err
	}
	if len(in.Arguments) == 0 {
		in.Arguments = json.RawMessage("{}")
	}
	ctx, cancel := withServerLifetime(r.Context())
	defer cancel()
	out, err := s.backend.Call(ctx, session, r.PathValue("tool"), in.Arguments)
	if err != nil {
		return err
	}
	s.writeJSON(w, toolStatus(out), out)
	return nil
}

// toolStatus maps the codes of package tools.
func toolStatus(o api.ToolOutcome) int {
	if o.Code == "" && len(o.Approvals) > 0 {
		return http.StatusAccepted
	}
	switch o.Code {
	case "":
		return http.StatusOK
	case "invalid_arguments", "truncated_arguments":
		return http.StatusBadRequest
	case "policy_denied", "denied_by_owner", "approval_timeout":
		return http.StatusForbidden
	case "not_found":
		return http.StatusNotFound
	case "conflict", "repeated_call", "cancelled":
		return http.StatusConflict
	case "unsupported":
		return http.StatusNotImplemented
	case "timeout":
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}
