package email

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/emersion/go-msgauth/dkim"

	"hob/platform/net/safehttp"
	"hob/platform/pim"
	"hob/platform/text/mime"
)

// errLater means that the author of an email cannot be verified yet.
var errLater = errors.New("the sender cannot be verified now")

// verifySignatures checks whether one of an email's signatures is valid with a key that trusts
// accepts, and returns that key. why is the reason if no signature is valid. err is errLater if a
// retry may succeed.
func verifySignatures(ctx context.Context, network lookup, raw []byte, list []signatureCheck, trusts func(keyID) error) (by keyID, why string, err error) {
	for _, s := range list {
		k, not, e := s.verifySignature(ctx, network, raw)
		if ctx.Err() != nil {
			return "", "", ctx.Err()
		}
		if not == "" && e == nil {
			if e = trusts(k); e == nil {
				return k, "", nil
			}
		}
		why, err = not, errors.Join(err, e)
	}
	return "", why, err
}

// lookup resolves DNS records. *safehttp.Client implements it.
type lookup interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

// isTemporaryDNS reports whether a DNS error may be temporary.
func isTemporaryDNS(err error) bool {
	e, ok := errors.AsType[*safehttp.Error](err)
	return err != nil && (!ok || e.Kind == safehttp.Resolve)
}

// dnsCache caches the DNS lookups for one email.
type dnsCache struct {
	network lookup
	got     map[string]dnsAnswer
}

type dnsAnswer struct {
	list []string
	err  error
}

// LookupTXT implements lookup.
func (a dnsCache) LookupTXT(ctx context.Context, name string) ([]string, error) {
	if x, ok := a.got[name]; ok {
		return x.list, x.err
	}
	list, err := a.network.LookupTXT(ctx, name)
	a.got[name] = dnsAnswer{list, err}
	return list, err
}

// keyName returns the DNS name of the signature's key.
func (s signatureCheck) keyName() string { return s.selector + "._domainkey." + s.domain }

// verifySignature verifies one signature and returns its key.
func (s signatureCheck) verifySignature(ctx context.Context, network lookup, raw []byte) (by keyID, why string, err error) {
	var later error
	whole := false // the key applies only to exactly this domain
	at := s.keyName()
	key := func(name string) ([]string, error) {
		if !strings.EqualFold(name, at) {
			return nil, errors.New("unexpected lookup")
		}
		list, err := network.LookupTXT(ctx, at)
		if isTemporaryDNS(err) {
			later = fmt.Errorf("%w: %w", errLater, err)
		}
		if err == nil {
			whole, err = checkKeyRecord(list)
			by = nameKey(at, list)
		}
		return list, err
	}
	var found []*dkim.Verification
	panicked := recoverPanic(func() {
		found, err = dkim.VerifyWithOptions(withOneSignature(raw, s.n), &dkim.VerifyOptions{LookupTXT: key, MaxVerifications: 1})
	})
	switch {
	case later != nil:
		return "", "", later
	case panicked != nil:
		err = panicked
	case err == nil && len(found) != 1:
		err = errors.New("no signature for this email")
	case err == nil:
		err = found[0].Err
	}
	if err != nil {
		return "", "its DKIM signature is not valid: " + pim.SanitizeLine(strings.TrimPrefix(err.Error(), "dkim: "), 120), nil
	}
	v := found[0]
	_, who, _ := strings.Cut(v.Identifier, "@")
	if !strings.EqualFold(v.Domain, s.domain) || !slices.Equal(v.HeaderKeys, s.keys) || whole && !strings.EqualFold(who, s.domain) || by == "" {
		return "", "its DKIM signature does not match the header that was checked", nil
	}
	return by, "", nil
}

// checkKeyRecord checks the DNS record of a key before it is used (RFC 6376, 3.6.1). whole reports
// whether the key applies only to exactly this domain and not to subdomains.
func checkKeyRecord(list []string) (whole bool, err error) {
	if len(list) != 1 {
		return false, fmt.Errorf("%d DKIM keys are published instead of one", len(list))
	}
	tags, ok := readTags(list[0], maxKey)
	if !ok {
		return false, errors.New("its DKIM key is malformed or too large")
	}
	flags := strings.Split(tags["t"], ":")
	if slices.Contains(flags, "y") {
		return false, errors.New("its domain only tests DKIM (t=y)")
	}
	return slices.Contains(flags, "s"), nil
}

// withOneSignature returns an email with only one of its signatures.
func withOneSignature(raw []byte, n int) io.Reader {
	head, body := mime.Divide(raw)
	var out bytes.Buffer
	i, keep := -1, true
	for line := range bytes.Lines(head) {
		if line[0] != ' ' && line[0] != '\t' {
			name, _, _ := bytes.Cut(line, []byte(":"))
			signs := strings.EqualFold(string(bytes.TrimSpace(name)), "dkim-signature")
			if signs {
				i++
			}
			keep = !signs || i == n
		}
		if keep {
			out.Write(line)
		}
	}
	out.WriteString("\r\n")
	return io.MultiReader(&out, bytes.NewReader(body))
}
