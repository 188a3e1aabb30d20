package web

import (
	"net/http"
	"net/url"

	"hob/channels"
	"hob/channels/web/dashboard"
)

// newDashboard creates the pages. They use the same backend as the API.
func (s *Server) newDashboard() (*dashboard.Dashboard, error) {
	return dashboard.New(dashboard.Options{
		Backend: s.backend, Log: s.log, Zone: s.opt.Zone, Ping: s.opt.Ping, SessionName: sessionID, Lifetime: withServerLifetime,
		Message: func(r *http.Request, session, text string) (channels.Inbound, error) {
			if err := checkText(text); err != nil {
				return channels.Inbound{}, err
			}
			return s.ownerInbound(r, session, text, "")
		},
	})
}

// dashboardRoutes returns the routes of the pages and their files. A form changes something, so its
// client must be identified.
func (s *Server) dashboardRoutes() (out []route) {
	for _, p := range s.pages.Routes() {
		rt := route{
			method: p.Method, path: p.Path, id: "page_" + routeID(p.Method, p.Path), tag: "page", summary: p.Summary, grave: p.Method == http.MethodPost,
		}
		switch {
		case p.Media == "":
			rt.replies = []reply{{status: http.StatusSeeOther, text: "redirects to a page"}}
		case p.Open:
			rt.replies = append(okMedia(p.Media), reply{status: http.StatusNotModified, text: "not modified"})
		default:
			rt.replies = okMedia(p.Media)
		}
		if rt.grave {
			rt.request = &requestBody{}
		}
		if p.Open {
			rt.open = func(w http.ResponseWriter, r *http.Request) error { return p.Serve(w, r, "") }
		} else {
			rt.html = true
			rt.owner = func(w http.ResponseWriter, r *http.Request, c call) error {
				by, err := s.answeringSurface(r, c.by)
				if err == nil && p.Login {
					err = s.requireOwnPage(r, c.by)
				}
				if err != nil {
					return err
				}
				return p.Serve(w, r, by)
			}
		}
		out = append(out, rt)
	}
	return out
}

// requireOwnPage rejects a request that does not come from a form of this server's pages in a browser
// that is logged in. checkEntry accepts requests without an Origin header, which programs send.
func (s *Server) requireOwnPage(r *http.Request, by authMethod) error {
	origin := r.Header.Get("Origin")
	if by == byCookie && (origin != "" && s.ownOrigin(r, origin) || r.Header.Get("Sec-Fetch-Site") == "same-origin") {
		return nil
	}
	s.log.Warn("rejected a change of the configuration that does not come from the page", "path", r.URL.Path)
	return newFailure(http.StatusForbidden, "login_required", "open the page with `hob open`, or use hob config set in a terminal", "only the page in your browser can save settings")
}

// routeID returns a name for a route made of its path.
func routeID(method, path string) string {
	id := []byte(url.PathEscape(path[1:]))
	for i, c := range id {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			id[i] = '_'
		}
	}
	if method == http.MethodPost {
		return "post_" + string(id)
	}
	return string(id)
}

// writePageError responds to a browser with an error as a page.
func (s *Server) writePageError(w http.ResponseWriter, r *http.Request, err error) {
	f := failureOf(err)
	if f.Status >= 500 && r.Context().Err() == nil {
		s.log.Error("page failed", "method", r.Method, "path", r.URL.Path, "status", f.Status, "error", err)
	}
	p := dashboard.Problem{Status: f.Status, Message: f.Message, Remedy: f.Remedy, Password: s.opt.Password != ""}
	if err := s.pages.WriteProblem(w, r, p); err != nil {
		s.writeError(w, r, err)
	}
}
