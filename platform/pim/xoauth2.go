package pim

import (
	"errors"
	"fmt"

	"github.com/emersion/go-sasl"
)

// XOAuth2 signs in with an OAuth 2 access token, as Google and Microsoft want it
// (https://developers.google.com/gmail/imap/xoauth2-protocol).
func XOAuth2(user, token string) sasl.Client { return &xoauth2{user: user, token: token} }

type xoauth2 struct {
	user, token string
	told        bool
}

// Start implements sasl.Client.
func (x *xoauth2) Start() (string, []byte, error) {
	return "XOAUTH2", fmt.Appendf(nil, "user=%s\x01auth=Bearer %s\x01\x01", x.user, x.token), nil
}

// Next implements sasl.Client. A challenge is the reason of a refusal; an empty
// answer lets the server say no.
func (x *xoauth2) Next([]byte) ([]byte, error) {
	if x.told {
		return nil, errors.New("xoauth2: unexpected second challenge from the server")
	}
	x.told = true
	return []byte{}, nil
}
