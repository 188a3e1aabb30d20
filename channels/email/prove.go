package email

import (
	"context"
	"errors"

	"hob/platform/pim/dkimcheck"
)

// verifySignatures checks whether one of an email's signatures is valid with a key that trusts
// accepts, and returns that key. why is the reason if no signature is valid. err is dkimcheck.ErrLater if a
// retry may succeed.
func verifySignatures(ctx context.Context, network dkimcheck.TXTResolver, raw []byte, list []dkimcheck.Signature, trusts func(dkimcheck.KeyID) error) (by dkimcheck.KeyID, why string, err error) {
	for _, s := range list {
		k, not, e := s.Verify(ctx, network, raw)
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

// dnsCache caches the DNS lookups for one email.
type dnsCache struct {
	network dkimcheck.TXTResolver
	got     map[string]dnsAnswer
}

type dnsAnswer struct {
	list []string
	err  error
}

// LookupTXT implements dkimcheck.TXTResolver.
func (a dnsCache) LookupTXT(ctx context.Context, name string) ([]string, error) {
	if x, ok := a.got[name]; ok {
		return x.list, x.err
	}
	list, err := a.network.LookupTXT(ctx, name)
	a.got[name] = dnsAnswer{list, err}
	return list, err
}
