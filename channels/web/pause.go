package web

import "net/http"

// servePause stops background work for a time or resumes it ("off").
func (s *Server) servePause(w http.ResponseWriter, r *http.Request, _ authMethod) error {
	var in struct {
		For string `json:"for"`
	}
	if err := s.readJSONBody(w, r, &in); err != nil {
		return err
	}
	if len(in.For) > 200 {
		return newFailure(http.StatusBadRequest, "invalid", `send {"for": "1h"}`, "the duration is missing")
	}
	out, err := s.backend.Manage(r.Context(), "pause", Query{Text: in.For})
	if err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, out)
	return nil
}
