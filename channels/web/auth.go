package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

const (
	codeTime    = 2 * time.Minute
	cookieTime  = 30 * 24 * time.Hour
	maxCodes    = 64
	maxFailures = 30 // failed attempts per address and minute
	maxPlaces   = 1024
)

// authMethod is the way in which a request was authenticated as the owner's.
type authMethod string

const (
	byToken  authMethod = "token"
	byCookie authMethod = "cookie"
)

// checkProof checks that a request comes from the owner and not from a program started by Hob. Such
// a program runs under the owner's account and could read the token.
func (s *Server) checkProof(r *http.Request, grave bool) (authMethod, *credential, error) {
	c := s.cred.Load()
	by, err := s.checkCredential(r, c)
	if err == nil {
		err = s.refuseUntrustedPeer(r, grave)
	}
	if at, ok := r.Context().Value(connKey{}).(*connection); ok && err == nil {
		markProven(at.conn)
	}
	return by, c, err
}

func (s *Server) checkCredential(r *http.Request, cred *credential) (authMethod, error) {
	if h := r.Header.Get("Authorization"); h != "" {
		if scheme, token, _ := strings.Cut(h, " "); strings.EqualFold(scheme, "Bearer") && cred.isToken(strings.TrimSpace(token)) {
			return byToken, nil
		}
		return "", s.doors.countFailure(r, newFailure(http.StatusUnauthorized, "unauthorised", "use the token in the file HOB_HOME/token", "the token is wrong"))
	}
	c, err := r.Cookie(s.cookieName(r))
	if err == nil && cred.isCookie(c.Value, time.Now()) {
		ended, err := s.logouts.hasEnded(c.Value)
		if err == nil && !ended {
			return byCookie, nil
		}
		if err != nil {
			s.log.Error("rejected a login cookie", "error", err)
		}
	}
	f := newFailure(http.StatusUnauthorized, "unauthorised", "run `hob open`, or send the token from the file HOB_HOME/token as Authorization: Bearer", "this request needs the token of this Hob")
	if s.opt.Password != "" {
		f.Code = "password_required"
	}
	if err != nil {
		return "", f // no credential was sent, so this is not a failed attempt
	}
	return "", s.doors.countFailure(r, f)
}

func (c *credential) isToken(token string) bool {
	got := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], c.hash[:]) == 1
}

// cookieName returns the cookie name. It contains the port, because browsers share cookies between
// the ports of one host.
func (s *Server) cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		return "hob"
	}
	return "hob_" + port
}

// newCookie returns a login cookie. It consists of 16 random bytes, its expiry time, and an HMAC
// over both with a key derived from the token. It survives restarts, and a new token invalidates
// it.
func (s *Server) newCookie(r *http.Request, now time.Time) *http.Cookie {
	b := make([]byte, 24, 24+sha256.Size)
	_, _ = rand.Read(b[:16]) // crypto/rand never fails
	binary.BigEndian.PutUint64(b[16:], uint64(now.Add(cookieTime).Unix()))
	return &http.Cookie{
		Name: s.cookieName(r), Value: base64.RawURLEncoding.EncodeToString(append(b, s.cred.Load().cookieMAC(b)...)), Path: "/",
		MaxAge: int(cookieTime / time.Second), HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.opt.TLS != nil,
	}
}

func (c *credential) cookieMAC(b []byte) []byte {
	m := hmac.New(sha256.New, c.hash[:])
	m.Write([]byte("hob login cookie 1\x00"))
	m.Write(b)
	return m.Sum(nil)
}

func (c *credential) isCookie(value string, now time.Time) bool {
	b, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(b) != 24+sha256.Size || !hmac.Equal(b[24:], c.cookieMAC(b[:24])) {
		return false
	}
	return now.Unix() < int64(binary.BigEndian.Uint64(b[16:24]))
}

// loginGuard stores login codes and counts failed attempts.
type loginGuard struct {
	mu    sync.Mutex
	codes map[[sha256.Size]byte]loginCode // keyed by the hash of a code
	fails map[string]*failures            // keyed by address
}

type failures struct {
	n     int
	since time.Time
}

func (d *loginGuard) init() {
	d.codes = map[[sha256.Size]byte]loginCode{}
	d.fails = map[string]*failures{}
}

// loginCode is the data of a login code.
type loginCode struct {
	ends time.Time
	here bool // valid only on this machine
}

