package web

import "net/http"

// notices manages notifications: release deferred ones (one or all), snooze one, or mute them
// for a time.
func (s *Server) notices(what string) func(http.ResponseWriter, *http.Request, surface) error {
	return func(w http.ResponseWriter, r *http.Request, _ surface) error {
		var in struct {
			ID  string `json:"id"`
			For string `json:"for"`
		}
		if err := s.body(w, r, &in); err != nil {
			return err
		}
		if len(in.ID) > 200 || len(in.For) > 200 || what == "snooze" && in.For == "" {
			return fail(http.StatusBadRequest, "invalid", `send {"id": "n-...", "for": "1h"}`, "the notice or the duration is missing")
		}
		out, err := s.backend.Manage(r.Context(), "notices/"+what, Query{Of: in.ID, Text: in.For})
		if err != nil {
			return err
		}
		s.reply(w, http.StatusOK, out)
		return nil
	}
}
