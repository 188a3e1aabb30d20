package web

import (
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"hob/autonomy/api"
	"hob/platform/net/hooksig"
)

// serveTrigger accepts a request to a trigger. The proof is the owner's token or a signature
// (platform/net/hooksig). In both cases the body becomes untrusted text.
func (s *Server) serveTrigger(w http.ResponseWriter, r *http.Request) error {
	id, sig := r.PathValue("trigger"), r.Header.Get(hooksig.Header)
	if sig == "" {
		if _, _, err := s.checkProof(r, false); err != nil {
			return err
		}
	}
	body, err := s.readRawBody(w, r)
	if err != nil {
		return err
	}
	key := ownKey(r)
	if sig != "" {
		if key, err = s.checkSignature(r, id, body); err != nil {
			return err
		}
	}
	fired, err := s.backend.Fire(r.Context(), id, key, body)
	if err != nil {
		return err
	}
	s.writeJSON(w, http.StatusAccepted, fired)
	return nil
}

// checkSignature checks a signature and returns the deduplication key of the request. A caller
// without a valid signature cannot find out whether the trigger exists.
func (s *Server) checkSignature(r *http.Request, id string, body []byte) (string, error) {
	secret, err := s.backend.TriggerSecret(id)
	if err != nil && !errors.Is(err, api.ErrNotFound) {
		return "", err
	}
	known := err == nil && len(secret) > 0
	if !known {
		secret = s.cred.Load().hash[:] // a dummy, so that the check takes as long as for a known trigger
	}
	p, err := hooksig.Read(r.Header, secret, body, time.Now())
	switch {
	case errors.Is(err, hooksig.ErrTime):
		return "", s.doors.countFailure(r, newFailure(http.StatusUnauthorized, "bad_timestamp", "send the whole seconds since 1970 in UTC", "%v", err))
	case errors.Is(err, hooksig.ErrOldFormat):
		return "", s.doors.countFailure(r, newFailure(http.StatusUnauthorized, "old_signature", hooksig.Remedy, "%v", err))
	case err != nil:
		return "", s.doors.countFailure(r, newFailure(http.StatusUnauthorized, "bad_key", "send an Idempotency-Key of at most 200 characters without a dot, such as a UUID, and sign it", "%v", err))
	case !p.Fits || !known:
		return "", s.doors.countFailure(r, badSignature())
	case p.Stale:
		return "", newFailure(http.StatusUnauthorized, "stale_timestamp", "sign with the time of sending, and check both clocks", "the timestamp is more than 5 minutes off")
	}
	return p.ID, nil
}

func badSignature() *failure {
	return newFailure(http.StatusUnauthorized, "bad_signature",
		"use the trigger's secret; "+hooksig.Remedy, "the signature is not valid")
}

// ownKey returns the deduplication key of a call by the owner, which is the id of the request.
// Without an id, every call fires the trigger.
func ownKey(r *http.Request) string {
	for _, h := range []string{"Idempotency-Key", "X-Request-Id"} {
		if v := r.Header.Get(h); v != "" {
			return hooksig.Digest("id:", []byte(v))
		}
	}
	return "call:" + rand.Text()
}
