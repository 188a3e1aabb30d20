package web

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
)

// credential is the owner's token on the server. All proofs, including cookies, derive from it
// and end with it.
type credential struct {
	hash [sha256.Size]byte
	// valid ends when the token is revoked, which ends all open requests.
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
	stop := context.AfterFunc(c.valid, func() { cancel(errRevoked) }) //nolint:contextcheck // what ends the request is the credential's end
	return r.WithContext(ctx), func() {
		stop()
		cancel(nil)
	}
}
