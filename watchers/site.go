package watchers

import (
	"context"
	"net/http"
	"strings"

	"hob/platform/safehttp"
)

// maxSite bounds what a site may answer, in bytes.
const maxSite = 5 << 20

// Site is one address that a Polled asks over HTTP, such as that of a feed or a
// page. It is asked with what it gave with its last answer, so that one where
// nothing is new costs one small request.
type Site struct {
	Address string

	host    string
	network *safehttp.Client
	header  http.Header
}

// NewSite returns the site at an address, which must be public or one that the
// owner allowed. The header goes with each request.
func NewSite(c *safehttp.Client, address string, header http.Header) (Site, error) {
	u, err := Address(c, address)
	if err != nil {
		return Site{}, err
	}
	return Site{u.String(), u.Host, c, header}, nil
}

// FullAddress is an address as people write it, with its scheme.
func FullAddress(address string) string {
	if address = strings.TrimSpace(address); address == "" || strings.Contains(address, "://") {
		return address
	}
	return "https://" + address
}

// Group implements Grouped.
func (s Site) Group() string { return s.host }

// Stamp is what a site gave with its last answer. It is a part of a cursor.
type Stamp struct {
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
}

// Ask asks a site. No answer and no error: it is what it was at the stamp.
func (s Site) Ask(ctx context.Context, last Stamp) (*safehttp.Response, Stamp, error) {
	resp, err := Fetch(ctx, s.network, safehttp.Request{
		URL: s.Address, If: safehttp.Validators{ETag: last.ETag, LastModified: last.Modified}, MaxBody: maxSite, Header: s.header,
	})
	if err != nil || resp.NotModified() {
		return nil, last, err
	}
	v := resp.Validators()
	if len(v.ETag) > 1024 { // longer than one would send again
		v.ETag = ""
	}
	if len(v.LastModified) > 100 {
		v.LastModified = ""
	}
	return resp, Stamp{v.ETag, v.LastModified}, nil
}
