package web

import (
	"net/http"
	"time"

	"hob/autonomy/api"
)

// parseTimestamp parses a date or an RFC 3339 time; name is the parameter for errors.
func parseTimestamp(name, v string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, v); err == nil {
			return t, nil
		}
	}
	return time.Time{}, invalidFailure("%s must be a day such as 2026-03-01 or a time such as 2026-03-01T12:00:00Z", name)
}

// serveSearch finds messages in all sessions.
func (s *Server) serveSearch(w http.ResponseWriter, r *http.Request, _ authMethod) error {
	values := r.URL.Query()
	narrow := api.SearchQuery{Session: values.Get("session"), Who: values.Get("who")}
	for _, k := range []string{"session", "who", "since", "until"} {
		v := values.Get(k)
		var err error
		switch {
		case v == "":
		case k == "since":
			narrow.Since, err = parseTimestamp(k, v)
		case k == "until":
			narrow.Until, err = parseTimestamp(k, v)
		}
		if err != nil {
			return err
		}
		values.Del(k)
	}
	q, err := parseQuery(values.Encode(), []string{"limit", "q"})
	if err != nil {
		return err
	}
	narrow.Text, narrow.Limit = q.Text, q.Limit
	out, err := s.backend.Search(r.Context(), narrow)
	if err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, out)
	return nil
}

// serveExport sends all messages of a session.
func (s *Server) serveExport(w http.ResponseWriter, r *http.Request, _ authMethod) error {
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
	if err != nil && out.begun { // a part was sent: only
		panic(http.ErrAbortHandler)
	}
	return err
}

// lateHeader sets the content type with the first byte, so that an earlier error can still be
// sent as one.
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

// serveFork creates a session from the messages of another one.
func (s *Server) serveFork(w http.ResponseWriter, r *http.Request, _ authMethod) error {
	session, err := sessionID(r.PathValue("session"))
	if err != nil {
		return err
	}
	var in struct {
		Session string `json:"session"`
		At      string `json:"at"`
	}
	if err := s.readJSONBody(w, r, &in); err != nil {
		return err
	}
	if in.Session != "" {
		if in.Session, err = sessionID(in.Session); err != nil {
			return err
		}
	}
	out, err := s.backend.Fork(r.Context(), session, in.Session, in.At)
	if err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, out)
	return nil
}

// serveReplay runs a turn again without effects.
func (s *Server) serveReplay(w http.ResponseWriter, r *http.Request, _ authMethod) error {
	session, err := sessionID(r.PathValue("session"))
	if err != nil {
		return err
	}
	var in struct {
		Turn string `json:"turn"`
	}
	if err := s.readJSONBody(w, r, &in); err != nil {
		return err
	}
	out, err := s.backend.Replay(r.Context(), session, in.Turn)
	if err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, out)
	return nil
}
