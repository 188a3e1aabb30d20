package web

import (
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"hob/autonomy/api"
)

// ServeHTTP implements http.Handler. Every request enters here.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.active.addCount(1)
	defer s.active.addCount(-1)
	defer s.recoverHandler(w, r)
	writeBy(w, time.Time{}) // clear the previous response's deadline, which would end this response
	setSecurityHeaders(w.Header())
	if s.opt.TLS != nil {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	if err := s.checkEntry(r); err != nil {
		s.writeError(w, r, err)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && s.opt.Outage != nil {
		if err := s.opt.Outage(); err != nil { // nothing is acknowledged that may not be stored
			s.writeError(w, r, fmt.Errorf("%w: %w", api.ErrAway, err))
			return
		}
	}
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.serveUnknownRoute(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Handler returns the API as a handler for use inside this process. Its requests also need the
// token.
func (s *Server) Handler() http.Handler { return s }

func (s *Server) recoverHandler(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // net/http also compares with ==
		panic(p)
	}
	s.log.Error("handler panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	s.writeError(w, r, newFailure(http.StatusInternalServerError, "failed", "see Hob's log", "internal error while handling this request"))
}

// setSecurityHeaders sets the security headers of every response.
func setSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// checkEntry checks the origin of a request before its credentials.
func (s *Server) checkEntry(r *http.Request) error {
	if !s.knownHost(r.Host) && !s.isHook(r) {
		// A web page can make its own host name resolve to this machine (DNS rebinding). Its
		// requests then arrive with that name.
		return newFailure(http.StatusMisdirectedRequest, "wrong_host", "use "+s.URL(), "this server does not answer for the host %q", r.Host)
	}
	if o := r.Header.Get("Origin"); o != "" && !s.ownOrigin(r, o) {
		return newFailure(http.StatusForbidden, "wrong_origin", "use the page at "+s.URL(), "requests from %q are not allowed", o)
	}
	site := r.Header.Get("Sec-Fetch-Site")
	foreign := site == "cross-site" || site == "same-site" // another port on this machine is "same-site"
	if foreign && (isAPI(r.URL.Path) || (r.Method != http.MethodGet && r.Method != http.MethodHead)) {
		return newFailure(http.StatusForbidden, "wrong_origin", "use the page at "+s.URL(), "requests from other sites are not allowed")
	}
	return nil
}

// knownHost reports whether the Host header is allowed: a loopback name or the bound address with
// the bound port, or a name that the owner allowed.
func (s *Server) knownHost(hostport string) bool {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		host, port = strings.Trim(hostport, "[]"), ""
	}
	if slices.ContainsFunc(s.opt.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		return true
	}
	bound, want, _ := net.SplitHostPort(s.Addr())
	if port != want && (port != "" || (want != "80" && want != "443")) {
		return false
	}
	switch strings.ToLower(host) {
	case "127.0.0.1", "localhost", "::1":
		return true
	}
	return host != "" && host == bound
}

// ownOrigin reports whether a request comes from this server's own page. Browsers send "null" for a
// form on a page without a referrer. In that case Sec-Fetch-Site, which no page can set, reports
// the same origin.
func (s *Server) ownOrigin(r *http.Request, origin string) bool {
	scheme := "http://"
	if s.opt.TLS != nil {
		scheme = "https://"
	}
	return strings.EqualFold(origin, scheme+r.Host) || (origin == "null" && r.Header.Get("Sec-Fetch-Site") == "same-origin")
}

// isAPI reports whether a path always requires the token.
func isAPI(path string) bool {
	return strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/v1/") || path == "/metrics" || path == "/mcp"
}

// serveUnknownRoute responds to requests without a matching route. Clients without the token do not
// learn which routes exist.
func (s *Server) serveUnknownRoute(w http.ResponseWriter, r *http.Request) {
	if isAPI(r.URL.Path) {
		if _, _, err := s.checkProof(r, false); err != nil {
			s.writeError(w, r, err)
			return
		}
	}
	probe := &muxProbe{header: http.Header{}}
	s.mux.ServeHTTP(probe, r)
	if allow := probe.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
		s.writeError(w, r, newFailure(http.StatusMethodNotAllowed, "method_not_allowed", "use "+allow, "%s does not support %s", r.URL.Path, r.Method))
		return
	}
	if to := probe.header.Get("Location"); to != "" { // the path contains // or ..
		http.Redirect(w, r, to, probe.status)
		return
	}
	s.writeError(w, r, newFailure(http.StatusNotFound, "not_found", "see GET /api/v1/openapi.json for all routes", "no such route: %s", r.URL.Path))
}

// muxProbe records a response of the mux without sending it.
type muxProbe struct {
	header http.Header
	status int
}

func (p *muxProbe) Header() http.Header         { return p.header }
func (p *muxProbe) WriteHeader(status int)      { p.status = status }
func (p *muxProbe) Write(b []byte) (int, error) { return len(b), nil }
