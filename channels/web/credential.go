package web

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
)

// credential is the owner's token as the server knows it. Every proof, that of
// a cookie as well, rests on it, and ends with it.
type credential struct {
	hash [sha256.Size]byte
	// valid ends when the token is revoked, and with it whatever is still open.
	valid  context.Context
	revoke context.CancelCauseFunc
}

// errRevoked is why a request ends whose token was replaced.
var errRevoked = errors.New("the token was replaced")

func newCredential(token string) *credential {
	c := &credential{hash: sha256.Sum256([]byte(token))}
	c.valid, c.revoke = context.WithCancelCause(context.Background())
	return c
}

// Rotate replaces the token. From then on the old one, the cookies that were
// made from it and the unused login links are worth nothing, and streams that
// were opened with them end.
func (s *Server) Rotate(token string) error {
	if len(token) < minToken {
		return errShortToken
	}
	old := s.cred.Swap(newCredential(token))
	s.doors.forget()
	old.revoke(errRevoked)
	return nil
}

// while gives a request a context that also ends when its proof does.
func while(r *http.Request, c *credential) (*http.Request, func()) {
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(c.valid, func() { cancel(errRevoked) }) //nolint:contextcheck // what ends the request is the credential's end
	return r.WithContext(ctx), func() {
		stop()
		cancel(nil)
	}
}
