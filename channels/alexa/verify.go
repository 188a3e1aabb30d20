package alexa

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"hob/platform/net/safehttp"
)

// Amazon's requirements for web services are in "Host a Custom Skill as a Web Service",
// "Verify that the request was sent by Alexa"
// (developer.amazon.com/docs/alexa/custom-skills/host-a-custom-skill-as-a-web-service.html).
const (
	chainHost = "s3.amazonaws.com"
	chainPath = "/echo.api/"
	signer    = "echo-api.amazon.com" // DNS name that the certificate must contain
	tolerance = 150 * time.Second     // maximum difference between the time of a request and this machine's clock

	maxChain     = 64 << 10 // maximum bytes
	maxCerts     = 8
	chainTime    = 24 * time.Hour // how long a chain is cached
	maxChains    = 4
	fetchesAtime = 10 // limit per minute, because anyone may send requests with new URLs
	minRSA       = 2048
)

// verifier checks Amazon's signatures.
type verifier struct {
	network *safehttp.Client
	roots   *x509.CertPool

	fetching sync.Mutex // held during a download, so that downloads run one at a time
	mu       sync.Mutex
	chains   map[string]chain
	fetched  []time.Time
}

// chain is a certificate chain that starts with the signer's certificate.
type chain struct {
	certs []*x509.Certificate
	at    time.Time
}

// verifyRequest returns an error if Amazon did not sign the request. It runs before the body is
// parsed.
func (v *verifier) verifyRequest(ctx context.Context, h http.Header, body []byte, now time.Time) error {
	at, err := chainURL(h.Get("SignatureCertChainUrl"))
	if err != nil {
		return err
	}
	sig, err := base64.StdEncoding.DecodeString(h.Get("Signature-256"))
	if err != nil || len(sig) == 0 || len(sig) > 1024 {
		return errors.New("the header Signature-256 is missing")
	}
	c, err := v.certChain(ctx, at, now)
	if err != nil {
		return err
	}
	if err := c.checkTrust(v.roots, now); err != nil {
		return err
	}
	key, ok := c.certs[0].PublicKey.(*rsa.PublicKey)
	if !ok || key.N.BitLen() < minRSA {
		return errors.New("the certificate's key is not an RSA key")
	}
	sum := sha256.Sum256(body)
	if err := rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], sig); err != nil {
		return fmt.Errorf("the signature is not valid: %w", err)
	}
	return nil
}

// chainURL returns the normalized URL of a certificate chain, or an error if it is not Amazon's.
func chainURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || s == "" || len(s) > 300 {
		return "", errors.New("the header SignatureCertChainUrl is missing")
	}
	clean := path.Clean(u.Path)
	switch {
	case !strings.EqualFold(u.Scheme, "https"), !strings.EqualFold(u.Hostname(), chainHost), u.Port() != "" && u.Port() != "443",
		strings.HasSuffix(u.Host, ":"), u.User != nil, u.RawQuery != "", u.ForceQuery, u.Fragment != "", u.Opaque != "",
		!strings.HasPrefix(clean, chainPath), strings.ContainsAny(s, "%\\#"):
		return "", errors.New("the certificate URL is not on Amazon's host")
	}
	return "https://" + chainHost + clean, nil
}

// certChain returns the certificates at a URL.
func (v *verifier) certChain(ctx context.Context, at string, now time.Time) (chain, error) {
	if c, ok := v.freshChain(at, now); ok {
		return c, nil
	}
	v.fetching.Lock()
	defer v.fetching.Unlock()
	if c, ok := v.freshChain(at, now); ok {
		return c, nil
	}
	if !v.mayFetch(now) {
		if c, ok := v.cachedChain(at); ok { // a flood of unknown chain URLs must not block requests with a known one
			return c, nil
		}
		return chain{}, errors.New("too many certificate downloads")
	}
	resp, err := v.network.Fetch(ctx, safehttp.Request{Method: http.MethodGet, URL: at, MaxBody: maxChain})
	switch {
	case err != nil:
		return chain{}, fmt.Errorf("fetch the certificate: %w", err)
	case resp.Status != http.StatusOK:
		return chain{}, fmt.Errorf("fetch the certificate: unexpected status %d", resp.Status)
	}
	c, err := parseChain(resp.Body, now)
	if err != nil {
		return chain{}, err
	}
	if err := c.checkTrust(v.roots, now); err != nil {
		return chain{}, err // untrusted chains are not cached
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.chains) >= maxChains {
		clear(v.chains)
	}
	v.chains[at] = c
	return c, nil
}

func (v *verifier) freshChain(at string, now time.Time) (chain, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c, ok := v.chains[at]
	return c, ok && now.Sub(c.at).Abs() < chainTime
}

// cachedChain returns a chain from the cache, even if it has expired. The caller verifies it like a
// downloaded chain.
func (v *verifier) cachedChain(at string) (chain, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c, ok := v.chains[at]
	return c, ok
}

func (v *verifier) mayFetch(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for len(v.fetched) > 0 && now.Sub(v.fetched[0]).Abs() >= time.Minute {
		v.fetched = v.fetched[1:]
	}
	if len(v.fetched) >= fetchesAtime {
		return false
	}
	v.fetched = append(v.fetched, now)
	return true
}

// parseChain parses PEM certificates.
func parseChain(b []byte, now time.Time) (chain, error) {
	c := chain{at: now}
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" || len(c.certs) >= maxCerts {
			return chain{}, errors.New("the certificate file contains an unexpected PEM block")
		}
		x, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return chain{}, fmt.Errorf("parse the certificate: %w", err)
		}
		c.certs = append(c.certs, x)
	}
	if len(c.certs) == 0 {
		return chain{}, errors.New("the certificate file contains no certificate")
	}
	return c, nil
}

// checkTrust checks that the chain leads to a root, names Amazon's signer and is valid now.
func (c chain) checkTrust(roots *x509.CertPool, now time.Time) error {
	between := x509.NewCertPool()
	for _, x := range c.certs[1:] {
		between.AddCert(x)
	}
	_, err := c.certs[0].Verify(x509.VerifyOptions{DNSName: signer, Roots: roots, Intermediates: between, CurrentTime: now})
	if err != nil {
		return fmt.Errorf("the certificate is not valid for Amazon: %w", err)
	}
	return nil
}
