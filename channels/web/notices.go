package web

import (
	"context"
	"net/http"
)

// noticesHandler returns the handler of an action on notices, or on one of them. timed: it needs a
// duration or a time.
func noticesHandler[T any](s *Server, timed bool, act func(ctx context.Context, id, until string) (T, error)) func(http.ResponseWriter, *http.Request, authMethod) error {
	return func(w http.ResponseWriter, r *http.Request, _ authMethod) error {
		var in struct {
			ID  string `json:"id"`
			For string `json:"for"`
		}
		if err := s.readJSONBody(w, r, &in); err != nil {
			return err
		}
		if len(in.ID) > 200 || len(in.For) > 200 || timed && in.For == "" {
			return newFailure(http.StatusBadRequest, "invalid", `send {"id": "n-...", "for": "1h"}`, "the notice or the duration is missing")
		}
		out, err := act(r.Context(), in.ID, in.For)
		if err != nil {
			return err
		}
		s.writeJSON(w, http.StatusOK, out)
		return nil
	}
}

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
	out, err := s.backend.SetPause(r.Context(), in.For)
	if err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, out)
	return nil
}
