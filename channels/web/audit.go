package web

import (
	"net/http"
	"strconv"
	"time"

	"hob/autonomy/api"
)

// auditRecords lists records of the audit log.
func (s *Server) auditRecords(r *http.Request, _ call) ([]api.AuditRecord, error) {
	values := r.URL.Query()
	var q api.AuditQuery
	text := map[string]*string{
		"event": &q.Event, "session": &q.Session, "tool": &q.Tool, "actor": &q.Actor, "action": &q.Action, "verdict": &q.Verdict, "outcome": &q.Outcome, "call": &q.Call,
	}
	for k := range values {
		v := values.Get(k)
		var err error
		switch {
		case text[k] != nil:
			*text[k] = v
		case k == "since" && v != "":
			q.Since, err = ParseTimestamp(k, v)
		case k == "until" && v != "":
			q.Until, err = ParseTimestamp(k, v)
		case k == "tainted":
			q.Tainted = v != "0" && v != "false"
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		values.Del(k)
	}
	common, err := parseQuery(values.Encode(), []string{"limit", "before"})
	if err != nil {
		return nil, err
	}
	q.Limit = common.Limit
	if common.Before != "" {
		if q.Before, err = strconv.ParseInt(common.Before, 10, 64); err != nil || q.Before < 1 {
			return nil, invalidFailure("before must be a line number")
		}
	}
	out, err := s.backend.Audit(r.Context(), q)
	return notNil(out), err
}

// timelineEntries lists entries of the timeline.
func (s *Server) timelineEntries(r *http.Request, c call) ([]api.TimelineEntry, error) {
	q, err := parseQuery(r.URL.RawQuery, c.query)
	if err != nil {
		return nil, err
	}
	t := api.TimelineQuery{Kind: q.State, Before: q.Before, Limit: q.Limit}
	for name, at := range map[string]*time.Time{"since": &t.Since, "until": &t.Until} {
		if v := r.URL.Query().Get(name); v != "" {
			if *at, err = ParseTimestamp(name, v); err != nil {
				return nil, err
			}
		}
	}
	out, err := s.backend.Timeline(r.Context(), t)
	return notNil(out), err
}

func (s *Server) auditLine(r *http.Request, _ call) (api.AuditLine, error) {
	n, err := strconv.ParseInt(r.PathValue("line"), 10, 64)
	if err != nil || n < 1 {
		return api.AuditLine{}, invalidFailure("the line must be a number")
	}
	return s.backend.AuditLine(r.Context(), n)
}

// auditExport sends a range of the audit log.
func (s *Server) auditExport(w http.ResponseWriter, r *http.Request, _ call) error {
	format := "jsonl"
	var since, until time.Time
	for k, vs := range r.URL.Query() {
		v, err := vs[len(vs)-1], error(nil)
		switch {
		case k == "format":
			format = v
		case k == "since" && v != "":
			since, err = ParseTimestamp(k, v)
		case k == "until" && v != "":
			until, err = ParseTimestamp(k, v)
		case k != "since" && k != "until":
			return newFailure(http.StatusBadRequest, "invalid", "the parameters are format, since, until", "unknown parameter %q", k)
		}
		if err != nil {
			return err
		}
	}
	types := map[string]string{"jsonl": "application/jsonl; charset=utf-8", "csv": "text/csv; charset=utf-8"}
	if types[format] == "" {
		return invalidFailure("the format must be jsonl or csv")
	}
	out := &lateHeader{w: w, kind: types[format]}
	err := s.backend.AuditExport(r.Context(), out, format, since, until)
	if err != nil && out.begun { // part of the response was sent, so an error can only be signaled by breaking off the response
		panic(http.ErrAbortHandler)
	}
	return err
}
