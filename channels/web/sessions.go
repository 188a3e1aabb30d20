package web

import (
	"net/http"
	"time"

	"hob/autonomy/api"
)

// ParseTimestamp parses a date or an RFC 3339 time. name is the parameter name for errors.
func ParseTimestamp(name, v string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, v); err == nil {
			return t, nil
		}
	}
	return time.Time{}, invalidFailure("%s must be a day such as 2026-03-01 or a time such as 2026-03-01T12:00:00Z", name)
}

// searchMessages searches the messages in all sessions.
func (s *Server) searchMessages(r *http.Request, _ call) ([]api.FoundMessage, error) {
	values := r.URL.Query()
	narrow := api.SearchQuery{Session: values.Get("session"), Who: values.Get("who")}
	for k, to := range map[string]*time.Time{"since": &narrow.Since, "until": &narrow.Until} {
		if v := values.Get(k); v != "" {
			var err error
			if *to, err = ParseTimestamp(k, v); err != nil {
				return nil, err
			}
		}
	}
	for _, k := range []string{"session", "who", "since", "until"} {
		values.Del(k)
	}
	q, err := parseQuery(values.Encode(), []string{"limit", "q"})
	if err != nil {
		return nil, err
	}
	narrow.Text, narrow.Limit = q.Text, q.Limit
	out, err := s.backend.Search(r.Context(), narrow)
	return notNil(out), err
}

// serveExport sends all messages in a session.
func (s *Server) serveExport(w http.ResponseWriter, r *http.Request, _ call) error {
	session, err := sessionID(r.PathValue("session"))
	if err != nil {
		return err
	}
	q := r.URL.Query()
	format := "markdown"
	for k := range q {
		if k != "format" {
			return newFailure(http.StatusBadRequest, "invalid", "the parameter is format", "unknown parameter %q", k)
		}
		format = q.Get(k)
	}
	types := map[string]string{"markdown": "text/markdown; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}
	if types[format] == "" {
		return invalidFailure("format %q is unknown; use markdown or jsonl", format)
	}
	out := &lateHeader{w: w, kind: types[format]}
	err = s.backend.Export(r.Context(), session, format, out)
	if err != nil && out.begun { // part of the response was sent, so an error can only be signaled by breaking off the response
		panic(http.ErrAbortHandler)
	}
	return err
}

// lateHeader sets the content type when the first byte is written, so that an error before that can
// still be sent as an error response.
type lateHeader struct {
	w     http.ResponseWriter
	kind  string
	begun bool
}

func (l *lateHeader) Write(b []byte) (int, error) {
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", l.kind)
	}
	writeBy(l.w, time.Now().Add(writeTime))
	return l.w.Write(b)
}

// forkSession creates a session from the messages of another one.
func (s *Server) forkSession(r *http.Request, _ call, in ForkRequest) (out api.Session, err error) {
	session, err := sessionID(r.PathValue("session"))
	if err != nil {
		return out, err
	}
	if in.Session != "" {
		if in.Session, err = sessionID(in.Session); err != nil {
			return out, err
		}
	}
	return s.backend.Fork(r.Context(), session, in.Session, in.At)
}

// replayTurn replays a turn without effects.
func (s *Server) replayTurn(r *http.Request, _ call, in ReplayRequest) (api.Replay, error) {
	session, err := sessionID(r.PathValue("session"))
	if err != nil {
		return api.Replay{}, err
	}
	return s.backend.Replay(r.Context(), session, in.Turn)
}
