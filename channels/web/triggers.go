package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// window is how far the clock of who signs may be off: an older request may be
// somebody's recording.
const window = 5 * time.Minute

// fire takes what another program sends to a trigger. The proof is the owner's
// token, or a signature (see proven). The body becomes outside text either way.
func (s *Server) fire(w http.ResponseWriter, r *http.Request) error {
	id, sig := r.PathValue("trigger"), r.Header.Get("X-Hob-Signature")
	if sig == "" {
		if _, _, err := s.proof(r, false); err != nil {
			return err
		}
	}
	body, err := s.raw(w, r)
	if err != nil {
		return err
	}
	key := ownKey(r)
	if sig != "" {
		if key, err = s.signed(r, id, sig, body); err != nil {
			return err
		}
	}
	acc, err := s.backend.Fire(r.Context(), id, key, body)
	if err != nil {
		return err
	}
	s.reply(w, http.StatusAccepted, struct {
		Event    string `json:"event"`
		Repeated bool   `json:"repeated"`
	}{acc.Event, acc.Repeated})
	return nil
}

// signed checks a signature and returns by what a second copy of the request is
// known. Whoever has none that fits does not learn whether there is such a
// trigger.
func (s *Server) signed(r *http.Request, id, sig string, body []byte) (string, error) {
	secret, err := s.backend.TriggerSecret(id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", err
	}
	known := err == nil && len(secret) > 0
	if !known {
		secret = s.cred.Load().hash[:] // so that it takes as long
	}
	p, f := proven(r.Header, sig, secret, body)
	switch {
	case !p.fits || !known:
		if f == nil {
			f = fail(http.StatusUnauthorized, "bad_signature",
				"sign timestamp.key.body with the trigger's secret: X-Hob-Signature: v1=hex(HMAC-SHA256), X-Hob-Timestamp: seconds since 1970; see docs/triggers.md", "the signature does not fit")
		}
		return "", s.doors.failed(r, f)
	case p.stamped && time.Since(p.at).Abs() > window:
		return "", fail(http.StatusUnauthorized, "stale_timestamp", "sign with the time of sending, and check both clocks", "the timestamp is more than 5 minutes off")
	}
	return p.key, nil
}

// proof is what a signature shows.
type proof struct {
	fits    bool
	stamped bool // the request says when it was made, and that is signed
	at      time.Time
	key     string // by which a second copy is known
}

// proven looks whether a signature fits its request. There are two forms.
//
// With X-Hob-Timestamp, "v1=" and the hex HMAC-SHA256 of timestamp.key.body: the
// seconds since 1970, the Idempotency-Key (or nothing) and the body. The key has
// no dot, so that no text can be read in two ways. A recording is worth nothing
// after the window, and within it is the same request.
//
// Without, "sha256=" and that of the body alone, as many programs send it. There
// the body is all that is proven, and so by what a copy is known: the same body
// counts once, whatever key somebody puts beside it.
func proven(h http.Header, sig string, secret, body []byte) (proof, *failure) {
	stamp, id := h.Get("X-Hob-Timestamp"), h.Get("Idempotency-Key")
	if stamp == "" {
		return proof{fits: validSignature(sig, "sha256", secret, body), key: digest("body:", body)}, nil
	}
	n, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || n < 0 || n > 1<<40 || strconv.FormatInt(n, 10) != stamp {
		return proof{}, fail(http.StatusUnauthorized, "bad_timestamp", "send the whole seconds since 1970 in UTC", "X-Hob-Timestamp is no time")
	}
	if strings.Contains(id, ".") || len(id) > 200 {
		return proof{}, fail(http.StatusUnauthorized, "bad_key", "use at most 200 characters without a dot, such as a UUID", "the Idempotency-Key cannot be signed")
	}
	text := []byte(stamp + "." + id + ".")
	p := proof{stamped: true, at: time.Unix(n, 0), key: digest("id:", []byte(id))}
	text = append(text, body...)
	if id == "" {
		p.key = digest("sent:", text)
	}
	p.fits = validSignature(sig, "v1", secret, text)
	return p, nil
}

func digest(kind string, b []byte) string {
	sum := sha256.Sum256(b)
	return kind + hex.EncodeToString(sum[:])
}

func validSignature(sig, form string, secret, text []byte) bool {
	got, digits, _ := strings.Cut(strings.TrimSpace(sig), "=")
	sum, err := hex.DecodeString(digits)
	if err != nil || !strings.EqualFold(got, form) {
		return false
	}
	m := hmac.New(sha256.New, secret)
	m.Write(text)
	return hmac.Equal(sum, m.Sum(nil))
}

// ownKey is by what a second copy of the owner's own call is known: his id of
// the request. Without one he means each call.
func ownKey(r *http.Request) string {
	for _, h := range []string{"Idempotency-Key", "X-Request-Id"} {
		if v := r.Header.Get(h); v != "" {
			return digest("id:", []byte(v))
		}
	}
	return "call:" + rand.Text()
}
