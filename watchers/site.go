package watchers

import (
	"context"
	"net/http"
	"strings"

	"hob/platform/net/safehttp"
)

// maxSite limits the response of a site, in bytes.
const maxSite = 5 << 20

// Site is the address of a source, such as a feed or a page, that a Polled requests over HTTP.
// Requests send the validators of the last response, so that an unchanged site costs one small
// request.
type Site struct {
	Address string

	host    string
	network *safehttp.Client
	header  http.Header
}

// NewSite returns the site at an address, which must be public or allowed by the user. Each request
// sends the given header.
func NewSite(c *safehttp.Client, address string, header http.Header) (Site, error) {
	u, err := ParseAddress(c, address)
	if err != nil {
		return Site{}, err
	}
	return Site{u.String(), u.Host, c, header}, nil
}

// FullAddress adds the scheme https to an address that has no scheme.
func FullAddress(address string) string {
	if address = strings.TrimSpace(address); address == "" || strings.Contains(address, "://") {
		return address
	}
	return "https://" + address
}

// Group implements Grouped.
func (s Site) Group() string { return s.host }

// Validators holds the validators of a site's last response. It is part of a cursor.
type Validators struct {
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
}

// Ask requests a site. If the site has not changed since the response to which last belongs, Ask
// returns no response and no error.
func (s Site) Ask(ctx context.Context, last Validators) (*safehttp.Response, Validators, error) {
	resp, err := Fetch(ctx, s.network, safehttp.Request{
		URL: s.Address, If: safehttp.Validators{ETag: last.ETag, LastModified: last.Modified}, MaxBody: maxSite, Header: s.header,
	})
	if err != nil || resp.NotModified() {
		return nil, last, err
	}
	v := resp.Validators()
	if len(v.ETag) > 1024 { // too long to send back
		v.ETag = ""
	}
	if len(v.LastModified) > 100 {
		v.LastModified = ""
	}
	return resp, Validators{v.ETag, v.LastModified}, nil
}
