package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
)

// fire takes what another program sends to a trigger. The proof is the owner's
// token, or X-Hob-Signature: "sha256=" and the hex HMAC-SHA256 of the body
// under the trigger's secret. The body becomes outside text either way.
func (s *Server) fire(w http.ResponseWriter, r *http.Request) error {
	id, sig := r.PathValue("trigger"), r.Header.Get("X-Hob-Signature")
	var body []byte
	if sig == "" {
		if _, err := s.proof(r, false); err != nil {
			return err
		}
	}
	body, err := s.raw(w, r)
	if err != nil {
		return err
	}
	if sig != "" {
		if err := s.signed(r, id, sig, body); err != nil {
			return err
		}
	}
	acc, err := s.backend.Fire(r.Context(), id, triggerKey(r, sig != "", body), body)
	if err != nil {
		return err
	}
	s.reply(w, http.StatusAccepted, struct {
		Event    string `json:"event"`
		Repeated bool   `json:"repeated"`
	}{acc.Event, acc.Repeated})
	return nil
}

// signed checks a signature. Whoever has none that fits does not learn whether
// there is such a trigger.
func (s *Server) signed(r *http.Request, id, sig string, body []byte) error {
	secret, err := s.backend.TriggerSecret(id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	known := err == nil && len(secret) > 0
	if !known {
		secret = s.token[:] // so that it takes as long
	}
	if ok := validSignature(sig, secret, body); !ok || !known {
		return s.doors.failed(r, fail(http.StatusUnauthorized, "bad_signature",
			"sign the exact bytes of the body with the trigger's secret: X-Hob-Signature: sha256=hex(HMAC-SHA256)", "the signature does not fit"))
	}
	return nil
}

func validSignature(sig string, secret, body []byte) bool {
	algorithm, digits, _ := strings.Cut(strings.TrimSpace(sig), "=")
	got, err := hex.DecodeString(digits)
	if err != nil || !strings.EqualFold(algorithm, "sha256") {
		return false
	}
	m := hmac.New(sha256.New, secret)
	m.Write(body)
	return hmac.Equal(got, m.Sum(nil))
}

// triggerKey is by what a second copy is known: the sender's id of the request,
// or for a signed body, which somebody may have recorded, the body itself. The
// owner without an id means each call.
func triggerKey(r *http.Request, signed bool, body []byte) string {
	for _, h := range []string{"Idempotency-Key", "X-Request-Id"} {
		if v := r.Header.Get(h); v != "" {
			sum := sha256.Sum256([]byte(v))
			return "id:" + hex.EncodeToString(sum[:])
		}
	}
	if signed {
		sum := sha256.Sum256(body)
		return "body:" + hex.EncodeToString(sum[:])
	}
	return "call:" + rand.Text()
}
