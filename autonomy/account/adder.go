package account

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/pim"
	pimall "hob/platform/pim/all"
	"hob/platform/pim/signin"
)

// Adder adds accounts that the user enters in a form of the page. It implements
// service.AccountAdder.
type Adder struct {
	Paths   system.Paths
	Secrets system.Secrets
	DNS     signin.Resolver
}

// maxTrustRounds is the number of sign-ins for one account. A server that shows another certificate
// each time fails.
const maxTrustRounds = 3

// TryTrusting signs in as Try does, and makes the account trust the certificates with the given fingerprints. If
// it fails because no known authority signed other certificates, unknown lists them.
func (n *New) TryTrusting(ctx context.Context, p system.Paths, secret string, trusted []string) (said []string, unknown []Certificate, err error) {
	for range maxTrustRounds {
		said, err = n.Try(ctx, secret)
		all := listUnknown(err)
		unknown = slices.DeleteFunc(slices.Clone(all), func(c Certificate) bool { return slices.Contains(trusted, c.Fingerprint()) })
		if len(all) == 0 || len(unknown) > 0 {
			return said, unknown, err
		}
		if err := n.trustCertificates(p, all); err != nil {
			return said, nil, err
		}
	}
	return said, nil, err
}

// SignIn implements service.AccountAdder.
func (a Adder) SignIn(ctx context.Context, now *config.Config, in api.NewMailAccount) ([]config.Value, api.AddedMailAccount, error) {
	n, hint, err := a.newAccount(ctx, now, in)
	if err != nil {
		return nil, api.AddedMailAccount{}, fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	out := api.AddedMailAccount{Name: n.Name}
	if in.Password == "" {
		return nil, out, fmt.Errorf("%w: password is empty; enter the password of the account", api.ErrInvalid)
	}
	var unknown []Certificate
	out.Said, unknown, err = n.TryTrusting(ctx, a.Paths, in.Password, in.Trust)
	for _, c := range unknown {
		out.Unknown = append(out.Unknown, api.Certificate{Server: c.Servers, Subject: c.subjectLine(), Fingerprint: c.Fingerprint(), Expires: c.NotAfter.Format("2 January 2006")})
	}
	if len(unknown) > 0 {
		return nil, out, nil
	}
	if err != nil {
		return nil, out, fmt.Errorf("%w: %w; %s", api.ErrInvalid, err, Remedy(err, hint))
	}
	values, err := n.Keep(ctx, a.Secrets, in.Password)
	return values, out, err
}

// newAccount returns the account with the servers that the user named, or those that were found.
func (a Adder) newAccount(ctx context.Context, now *config.Config, in api.NewMailAccount) (*New, string, error) {
	n := &New{Account: config.Account{Account: pim.Account{Address: strings.TrimSpace(in.Address), User: strings.TrimSpace(in.User), Servers: pim.Servers{}}}}
	for kind, server := range in.Servers {
		if server = strings.TrimSpace(server); server != "" && slices.Contains(pimall.Keys(), kind) {
			n.Servers[kind] = server
		}
	}
	dns := a.DNS
	if len(n.Servers) > 0 { // the user named servers, so do not look up others
		dns = nil
	}
	found, err := signin.Find(ctx, n.Address, dns)
	switch {
	case err != nil:
		return nil, "", err
	case dns != nil && found.Foreign != "":
		return nil, "", fmt.Errorf("the domain of %s points to servers in another domain: %s; if this is your provider, enter its servers", n.Address, found.Foreign)
	case dns != nil && !found.Known():
		return nil, "", fmt.Errorf("the servers of %s are unknown; enter at least the server of incoming mail", n.Address)
	case dns == nil: // the password goes only to servers that the user named
		found = signin.Found{Provider: found.Provider, Hint: found.Hint}
	}
	n.Name = Name(n.Address, found.Provider, now.Accounts)
	n.Fill(found)
	return n, found.Hint, nil
}

// Certificate is a certificate that no known authority signed.
type Certificate struct {
	*x509.Certificate

	Servers string // the servers that showed it, for example "mail (imap.example.org)"
}

// listUnknown returns the certificates that made Try fail because no known authority signed
// them. It returns none if Try failed for another reason too, and if a certificate has expired or is
// for another host, because trust would not help then.
func listUnknown(err error) (out []Certificate) {
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for _, err := range list {
		c, ok := errors.AsType[*tls.CertificateVerificationError](err)
		if !ok || len(c.UnverifiedCertificates) == 0 {
			return nil
		}
		if _, unknown := errors.AsType[x509.UnknownAuthorityError](c.Err); !unknown {
			return nil
		}
		server := ""
		if s, ok := errors.AsType[*ServerError](err); ok {
			server = s.Server
		}
		leaf := c.UnverifiedCertificates[0]
		if at := slices.IndexFunc(out, func(x Certificate) bool { return x.Equal(leaf) }); at >= 0 {
			out[at].Servers += " and " + server
			continue
		}
		out = append(out, Certificate{leaf, server})
	}
	return out
}

// Fingerprint returns the SHA-256 of a certificate, as mail programs show it.
func (c Certificate) Fingerprint() string {
	sum := sha256.Sum256(c.Raw)
	var out []string
	for pair := range slices.Chunk(sum[:], 1) {
		out = append(out, strings.ToUpper(hex.EncodeToString(pair)))
	}
	return strings.Join(out, ":")
}

// subjectLine returns the name in a certificate, which is untrusted text.
func (c Certificate) subjectLine() string { return pim.SanitizeLine(c.Subject.String(), 200) }

// Describe returns the lines that a user compares before trusting a certificate.
func (c Certificate) Describe() string {
	return c.Servers + ": " + c.subjectLine() + ", valid until " + c.NotAfter.Format("2 January 2006") + "\n  SHA-256 " + c.Fingerprint()
}

// trustCertificates makes the account accept certificates, which it adds to a file below Hob's home.
// Only this account trusts them.
func (n *New) trustCertificates(p system.Paths, list []Certificate) error {
	var text []byte
	if n.CA != "" {
		var err error
		if text, err = os.ReadFile(n.CA); err != nil {
			return err
		}
	}
	for _, c := range list {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	dir := filepath.Join(p.Home, "certificates")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	n.CA = filepath.Join(dir, n.Name+".pem")
	return system.WriteFile(n.CA, text)
}
