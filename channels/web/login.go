package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"time"
)

// newLogin makes a one-time link with which a browser gets its cookie.
func (s *Server) newLogin(w http.ResponseWriter, r *http.Request, _ surface) error {
	var in struct{}
	if err := s.body(w, r, &in); err != nil {
		return err
	}
	code, ends, ok := s.doors.newCode(time.Now())
	if !ok {
		return fail(http.StatusTooManyRequests, "too_many_links", "use one of them, or wait two minutes", "there are %d unused login links", maxCodes)
	}
	s.reply(w, http.StatusOK, struct {
		URL     string    `json:"url"`
		Expires time.Time `json:"expires_at"`
	}{s.URL() + "/login?code=" + code, ends.UTC()})
	return nil
}

// useLogin spends a login link. A bad one leads to the page too, which says
// what to do.
func (s *Server) useLogin(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodHead {
		return nil // a preview of the link does not spend it
	}
	if err := s.known(r, true); err != nil {
		return err
	}
	code := r.URL.Query().Get("code")
	if code == "" || !s.doors.useCode(code, time.Now()) {
		if code != "" {
			if f := failureOf(s.doors.failed(r, invalid("used"))); f.Status == http.StatusTooManyRequests {
				return f
			}
		}
		http.Redirect(w, r, "/#login-failed", http.StatusSeeOther)
		return nil
	}
	http.SetCookie(w, s.newCookie(r, time.Now()))
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

// passwordLogin gives a browser its cookie for the password, where one is set.
func (s *Server) passwordLogin(w http.ResponseWriter, r *http.Request) error {
	if s.opt.Password == "" {
		return fail(http.StatusNotFound, "not_found", "run `hob open`", "there is no password; Hob is opened by a login link")
	}
	if err := s.known(r, true); err != nil {
		return err
	}
	if wait := s.doors.locked(r); wait > 0 {
		f := fail(http.StatusTooManyRequests, "too_many_attempts", "wait a minute", "too many failed attempts from this address")
		f.After = wait
		return f
	}
	var in struct {
		Password string `json:"password"`
	}
	if err := s.body(w, r, &in); err != nil {
		return err
	}
	got, want := sha256.Sum256([]byte(in.Password)), sha256.Sum256([]byte(s.opt.Password))
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return s.doors.failed(r, fail(http.StatusUnauthorized, "password_required", "", "the password is wrong"))
	}
	http.SetCookie(w, s.newCookie(r, time.Now()))
	s.reply(w, http.StatusOK, struct{}{})
	return nil
}
