package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
)

// Doctor checks the installation.
type Doctor interface {
	// Examine runs the named checks, or all of them, and with fix repairs problems. It calls
	// step with each finding: an object with name, state ("ok", "warn", "fail", "skipped"),
	// cause and remedy. ErrInvalid: a name is unknown.
	Examine(ctx context.Context, names []string, fix bool, step func(any)) error
}

// maxNames is the maximum number of checks selected by name.
const maxNames = 100

// examined returns all findings at once.
func (s *Server) examined(w http.ResponseWriter, r *http.Request, _ surface) error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("the query string cannot be read")
	}
	for k := range values {
		if k != "name" {
			return fail(http.StatusBadRequest, "invalid", "the parameter is name, as often as needed", "unknown parameter %q", k)
		}
	}
	if err := sensible(values["name"]); err != nil {
		return err
	}
	out := []any{}
	if err := s.backend.Examine(r.Context(), values["name"], false, func(v any) { out = append(out, v) }); err != nil {
		return err
	}
	s.reply(w, http.StatusOK, out)
	return nil
}

// examine streams each finding and may repair problems.
func (s *Server) examine(w http.ResponseWriter, r *http.Request, _ surface) error {
	var in struct {
		Names []string `json:"names"`
		Fix   bool     `json:"fix"`
	}
	if err := s.body(w, r, &in); err != nil {
		return err
	}
	if err := sensible(in.Names); err != nil {
		return err
	}
	return s.steps(w, func(step func(any)) error { return s.backend.Examine(r.Context(), in.Names, in.Fix, step) })
}

func sensible(names []string) error {
	if len(names) > maxNames || slices.ContainsFunc(names, func(n string) bool { return len(n) > 200 }) {
		return invalid("the names of the checks are not valid")
	}
	return nil
}
