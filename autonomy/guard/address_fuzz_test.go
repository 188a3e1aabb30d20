package guard

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzAddresses checks for any text and any request: an address that counts as written in the text
// contacts only a host in the text and sends only a part of the text.
func FuzzAddresses(f *testing.F) {
	for _, s := range [][2]string{
		{"see https://a.example/b?c=d#e, please", "https://a.example/b?c=d"},
		{"(www.a.example/b_(c))", "https://www.a.example/b_(c)"},
		{"HTTPS://A.Example:443/%7e", "https://a.example/%7e"},
		{"http://a.example", "http://a.example/"},
		{"https://a.example@b.example/", "https://b.example/"},
		{"https://[::1]:80/x", "https://[::1]:80/x"},
		{"https://xn--bcher-kva.example/", "https://b\u00fccher.example/"},
		{"https://a.example\\@b.example/", "https://a.example\\@b.example/"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, said, asked string) {
		known := spellingSet(addressesIn(said))
		for k := range known {
			if _, ok := parseAddress(k); !ok {
				t.Errorf("%q: parseAddress rejects %q", said, k)
			}
		}
		if !isSeenAddress(asked, known) {
			return
		}
		u, err := url.Parse(asked)
		if err != nil || u.User != nil {
			t.Fatalf("%q counts as part of %q but is not an address: %v", asked, said, err)
		}
		if !siteSet(addressesIn(said))[strings.TrimPrefix(hostAndPort(u), "www.")] {
			t.Errorf("%q counts as part of %q but contacts another host", asked, said)
		}
		sent := strings.TrimPrefix(u.RequestURI(), "/")
		if u.Path == "" && u.RawQuery != "" {
			sent = u.RawQuery
		}
		if wrote, err := url.Parse(cutFragment(asked)); err == nil && wrote.Host != "" && !strings.Contains(said, sent) && !strings.Contains(said, wrote.EscapedPath()) && !strings.Contains(said, wrote.Path) {
			t.Errorf("%q counts as part of %q but sends %q", asked, said, sent)
		}
	})
}