// newCode returns a login code that works once within 2 minutes. If here is set, the code is valid
// only on this machine. It is for a browser started with the code: other users of the machine can
// see the browser's arguments, but their requests are rejected.
func (d *loginGuard) newCode(now time.Time, here bool) (code string, ends time.Time, ok bool) {
	b := make([]byte, 32)
	_, _ = rand.Read(b)
	code, ends = hex.EncodeToString(b), now.Add(codeTime)
	d.mu.Lock()
	defer d.mu.Unlock()
	for h, c := range d.codes {
		if !now.Before(c.ends) {
			delete(d.codes, h)
		}
	}
	if len(d.codes) >= maxCodes {
		return "", ends, false
	}
	d.codes[sha256.Sum256([]byte(code))] = loginCode{ends, here}
	return code, ends, true
}

// useCode redeems a code. here is whether the request comes from this machine.
func (d *loginGuard) useCode(code string, now time.Time, here bool) bool {
	h := sha256.Sum256([]byte(code))
	d.mu.Lock()
	defer d.mu.Unlock()
	c, ok := d.codes[h]
	if c.here && !here {
		return false
	}
	delete(d.codes, h)
	return ok && now.Before(c.ends)
}

// countFailure counts a failed attempt and returns f, or status 429 after too many failures. A
// correct token is never delayed, so an attacker cannot lock the owner out.
func (d *loginGuard) countFailure(r *http.Request, f *failure) error {
	if wait := d.addFailures(clientNetwork(r), 1, time.Now()); wait > 0 {
		f = newFailure(http.StatusTooManyRequests, "too_many_attempts", "wait a minute and use the right token", "too many failed attempts from this address")
		f.After = wait
	}
	return f
}

// lockTime returns how long an address must wait before it may try a password.
func (d *loginGuard) lockTime(r *http.Request) time.Duration {
	return d.addFailures(clientNetwork(r), 0, time.Now())
}

// addFailures adds failures for an address and returns how long the address is locked out.
func (d *loginGuard) addFailures(addr string, n int, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := d.fails[addr]
	if x == nil || now.Sub(x.since) >= time.Minute {
		if n == 0 {
			return 0
		}
		if len(d.fails) >= maxPlaces {
			d.dropOldest()
		}
		x = &failures{since: now}
		d.fails[addr] = x
	}
	x.n += n
	if x.n > maxFailures {
		return x.since.Add(time.Minute).Sub(now)
	}
	return 0
}

// dropOldest removes an entry to make room for another address. The caller holds d.mu.
func (d *loginGuard) dropOldest() {
	var oldest string
	for addr, x := range d.fails {
		if oldest == "" || x.since.Before(d.fails[oldest].since) {
			oldest = addr
		}
	}
	delete(d.fails, oldest)
}

// forgetLoginCodes invalidates the unused login links.
func (d *loginGuard) forgetLoginCodes() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.codes)
}

func clientNetwork(r *http.Request) string {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return networkOfAddr(ap.Addr())
}

// credential is the owner's token on the server. All proofs, including cookies, derive from it and
// become invalid with it.
type credential struct {
	hash [sha256.Size]byte
	// valid ends when the token is revoked. This ends all open requests.
	valid  context.Context
	revoke context.CancelCauseFunc
}

// errRevoked is the cancel cause of requests whose token was replaced.
var errRevoked = errors.New("the token was replaced")

func newCredential(token string) *credential {
	c := &credential{hash: sha256.Sum256([]byte(token))}
	c.valid, c.revoke = context.WithCancelCause(context.Background())
	return c
}

// Rotate replaces the token. The old token, the cookies derived from it and the unused login
// links become invalid, and streams opened with them end.
func (s *Server) Rotate(token string) error {
	if len(token) < minToken {
		return errShortToken
	}
	old := s.cred.Swap(newCredential(token))
	s.doors.forgetLoginCodes()
	old.revoke(errRevoked)
	return nil
}

// withProofLifetime returns the request with a context that also ends when its proof becomes invalid.
func withProofLifetime(r *http.Request, c *credential) (*http.Request, func()) {
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(c.valid, func() { cancel(errRevoked) }) //nolint:contextcheck // the end of the credential ends the request
	return r.WithContext(ctx), func() {
		stop()
		cancel(nil)
	}
}
