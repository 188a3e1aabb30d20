package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// newLogin creates a one-time link that gives a browser its cookie.
func (s *Server) newLogin(_ *http.Request, _ call, in LinkRequest) (LoginLink, error) {
	code, ends, ok := s.doors.newCode(time.Now(), in.Here)
	if !ok {
		return LoginLink{}, newFailure(http.StatusTooManyRequests, "too_many_links", "use one of them or wait two minutes", "there are %d unused login links", maxCodes)
	}
	return LoginLink{URL: s.URL() + "/login?code=" + code, ExpiresAt: ends.UTC()}, nil
}

// LoginLink creates a one-time link for a caller in this process, which must pass it only to the
// owner's browser on this machine. It returns "" if too many links are unused.
func (s *Server) LoginLink() string {
	code, _, ok := s.doors.newCode(time.Now(), true)
	if !ok {
		return ""
	}
	return s.URL() + "/login?code=" + code
}

// useLogin redeems a login link. An invalid link also leads to the page, which shows the next step.
func (s *Server) useLogin(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodHead {
		return nil // a preview of the link must not redeem it
	}
	if err := s.refuseUntrustedPeer(r, true); err != nil {
		return err
	}
	code := r.URL.Query().Get("code")
	if code == "" || !s.doors.useCode(code, time.Now(), sameMachine(r)) {
		if code != "" {
			if f := failureOf(s.doors.countFailure(r, invalidFailure("used"))); f.Status == http.StatusTooManyRequests {
				return f
			}
		}
		http.Redirect(w, r, "/chat?failed", http.StatusSeeOther)
		return nil
	}
	http.SetCookie(w, s.newCookie(r, time.Now()))
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

// sameMachine reports whether a connection comes from the server's own address or from loopback.
// This includes connections from a proxy on this machine.
func sameMachine(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	if from.Addr().Unmap().IsLoopback() {
		return true
	}
	to, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(to.String())
	return err == nil && at.Addr().Unmap() == from.Addr().Unmap()
}

// passwordLogin gives a browser its cookie in exchange for the password, if one is set. The page
// sends a form.
func (s *Server) passwordLogin(w http.ResponseWriter, r *http.Request) error {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/x-www-form-urlencoded" {
		if err := s.checkPassword(w, r, func(in *PasswordRequest) error { return s.readJSONBody(w, r, in) }); err != nil {
			return err
		}
		s.writeJSON(w, http.StatusOK, struct{}{})
		return nil
	}
	err := s.checkPassword(w, r, func(in *PasswordRequest) error {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // in-process requests have no deadline
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		in.Password = r.PostFormValue("password")
		return nil
	})
	if err != nil {
		s.writePageError(w, r, err)
		return nil
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

// checkPassword sets the login cookie if the request contains the password.
func (s *Server) checkPassword(w http.ResponseWriter, r *http.Request, read func(*PasswordRequest) error) error {
	if s.opt.Password == "" {
		return newFailure(http.StatusNotFound, "not_found", "run `hob open`", "no password is set, so the page needs a login link")
	}
	if err := s.refuseUntrustedPeer(r, true); err != nil {
		return err
	}
	if wait := s.doors.lockTime(r); wait > 0 {
		f := newFailure(http.StatusTooManyRequests, "too_many_attempts", "wait a minute", "too many failed attempts from this address")
		f.After = wait
		return f
	}
	var in PasswordRequest
	if err := read(&in); err != nil {
		return err
	}
	got, want := sha256.Sum256([]byte(in.Password)), sha256.Sum256([]byte(s.opt.Password))
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return s.doors.countFailure(r, newFailure(http.StatusUnauthorized, "password_required", "", "the password is wrong"))
	}
	http.SetCookie(w, s.newCookie(r, time.Now()))
	return nil
}
