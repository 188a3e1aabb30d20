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
)

// MaxLimit is the maximum number of rows in a list.
const MaxLimit = 100_000

const defaultLimit = 1000

// planOfDay returns the plan of the day.
func (s *Server) planOfDay(r *http.Request, c call) (api.Plan, error) {
	if _, err := parseQuery(r.URL.RawQuery, c.query); err != nil {
		return api.Plan{}, err
	}
	return s.backend.Plan(r.Context())
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
				return q, invalidFailure("limit must be a number from 1 to %d, not %q", MaxLimit, v)
			}
			q.Limit = min(q.Limit, MaxLimit)
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

// explain returns why something happened or did not happen.
func (s *Server) explain(r *http.Request, c call) (api.Explanation, error) {
	q, err := parseQuery(r.URL.RawQuery, c.query)
	if err != nil {
		return api.Explanation{}, err
	}
	return s.backend.Why(r.Context(), q.State, q.Of)
}

// sessionEndpoint returns an endpoint that runs an administrative action on a session.
func sessionEndpoint[T any](s *Server, act func(ctx context.Context, session string) (T, error)) endpoint {
	return actionEndpoint(s, func(r *http.Request, _ call, in SessionRequest) (out T, err error) {
		if in.Session == "" {
			return out, newFailure(http.StatusBadRequest, "invalid", `send {"session": "..."}`, "the session is missing")
		}
		return act(r.Context(), in.Session)
	})
}

// configChanged journals a configuration change that the owner made on the command line, so that it
// can be undone.
func (s *Server) configChanged(r *http.Request, _ call, in api.ConfigChange) (Journalled, error) {
	if in.What == "" || len(in.What) > 500 {
		return Journalled{}, newFailure(http.StatusBadRequest, "invalid", `send {"what": "...", "before": "...", "after": "..."}`, "the change is missing")
	}
	err := s.backend.ConfigChanged(r.Context(), in)
	return Journalled{Journalled: err == nil}, err
}

// trustFile marks a file as trusted by the owner.
func (s *Server) trustFile(r *http.Request, _ call, in FileRequest) (api.TrustedFiles, error) {
	if in.Path == "" {
		return api.TrustedFiles{}, newFailure(http.StatusBadRequest, "invalid", `send {"path": "..."}`, "the path is missing")
	}
	return s.backend.TrustFile(r.Context(), in.Path)
}

// changeEndpoint returns an endpoint that rewords, retires or deletes one learned entry.
func changeEndpoint[T any](s *Server, change func(ctx context.Context, id string, c api.LearnedChange) (T, error)) endpoint {
	e := actionEndpoint(s, func(r *http.Request, _ call, in api.LearnedChange) (out T, err error) {
		id := r.PathValue("id")
		in.Text = strings.TrimSpace(in.Text)
		n := 0
		for _, is := range []bool{in.Text != "", in.Retire, in.Delete} {
			if is {
				n++
			}
		}
		if n != 1 || len(id) > 200 {
			return out, newFailure(http.StatusBadRequest, "invalid", `send {"text": "..."}, {"retire": true} or {"delete": true}`, "give exactly one change")
		}
		return change(r.Context(), id, in)
	})
	e.request = neededBodyOf[api.LearnedChange]()
	return e
}

// cancelDelegation cancels a task that one agent delegated to another.
func (s *Server) cancelDelegation(r *http.Request, _ call) (api.Delegation, error) {
	return s.backend.CancelDelegation(r.Context(), r.PathValue("id"))
}

// newGoal creates a goal. The body holds the arguments of the tool create_goal.
func (s *Server) newGoal(w http.ResponseWriter, r *http.Request, _ call) error {
	var in GoalRequest
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

// serveTool runs one tool after the guard's check. If the tool fails, the response is its outcome,
// with the reason as code and a matching status.
func (s *Server) serveTool(w http.ResponseWriter, r *http.Request, _ call) error {
	var in ToolRequest
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

// toolStatus maps the codes of package tools to HTTP statuses.
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

// noticesEndpoint returns an endpoint for an action on all notices or one notice. If timed is set,
// the action needs a duration or a time.
func noticesEndpoint[T any](s *Server, timed bool, act func(ctx context.Context, id, until string) (T, error)) endpoint {
	return actionEndpoint(s, func(r *http.Request, _ call, in NoticeRequest) (out T, err error) {
		if len(in.ID) > 200 || len(in.For) > 200 || timed && in.For == "" {
			return out, newFailure(http.StatusBadRequest, "invalid", `send {"id": "n-...", "for": "1h"}`, "the duration is missing, or a value is too long")
		}
		return act(r.Context(), in.ID, in.For)
	})
}

// setPause stops background work for a limited time or resumes it ("off").
func (s *Server) setPause(r *http.Request, _ call, in PauseRequest) (api.Pause, error) {
	if len(in.For) > 200 {
		return api.Pause{}, newFailure(http.StatusBadRequest, "invalid", `send {"for": "1h"}`, "the duration is too long")
	}
	return s.backend.SetPause(r.Context(), in.For)
}

// maxNames is the maximum number of checks selected by name.
const maxNames = 100

// findings returns all findings together.
func (s *Server) findings(r *http.Request, _ call) ([]api.Finding, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, invalidFailure("the query string cannot be read")
	}
	for k := range values {
		if k != "name" {
			return nil, newFailure(http.StatusBadRequest, "invalid", "the only parameter is name, which may be repeated", "unknown parameter %q", k)
		}
	}
	if err := checkNames(values["name"]); err != nil {
		return nil, err
	}
	out := []api.Finding{}
	err = s.backend.Examine(r.Context(), values["name"], false, func(f api.Finding) { out = append(out, f) })
	return out, err
}

// streamFindings streams each finding. It also fixes problems if the request asks for it.
func (s *Server) streamFindings(w http.ResponseWriter, r *http.Request, _ call) error {
	var in ExamineRequest
	if err := s.readJSONBody(w, r, &in); err != nil {
		return err
	}
	if err := checkNames(in.Names); err != nil {
		return err
	}
	return s.streamSteps(w, func(step func(any)) error {
		return s.backend.Examine(r.Context(), in.Names, in.Fix, func(f api.Finding) { step(f) })
	})
}

func checkNames(names []string) error {
	if len(names) > maxNames || slices.ContainsFunc(names, func(n string) bool { return len(n) > 200 }) {
		return invalidFailure("there are too many check names, or a name is too long")
	}
	return nil
}
