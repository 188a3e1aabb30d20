package watchers_test

import (
	"errors"
	"net/http"
	"testing"

	"hob/platform/safehttp"
	"hob/platform/safehttp/safehttptest"
	"hob/watchers"
)

// What the network of the moment does passes by; only what was asked for can
// break a watcher for good.
func TestFetchPermanent(t *testing.T) {
	net := safehttptest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "http://10.0.0.1/login", http.StatusFound)
		case "/gone":
			w.WriteHeader(http.StatusGone)
		}
	}))
	net.Name("captive.example.com", "10.0.0.1")
	for _, c := range []struct {
		name, url string
		permanent bool
	}{
		{"a network that answers every name with itself", "https://captive.example.com/feed", false},
		{"one that leads every page to itself", "http://news.example.com/moved", false},
		{"an address that is refused", "http://10.0.0.1/feed", true},
		{"one that is gone", "http://news.example.com/gone", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := watchers.Fetch(t.Context(), net.Client(t), safehttp.Request{URL: c.url})
			if err == nil || errors.Is(err, watchers.ErrPermanent) != c.permanent {
				t.Errorf("%v", err)
			}
		})
	}
}
