package web

import (
	"context"
	"net/http"

	"hob/autonomy/api"
)

// noticesEndpoint serves an action on notices, or on one of them. timed: it needs a duration or a
// time.
func noticesEndpoint[T any](s *Server, timed bool, act func(ctx context.Context, id, until string) (T, error)) endpoint {
	return actionEndpoint(s, func(r *http.Request, _ call, in NoticeRequest) (out T, err error) {
		if len(in.ID) > 200 || len(in.For) > 200 || timed && in.For == "" {
			return out, newFailure(http.StatusBadRequest, "invalid", `send {"id": "n-...", "for": "1h"}`, "the notice or the duration is missing")
		}
		return act(r.Context(), in.ID, in.For)
	})
}

// setPause stops background work for a time or resumes it ("off").
func (s *Server) setPause(r *http.Request, _ call, in PauseRequest) (api.Pause, error) {
	if len(in.For) > 200 {
		return api.Pause{}, newFailure(http.StatusBadRequest, "invalid", `send {"for": "1h"}`, "the duration is missing")
	}
	return s.backend.SetPause(r.Context(), in.For)
}
