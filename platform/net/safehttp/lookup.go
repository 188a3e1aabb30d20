package safehttp

import (
	"context"
	"errors"
	"net"
	"time"
)

// Limits of LookupTXT.
const (
	lookupTimeout = 5 * time.Second
	maxRecords    = 16
	maxRecordsLen = 16 << 10 // total bytes of all records
)

// LookupTXT returns the TXT records of a public name, within 5 s. The result is as trustworthy as
// the configured name servers, because DNSSEC is not checked. Errors are the context's error or
// *Error: NotFound if there are no records, Resolve if the lookup failed.
func (c *Client) LookupTXT(ctx context.Context, name string) ([]string, error) {
	h, why := parseHost(name)
	switch {
	case why != "":
		return nil, newRefusal(BadURL, name, why, "")
	case h.addr.IsValid():
		return nil, newRefusal(BadURL, name, "this is an address, not a name", "")
	case h.isInternal():
		return nil, privateAddrError(h.name, class{is: "a name inside your own network", never: true})
	}
	r, ok := c.opt.Resolver.(interface {
		LookupTXT(ctx context.Context, name string) ([]string, error)
	})
	if !ok {
		return nil, &Error{Kind: NotFound, Host: h.name, Message: "TXT lookups are not available for " + h.name}
	}
	within, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	list, err := r.LookupTXT(within, h.name+".") // the dot disables search domains
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		e := &Error{Kind: Resolve, Host: h.name, Err: err, Message: "cannot look up the TXT records of " + h.name, Remedy: "check the internet connection and retry"}
		if n, ok := errors.AsType[*net.DNSError](err); ok && n.IsNotFound {
			e.Kind, e.Message, e.Remedy = NotFound, "no TXT records for "+h.name, ""
		}
		return nil, e
	}
	size := 0
	for _, s := range list {
		size += len(s)
	}
	if len(list) > maxRecords || size > maxRecordsLen {
		return nil, &Error{Kind: TooLarge, Host: h.name, Message: "too many TXT records for " + h.name}
	}
	return list, nil
}
