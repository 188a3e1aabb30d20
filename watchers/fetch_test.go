package watchers_test

import (
	"errors"
	"net"
	"net/http"
	"testing"

	"hob/platform/net/safehttp"
	"hob/platform/net/safehttp/safehttptest"
	"hob/watchers"
)

// Network failures are temporary; only the configured address can break a watcher permanently.
func TestFetch_PermanentErrors(t *testing.T) {
	web := safehttptest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "http://10.0.0.1/login", http.StatusFound)
		case "/gone":
			w.WriteHeader(http.StatusGone)
		}
	}))
	web.Name("captive.example.com", "10.0.0.1")
	for _, c := range []struct {
		name, url string
		permanent bool
	}{
		{"a network that resolves every name to itself", "https://captive.example.com/feed", false},
		{"a host that redirects to itself", "http://news.example.com/moved", false},
		{"an address that is refused", "http://10.0.0.1/feed", true},
		{"a host that no longer exists", "http://news.example.com/gone", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := watchers.Fetch(t.Context(), web.Client(t), safehttp.Request{URL: c.url})
			if err == nil || errors.Is(err, watchers.ErrPermanent) != c.permanent {
				t.Errorf("Fetch = %v", err)
			}
		})
	}
}

// Without a network the error is ErrOffline, regardless of the resolver's message.
func TestFetch_Offline(t *testing.T) {
	web := safehttptest.New(t, http.NotFoundHandler())
	web.Name("news.example.com")
	for _, c := range []struct {
		name, address string
		offline       bool
	}{
		{"in the local network", "192.168.1.7/24", false},
		{"only the loopback address", "127.0.0.1/8", true},
		{"a connection without a route", "fe80::1/64", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt := web.Options()
			opt.Interfaces = func() ([]net.Addr, error) {
				ip, n, err := net.ParseCIDR(c.address)
				return []net.Addr{&net.IPNet{IP: ip, Mask: n.Mask}}, err
			}
			client, err := safehttp.New(opt)
			if err != nil {
				t.Fatal(err)
			}
			_, err = watchers.Fetch(t.Context(), client, safehttp.Request{URL: "https://news.example.com/feed"})
			if err == nil || errors.Is(err, watchers.ErrOffline) != c.offline {
				t.Errorf("Fetch = %v", err)
			}
		})
	}
}
