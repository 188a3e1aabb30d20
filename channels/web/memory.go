package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hob/autonomy/api"
)

// serveMemory lists facts or searches the memory.
func (s *Server) serveMemory(w http.ResponseWriter, r *http.Request, c call) error {
	q, all, err := memoryQuery(r.URL.RawQuery, c.query)
	if err != nil {
		return err
	}
	if q.IsEmpty() {
		out, err := s.backend.Facts(r.Context(), q.Limit, all)
		if err != nil {
			return err
		}
		s.writeJSON(w, http.StatusOK, notNil(out))
		return nil
	}
	out, err := s.backend.MemorySearch(r.Context(), q)
	if err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, notNil(out))
	return nil
}

// explainSearch searches the memory and explains the result.
func (s *Server) explainSearch(r *http.Request, c call) (api.ExplainedSearch, error) {
	q, _, err := memoryQuery(r.URL.RawQuery, c.query)
	if err != nil {
		return api.ExplainedSearch{}, err
	}
	if strings.TrimSpace(q.Text) == "" {
		return api.ExplainedSearch{}, invalidFailure("the search text q is missing")
	}
	return s.backend.ExplainSearch(r.Context(), q)
}

// memoryQuery parses a memory query. all reports whether a list includes retired facts.
func memoryQuery(raw string, params []string) (q api.MemoryQuery, all bool, err error) {
	common, err := parseQuery(raw, params)
	if err != nil {
		return q, false, err
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, false, invalidFailure("the query string cannot be read")
	}
	is := func(k string) bool { return values.Has(k) && !slices.Contains([]string{"0", "false"}, values.Get(k)) }
	q = api.MemoryQuery{Text: common.Text, Limit: common.Limit, Speaker: values.Get("speaker"), History: is("history"), Meaning: is("meaning")}
	if q.Text != "" && !values.Has("limit") {
		q.Limit = 10
	}
	for k := range strings.SplitSeq(values.Get("kind"), ",") {
		if k = strings.TrimSpace(k); k != "" {
			q.Kinds = append(q.Kinds, k)
		}
	}
	for k, to := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if v := values.Get(k); v != "" {
			if *to, err = ParseTimestamp(k, v); err != nil {
				return q, false, err
			}
		}
	}
	return q, common.All, nil
}

func (s *Server) memoryItem(r *http.Request, _ call) (api.MemoryItem, error) {
	id := r.PathValue("id")
	if len(id) > 500 {
		return api.MemoryItem{}, invalidFailure("the id is too long")
	}
	return s.backend.MemoryItem(r.Context(), id)
}

func (s *Server) memoryGraph(r *http.Request, c call) (api.MemoryGraph, error) {
	q, err := parseQuery(r.URL.RawQuery, c.query)
	if err != nil {
		return api.MemoryGraph{}, err
	}
	if !r.URL.Query().Has("limit") {
		q.Limit = 200
	}
	return s.backend.MemoryGraph(r.Context(), q.Text, q.Limit)
}

func (s *Server) memoryExport(w http.ResponseWriter, r *http.Request, _ call) error {
	format, conversations := "jsonl", false
	for k, vs := range r.URL.Query() {
		switch v := vs[len(vs)-1]; k {
		case "format":
			format = v
		case "conversations":
			conversations = v != "0" && v != "false"
		default:
			return newFailure(http.StatusBadRequest, "invalid", "the parameters are format, conversations", "unknown parameter %q", k)
		}
	}
	types := map[string]string{"markdown": "text/markdown; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}
	if types[format] == "" {
		return invalidFailure("format %q is unknown; use jsonl or markdown", format)
	}
	out := &lateHeader{w: w, kind: types[format]}
	err := s.backend.MemoryExport(r.Context(), out, format, conversations)
	if err != nil && out.begun { // part of the response was sent, so an error can only be signaled by breaking off the response
		panic(http.ErrAbortHandler)
	}
	return err
}

func (s *Server) memoryImport(w http.ResponseWriter, r *http.Request, _ call) error {
	var in api.MemoryImport
	if err := s.readJSONBody(w, r, &in); err != nil {
		return err
	}
	if in.Path == "" {
		return invalidFailure("the path is missing")
	}
	if strings.ContainsAny(in.Name, "/\\\x00\n") || len(in.Name) > 200 {
		return invalidFailure("the name must be one word, such as notes.md")
	}
	return s.streamSteps(w, func(step func(any)) error {
		out, err := s.backend.MemoryImport(r.Context(), in, func(p api.MemoryProgress) { step(p) })
		if err == nil {
			step(out)
		}
		return err
	})
}

func (s *Server) memoryReindex(w http.ResponseWriter, r *http.Request, _ call) error {
	return s.streamSteps(w, func(step func(any)) error {
		return s.backend.MemoryReindex(r.Context(), func(p api.MemoryProgress) { step(p) })
	})
}

// streamSteps streams one JSON object per line. If do fails after the first line, the last line is
// a StepError.
func (s *Server) streamSteps(w http.ResponseWriter, do func(step func(any)) error) error {
	out := &lateHeader{w: w, kind: "application/jsonl; charset=utf-8"}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	flush := http.NewResponseController(w)
	step := func(v any) {
		_ = e.Encode(v)   // continue even if the client has disconnected
		_ = flush.Flush() // not every writer supports flushing
	}
	err := do(step)
	if err != nil && out.begun {
		step(failureOf(err).stepError())
		return nil
	}
	return err
}
