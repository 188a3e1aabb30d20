package safehttp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
)

// answers is a resolver with fixed answers.
type answers []netip.Addr

func (a answers) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) { return a, nil }

// FuzzDial checks for any address and any DNS answers that connections are only made to public
// addresses from the answers.
func FuzzDial(f *testing.F) {
	f.Add("http://example.org/", []byte{127, 0, 0, 1}, []byte{})
	f.Add("https://example.org:8443/", []byte{93, 184, 216, 34}, []byte{0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1})
	f.Add("http://[::ffff:1.1.1.1]/", []byte{}, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1})
	f.Add("http://1.1.1.1/", []byte{10, 0, 0, 1}, []byte{})
	none := errors.New("connection refused")
	f.Fuzz(func(t *testing.T, raw string, first, second []byte) {
		var names answers
		for _, b := range [][]byte{first, second} {
			if a, ok := netip.AddrFromSlice(b); ok {
				names = append(names, a)
			}
		}
		var dialed []netip.AddrPort
		c, err := New(Options{
			Resolver: names, Interfaces: func() ([]net.Addr, error) { return nil, nil },
			Dial: func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
				dialed = append(dialed, to)
				return nil, none
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Fetch(t.Context(), Request{URL: raw}); err == nil {
			t.Fatalf("%q was fetched without a connection", raw)
		}
		for _, d := range dialed {
			mustBePublic(t, d.Addr())
			if badPort(d.Port()) {
				t.Fatalf("%q was sent to %v", raw, d)
			}
			among := raw != "" && netipIn(raw, d.Addr())
			for _, a := range names {
				among = among || a.Unmap() == d.Addr()
			}
			if !among {
				t.Fatalf("%q was sent to %v, which is not among the answers", raw, d)
			}
		}
		for _, a := range names {
			if len(dialed) > 0 && !classifyAddr(a.Unmap()).isPublic() && !netipIn(raw, dialed[0].Addr()) {
				t.Fatalf("%q was sent to %v although it also resolves to %v", raw, dialed, a)
			}
		}
	})
}

// netipIn reports whether the host of the URL raw is the address a.
func netipIn(raw string, a netip.Addr) bool {
	u, err := Canonical(raw)
	return err == nil && u.Hostname() == a.String()
}
