package web

import "net/http"

// noticesHandler manages notifications: release deferred ones (one or all), snooze one, or mute them
// for a time.
func (s *Server) noticesHandler(what string) func(http.ResponseWriter, *http.Request, authMethod) error {
	return func(w http.ResponseWriter, r *http.Request, _ authMethod) error {
		var in struct {
			ID  string `json:"id"`
			For string `json:"for"`
		}
		if err := s.readJSONBody(w, r, &in); err != nil {
			return err
		}
		if len(in.ID) > 200 || len(in.For) > 200 || what == "snooze" && in.For == "" {
			return newFailure(http.StatusBadRequest, "invalid", `send {"id": "n-...", "for": "1h"}`, "the notice or the duration is missing")
		}
		out, err := s.backend.Manage(r.Context(), "notices/"+what, Query{Of: in.ID, Text: in.For})
		if err != nil {
			return err
		}
		s.writeJSON(w, http.StatusOK, out)
		return nil
	}
}
