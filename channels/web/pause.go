package web

import "net/http"

// pause stops background work for a time or resumes it ("off").
func (s *Server) pause(w http.ResponseWriter, r *http.Request, _ surface) error {
	var in struct {
		For string `json:"for"`
	}
	if err := s.body(w, r, &in); err != nil {
		return err
	}
	if len(in.For) > 200 {
		return fail(http.StatusBadRequest, "invalid", `send {"for": "1h"}`, "the duration is missing")
	}
	out, err := s.backend.Manage(r.Context(), "pause", Query{Text: in.For})
	if err != nil {
		return err
	}
	s.reply(w, http.StatusOK, out)
	return nil
}
