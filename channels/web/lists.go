package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hob/templates"
)

const (
	defaultLimit = 1000
	maxLimit     = 100_000
)

// listHandler returns the handler of a read-only list. It accepts only the named parameters, so that
// a typing mistake does not look like an empty list.
func (s *Server) listHandler(name string, params ...string) func(http.ResponseWriter, *http.Request, authMethod) error {
	return func(w http.ResponseWriter, r *http.Request, _ authMethod) error {
		q, err := parseQuery(r.URL.RawQuery, params)
		if err != nil {
			return err
		}
		if name == "messages" {
			if q.Of, err = sessionID(r.PathValue("session")); err != nil {
				return err
			}
		}
		out, err := s.backend.List(r.Context(), name, q)
		if err != nil {
			return err
		}
		if v := reflect.ValueOf(out); !v.IsValid() || (v.Kind() == reflect.Slice && v.IsNil()) {
			out = []any{} // an empty list, not null
		}
		s.writeJSON(w, http.StatusOK, out)
		return nil
	}
}

func parseQuery(raw string, params []string) (Query, error) {
	q := Query{Limit: defaultLimit}
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

// manageHandler returns the handler of an administrative action.
func (s *Server) manageHandler(name string) func(http.ResponseWriter, *http.Request, authMethod) error {
	return func(w http.ResponseWriter, r *http.Request, _ authMethod) error {
		var in struct {
			Session string `json:"session"`
		}
		if err := s.readJSONBody(w, r, &in); err != nil {
			return err
		}
		if in.Session == "" && (name == "stop" || name == "new") {
			return newFailure(http.StatusBadRequest, "invalid", `send {"session": "..."}`, "the session is missing")
		}
		out, err := s.backend.Manage(r.Context(), name, Query{Of: in.Session})
		if err != nil {
			return err
		}
		s.writeJSON(w, http.StatusOK, out)
		return nil
	}
}

// configChanged journals a change of the configuration that the owner made on the command
// line, so that it can be undone.
func (s *Server) configChanged(w http.ResponseWriter, r *http.Request, _ authMethod) error {
	var in ConfigChange
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
func (s *Server) changeHandler(name string) func(http.ResponseWriter, *http.Request, authMethod) error {
	return func(w http.ResponseWriter, r *http.Request, _ authMethod) error {
		var in struct {
			Text   string `json:"text"`
			Retire bool   `json:"retire"`
			Delete bool   `json:"delete"`
		}
		if err := s.readJSONBody(w, r, &in); err != nil {
			return err
		}
		q := Query{Of: r.PathValue("id"), Text: strings.TrimSpace(in.Text)}
		n := 0
		for state, is := range map[string]bool{"": q.Text != "", "retired": in.Retire, "deleted": in.Delete} {
			if is {
				q.State = state
				n++
			}
		}
		if n != 1 || len(q.Of) > 200 {
			return newFailure(http.StatusBadRequest, "invalid", `send {"text": "..."}, {"retire": true} or {"delete": true}`, "give exactly one change")
		}
		out, err := s.backend.Manage(r.Context(), name, q)
		if err != nil {
			return err
		}
		s.writeJSON(w, http.StatusOK, out)
		return nil
	}
}

// serveCancel cancels a task that one agent delegated to another.
func (s *Server) serveCancel(w http.ResponseWriter, r *http.Request, _ authMethod) error {
	out, err := s.backend.Manage(r.Context(), "cancel", Query{Of: r.PathValue("id")})
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
func toolStatus(o ToolOutcome) int {
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
