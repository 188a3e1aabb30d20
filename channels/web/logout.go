package web

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/platform/host/system"
)

// logouts stores the logins that their users have ended, until their cookies expire. It is next to
// the token, so that a restart does not revive them.
type logouts struct {
	mu     sync.Mutex
	file   string // "" keeps them only in memory
	loaded bool
	ended  map[string]int64 // id of a cookie -> expiry in seconds since 1970
}

// cookieID returns the random part and the expiry time of a valid cookie.
func cookieID(value string) (id string, ends int64) {
	b, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(b) < 24 {
		return "", 0
	}
	return hex.EncodeToString(b[:16]), int64(binary.BigEndian.Uint64(b[16:24]))
}

// hasEnded reports whether the login with a cookie was ended. If that cannot be determined, it
// returns an error, and the cookie must be rejected.
func (l *logouts) hasEnded(cookie string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.loadFile(); err != nil {
		return false, err
	}
	id, _ := cookieID(cookie)
	_, ok := l.ended[id]
	return ok, nil
}

// endLogin ends the login with a valid cookie.
func (l *logouts) endLogin(cookie string, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.loadFile(); err != nil {
		return err
	}
	id, ends := cookieID(cookie)
	l.ended[id] = ends
	var b strings.Builder
	for id, ends := range l.ended {
		if ends < now.Unix() {
			delete(l.ended, id)
			continue
		}
		fmt.Fprintln(&b, id, ends)
	}
	if l.file == "" {
		return nil
	}
	if err := system.WriteFile(l.file, []byte(b.String())); err != nil {
		return fmt.Errorf("web: store the end of the login: %w", err)
	}
	return nil
}

// loadFile reads the file once. The caller holds l.mu.
func (l *logouts) loadFile() error {
	if l.loaded {
		return nil
	}
	l.ended = map[string]int64{}
	if l.file != "" {
		b, err := os.ReadFile(l.file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("web: read the ended logins: %w; remove %s and log in again", err, l.file)
		}
		for line := range strings.Lines(string(b)) {
			id, ends, _ := strings.Cut(strings.TrimSpace(line), " ")
			if n, err := strconv.ParseInt(ends, 10, 64); err == nil {
				l.ended[id] = n
			}
		}
	}
	l.loaded = true
	return nil
}

// logoutsFile returns the path of the file beside the token.
func logoutsFile(tokenFile string) string {
	return filepath.Join(filepath.Dir(tokenFile), "logouts")
}

// logOut ends the login of the browser that sent the request, and no other one.
func (s *Server) logOut(w http.ResponseWriter, r *http.Request, _ call) error {
	if c, err := r.Cookie(s.cookieName(r)); err == nil {
		if err := s.logouts.endLogin(c.Value, time.Now()); err != nil {
			return err
		}
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(r), Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.opt.TLS != nil})
	http.Redirect(w, r, "/chat", http.StatusSeeOther)
	return nil
}
