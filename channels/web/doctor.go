package web

import (
	"net/http"
	"net/url"
	"slices"

	"hob/autonomy/api"
)

// maxNames is the maximum number of checks selected by name.
const maxNames = 100

// findings returns all findings at once.
func (s *Server) findings(r *http.Request, _ call) ([]api.Finding, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, invalidFailure("the query string cannot be read")
	}
	for k := range values {
		if k != "name" {
			return nil, newFailure(http.StatusBadRequest, "invalid", "the parameter is name, as often as needed", "unknown parameter %q", k)
		}
	}
	if err := checkNames(values["name"]); err != nil {
		return nil, err
	}
	out := []api.Finding{}
	err = s.backend.Examine(r.Context(), values["name"], false, func(f api.Finding) { out = append(out, f) })
	return out, err
}

// streamFindings streams each finding and may repair problems.
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
		return invalidFailure("the names of the checks are not valid")
	}
	return nil
}
