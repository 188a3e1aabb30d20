// Package account adds an account: it fills in the account's servers, tests the password, and
// returns the configuration. `hob account add` and `hob setup` use it. platform/pim/signin finds
// the servers and signs in to them.
package account

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/pim"
	pimall "hob/platform/pim/all"
	"hob/platform/pim/signin"
)

// New is an account to add.
type New struct {
	config.Account
	// Given lists the servers that the user named. All of them must work.
	Given []string
}

// Fill sets the servers that the user did not name to the servers that were found.
func (n *New) Fill(s signin.Found) {
	if n.Auth == "" {
		n.Auth = s.Auth
	}
	for _, kind := range pimall.Keys() {
		switch found := s.Servers[kind]; {
		case n.Server(kind) != "":
			n.Given = append(n.Given, kind)
		case found != "":
			n.Account.Account = n.With(kind, found)
		}
	}
}

// Name returns an unused account name.
func Name(address, provider string, taken []config.Account) string {
	name := cmp.Or(provider, signin.ProviderLabel(address), "mail")
	is := func(n string) bool {
		return slices.ContainsFunc(taken, func(a config.Account) bool { return a.Name == n })
	}
	out := name
	for i := 2; is(out); i++ {
		out = fmt.Sprintf("%s-%d", name, i)
	}
	return out
}

// ServerError says which server of an account does not work.
type ServerError struct {
	Server string // for example "mail (imap.example.org)"
	Err    error
}

func (e *ServerError) Error() string { return e.Server + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ServerError) Unwrap() error { return e.Err }

// describeServer returns the label of a kind of server, and the address.
func describeServer(kind, address string) string {
	for _, d := range pimall.Descriptions() {
		if d.Key == kind {
			return d.Label + " (" + address + ")"
		}
	}
	return address
}

// ErrNone means that no server of an account works.
var ErrNone = errors.New("cannot sign in to any of the account's servers")

// Try signs in with a secret. At least one server must work, including every server that the user
// named, and no essential server may reject the secret. Other servers that do not work are dropped.
// said describes the result for each server.
func (n *New) Try(ctx context.Context, secret string) (said []string, err error) {
	for _, d := range pimall.Descriptions() {
		if d.Complete != nil && n.Server(d.Key) != "" {
			n.Account.Account = n.With(d.Key, d.Complete(ctx, n.Account.Account))
		}
	}
	a := n.Account.Account
	a.Secret = func(context.Context) (string, error) { return secret, nil }
	works := 0
	var bad []error
	var drop []string // removed only if the other servers work, because the next try may use a different password
	for _, x := range signin.Check(ctx, a) {
		switch {
		case x.Err == nil:
			works++
			said = append(said, x.Server+": "+x.Said)
		case slices.Contains(n.Given, x.Server) || x.Refused() && x.Essential:
			bad = append(bad, &ServerError{Server: describeServer(x.Server, n.Server(x.Server)), Err: x.Err})
		default:
			said = append(said, x.Server+": skipped because it does not work: "+x.Err.Error())
			drop = append(drop, x.Server)
		}
	}
	if len(bad) > 0 {
		return said, errors.Join(bad...)
	}
	if works == 0 {
		return said, fmt.Errorf("%w: %s", ErrNone, strings.Join(said, "; "))
	}
	for _, kind := range drop {
		delete(n.Account.Servers, kind)
	}
	return said, nil
}

// Remedy says what to do after Try failed. hint is what the provider requires, or empty.
func Remedy(err error, hint string) string {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case certificate:
		return "if the server belongs to you or your company, name the file of its certificate: hob account add ADDRESS --ca FILE"
	case errors.Is(err, pim.ErrSignIn):
		return cmp.Or(hint, "check the password and the user name; many providers require an app password")
	}
	return "check the name and the port of the server, and the connection"
}

// SecretName returns the name under which an account's password is stored.
func SecretName(account string) string { return "account-" + account }

// Keep stores the password and returns the configuration changes, which never contain a password.
func (n *New) Keep(ctx context.Context, s system.Secrets, secret string) ([]config.Value, error) {
	if !system.IsReference(secret) {
		if err := s.Store(ctx, SecretName(n.Name), system.Secret(secret)); err != nil {
			return nil, fmt.Errorf("store the password of %s: %w", n.Name, err)
		}
		secret = "keychain:" + SecretName(n.Name)
	}
	var keys [][2]string
	for _, kind := range pimall.Keys() {
		keys = append(keys, [2]string{kind, n.Server(kind)})
	}
	var out []config.Value
	for _, x := range append(keys, [][2]string{
		{"address", n.Address}, {"user", n.User}, {"auth", n.Auth}, {"ca", n.CA}, {"password", secret},
	}...) {
		if x[1] != "" {
			out = append(out, config.Value{Key: "accounts." + n.Name + "." + x[0], Value: x[1]})
		}
	}
	return out, nil
}
