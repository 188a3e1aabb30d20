package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/channels/web/mcpserver"
)

// localProgram returns the client for requests with the API token: a program of the user, such as
// `hob mcp serve`. It gets no more rights than other programs.
func localProgram(kind string) api.Client { return api.Client{ID: "local", Kind: kind, Name: "local"} }

// program is an authenticated external program.
type program struct {
	api.Client

	// isValid reports whether the program's proof is still valid.
	isValid func(ctx context.Context) bool
}

// authenticateProgram returns the external program that sent a request to the endpoint of a kind
// (mcp, a2a). A program started by Hob may use only the token of its running turn. The returned
// request ends with the proof; call done after it.
func (s *Server) authenticateProgram(r *http.Request, kind string) (p program, _ *http.Request, done func(), err error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return p, r, nil, newFailure(http.StatusUnauthorized, "unauthorised", "create a token: hob "+kind+" token NAME", "this request needs the token of a program, as Authorization: Bearer")
	}
	if cred := s.cred.Load(); cred.isToken(token) {
		if err := s.refuseUntrustedPeer(r, false); err != nil {
			return p, r, nil, err
		}
		p = program{Client: localProgram(kind), isValid: func(context.Context) bool { return cred.valid.Err() == nil }}
		r, done = withProofLifetime(r, cred)
		return p, r, done, nil
	}
	kinds := []string{kind}
	if kind == "mcp" {
		kinds = append(kinds, "session")
	}
	for _, k := range kinds {
		c, err := s.backend.AuthenticateClient(r.Context(), k, token)
		if errors.Is(err, api.ErrDenied) {
			continue
		}
		if err == nil && k != "session" && s.requestPeer(r, false, false) == PeerHob {
			err = s.refuseUntrustedPeer(r, false)
		}
		if err != nil {
			return p, r, nil, err
		}
		if at, ok := r.Context().Value(connKey{}).(*connection); ok {
			markProven(at.conn)
		}
		return program{Client: c, isValid: func(ctx context.Context) bool {
			_, err := s.backend.AuthenticateClient(ctx, k, token)
			return !errors.Is(err, api.ErrDenied)
		}}, r, func() {}, nil
	}
	f := newFailure(http.StatusUnauthorized, "unauthorised", "create a new one: hob "+kind+" token NAME", "the token is wrong, revoked or expired")
	return p, r, nil, s.doors.countFailure(r, f)
}

// ProgramURL returns the address of the MCP endpoint for programs on this machine, or "" if the
// server does not listen or uses a certificate that such a program may not know.
func (s *Server) ProgramURL() string {
	s.mu.Lock()
	listens := s.ln != nil
	s.mu.Unlock()
	if !listens || s.opt.TLS != nil {
		return ""
	}
	return s.URL() + "/mcp"
}

// maxProgramBody is the maximum size of a request from an external program.
const maxProgramBody = 1 << 20

// serveMCP serves the MCP endpoint.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) error {
	p, r, done, err := s.authenticateProgram(r, "mcp")
	if err != nil {
		return err
	}
	defer done()
	var body []byte
	if r.Method == http.MethodPost {
		if r.ContentLength > maxProgramBody {
			return newFailure(http.StatusRequestEntityTooLarge, "too_large", "send less", "the request is larger than %d KB", maxProgramBody>>10)
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxProgramBody)
		if body, err = s.rawJSON(w, r); err != nil {
			return err
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mcp.ServeClient(&timedWriter{w}, r, mcpserver.Request{Client: p.Client, Body: body, IsValid: p.isValid})
	return nil
}

// timedWriter limits how long the client may take to read each part of a response.
type timedWriter struct{ http.ResponseWriter }

func (w *timedWriter) Write(b []byte) (int, error) {
	writeBy(w.ResponseWriter, time.Now().Add(writeTime))
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *timedWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Unwrap implements the convention of http.ResponseController.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// programRoutes returns the endpoints for external programs.
func (s *Server) programRoutes() []route {
	var t []route
	for _, m := range []struct{ method, id, text string }{
		{"POST", "mcp", "Model Context Protocol: one JSON-RPC message"},
		{"GET", "mcp_stream", "Model Context Protocol: stream the messages of a session"},
		{"DELETE", "mcp_end", "Model Context Protocol: end a session"},
	} {
		rt := route{
			method: m.method, path: "/mcp", id: m.id, tag: "mcp", summary: m.text, security: []string{"token"}, fails: []int{401, 429},
			endpoint: endpoint{open: s.serveMCP, replies: []reply{{status: http.StatusOK, text: "OK", media: []string{"application/json", "text/event-stream"}}}},
		}
		if m.method == "POST" {
			rt.request = &requestBody{}
		}
		t = append(t, rt)
	}
	return t
}
