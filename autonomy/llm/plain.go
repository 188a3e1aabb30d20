package llm

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// plain unpacks what a server or a proxy compressed although nobody asked for it.
type plain struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p plain) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch coding := strings.ToLower(resp.Header.Get("Content-Encoding")); coding {
	case "", "identity":
	case "gzip", "x-gzip":
		resp.Body = &unpacked{packed: resp.Body}
		resp.Header.Del("Content-Encoding") // a client made of this one must not unpack it again
		resp.ContentLength, resp.Uncompressed = -1, true
	default:
		_ = resp.Body.Close() // nothing was written
		resp.Body = io.NopCloser(unreadable{fmt.Errorf("%w (%.20q)", errPacked, coding)})
	}
	return resp, nil
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the transport.
func (p plain) CloseIdleConnections() {
	if t, ok := p.next.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// errPacked is the read error of a body that is packed in a way Hob does not know.
var errPacked = errors.New("the server packed its answer although nobody asked for it")

type unreadable struct{ err error }

func (u unreadable) Read([]byte) (int, error) { return 0, u.err }

// unpacked unpacks a body as it is read. The ceiling of LimitBody counts what
// comes out.
type unpacked struct {
	packed io.ReadCloser
	gzip   *gzip.Reader
}

func (u *unpacked) Read(p []byte) (n int, err error) {
	if u.gzip == nil {
		if u.gzip, err = gzip.NewReader(u.packed); err != nil {
			return 0, u.what(err)
		}
	}
	n, err = u.gzip.Read(p)
	return n, u.what(err)
}

// what tells a body that is not gzip from one that broke.
func (u *unpacked) what(err error) error {
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return errPacked
	}
	return err
}

func (u *unpacked) Close() error { return u.packed.Close() }
