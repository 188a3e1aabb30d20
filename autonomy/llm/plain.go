package llm

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// plainTransport decompresses responses that a server or a proxy compressed although the request
// did not ask for it.
type plainTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p plainTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch coding := strings.ToLower(resp.Header.Get("Content-Encoding")); coding {
	case "", "identity":
	case "gzip", "x-gzip":
		resp.Body = &unpackedBody{packed: resp.Body}
		resp.Header.Del("Content-Encoding") // a client that uses this transport must not decompress the response again
		resp.ContentLength, resp.Uncompressed = -1, true
	default:
		_ = resp.Body.Close() // only read from, so Close cannot lose data
		resp.Body = io.NopCloser(unreadable{fmt.Errorf("%w (%.20q)", errPacked, coding)})
	}
	return resp, nil
}

// CloseIdleConnections passes the call on to the next transport.
func (p plainTransport) CloseIdleConnections() {
	if t, ok := p.next.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// errPacked is the error for reading a body with an unsupported compression.
var errPacked = errors.New("unexpected compressed response: the request did not accept one")

type unreadable struct{ err error }

func (u unreadable) Read([]byte) (int, error) { return 0, u.err }

// unpackedBody decompresses a body as it is read. The limit of LimitBody applies to the
// decompressed data.
type unpackedBody struct {
	packed io.ReadCloser
	gzip   *gzip.Reader
}

func (u *unpackedBody) Read(p []byte) (n int, err error) {
	if u.gzip == nil {
		if u.gzip, err = gzip.NewReader(u.packed); err != nil {
			return 0, u.unpackError(err)
		}
	}
	n, err = u.gzip.Read(p)
	return n, u.unpackError(err)
}

// unpackError converts a decompression error. It distinguishes a body that is not gzip from a
// broken one.
func (u *unpackedBody) unpackError(err error) error {
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return errPacked
	}
	return err
}

func (u *unpackedBody) Close() error { return u.packed.Close() }
