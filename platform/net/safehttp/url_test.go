package safehttp

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "https://example.org", "https://example.org/"},
		{"upper case", "HTTPS://Example.ORG/A", "https://example.org/A"},
		{"default port", "http://example.org:80/a?b=c", "http://example.org/a?b=c"},
		{"other port", "https://example.org:8443/", "https://example.org:8443/"},
		{"fragment", "https://example.org/a#b", "https://example.org/a"},
		{"query without path", "https://example.org?x=1", "https://example.org/?x=1"},
		{"beyond ascii", "https://example.org/naïve?q=é", "https://example.org/na%C3%AFve?q=%C3%A9"},
		{"stray percent", "https://example.org/100%/x", "https://example.org/100%25/x"},
		{"escaped stays", "https://example.org/a%2Fb", "https://example.org/a%2Fb"},
		{"international", "https://bücher.example/", "https://xn--bcher-kva.example/"},
		{"homograph shows", "https://аррӏе.example/", "https://xn--80ak6aa92e.example/"},
		{"already punycode", "https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"},
		{"underscore", "https://a_b.example.org/", "https://a_b.example.org/"},
		{"public address", "http://1.1.1.1/", "http://1.1.1.1/"},
		{"public IPv6", "http://[2606:4700:4700:0::1111]/", "http://[2606:4700:4700::1111]/"},
		{"at in the path", "https://example.org/@hob", "https://example.org/@hob"},
		{"blank ends", " https://example.org/ ", "https://example.org/"},
		{"number in front", "https://123.example.org/", "https://123.example.org/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := Canonical(c.in)
			if err != nil || u.String() != c.want {
				t.Fatalf("%v, %v; want %s", u, err, c.want)
			}
			if again, err := Canonical(u.String()); err != nil || again.String() != c.want {
				t.Errorf("second check: %v, %v", again, err)
			}
		})
	}
}

// TestIncidentI7NotationsOfSpecialAddresses covers CVE-2026-26322 and similar:
// unusual notations of internal addresses.
func TestIncidentI7NotationsOfSpecialAddresses(t *testing.T) {
	for _, c := range []struct {
		name, in string
		kind     Kind
	}{
		{"loopback", "http://127.0.0.1/", Internal},
		{"loopback's neighbour", "http://127.8.9.10/", Internal},
		{"short", "http://127.1/", BadURL},
		{"decimal", "http://2130706433/", BadURL},
		{"octal", "http://0177.0.0.1/", BadURL},
		{"hex", "http://0x7f.0.0.1/", BadURL},
		{"one hex number", "http://0x7f000001/", BadURL},
		{"empty hex", "http://0x/", BadURL},
		{"zero", "http://0/", BadURL},
		{"unspecified", "http://0.0.0.0/", Internal},
		{"leading zero", "http://127.0.0.01/", BadURL},
		{"too large", "http://127.0.0.999/", BadURL},
		{"overflow", "http://4294967297/", BadURL},
		{"full-width digits", "http://１２７.0.0.1/", BadURL},
		{"full-width dot", "http://127。0。0。1/", BadURL},
		{"circled letters", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", BadURL},
		{"kelvin sign", "http://\u212aube.example/", BadURL},
		{"soft hyphen", "http://local\u00adhost/", BadURL},
		{"zero width", "http://local\u200bhost.example/", BadURL},
		{"escaped host", "http://%31%32%37.0.0.1/", BadURL},
		{"trailing dot", "http://localhost./", BadURL},
		{"dot behind an address", "http://127.0.0.1./", BadURL},
		{"user", "http://example.org@127.0.0.1/", BadURL},
		{"password", "http://a:b@127.0.0.1/", BadURL},
		{"empty user", "http://@127.0.0.1/", BadURL},
		{"backslash", `http://example.org\@127.0.0.1/`, BadURL},
		{"backslash for a slash", `http:\\127.0.0.1/`, BadURL},
		{"tab", "http://127.\t0.0.1/", BadURL},
		{"line break", "http://example.org/\r\nHost: x", BadURL},
		{"no slashes", "http:127.0.0.1/", BadURL},
		{"one slash", "http:/127.0.0.1/", BadURL},
		{"three slashes", "http:///127.0.0.1/", BadURL},
		{"no scheme", "127.0.0.1/", BadURL},
		{"empty port", "http://127.0.0.1:/", BadURL},
		{"octal port", "http://127.0.0.1:0080/", BadURL},
		{"port zero", "http://example.org:0/", BadURL},
		{"two ports", "http://example.org:80:80/", BadURL},
		{"mail port", "http://example.org:25/", Port},
		{"redis", "http://example.org:6379/", Port},
		{"private 10", "http://10.0.0.1/", Internal},
		{"private 172", "http://172.31.255.255/", Internal},
		{"private 192", "http://192.168.1.1/", Internal},
		{"carrier grade", "http://100.64.0.1/", Internal},
		{"link-local", "http://169.254.1.1/", Internal},
		{"metadata", "http://169.254.169.254/latest/meta-data/", Internal},
		{"metadata of Azure", "http://168.63.129.16/", Internal},
		{"metadata of Alibaba", "http://100.100.100.200/", Internal},
		{"metadata over IPv6", "http://[fd00:ec2::254]/", Internal},
		{"metadata by name", "http://metadata.google.internal/", Internal},
		{"benchmark", "http://198.18.0.1/", Internal},
		{"documentation", "http://203.0.113.5/", Internal},
		{"protocol assignments", "http://192.0.0.8/", Internal},
		{"multicast", "http://224.0.0.1/", Internal},
		{"future use", "http://240.0.0.1/", Internal},
		{"broadcast", "http://255.255.255.255/", Internal},
		{"IPv6 loopback", "http://[::1]/", Internal},
		{"long IPv6 loopback", "http://[0:0:0:0:0:0:0:1]/", Internal},
		{"IPv6 unspecified", "http://[::]/", Internal},
		{"mapped", "http://[::ffff:127.0.0.1]/", Internal},
		{"mapped in hex", "http://[::ffff:7f00:1]/", Internal},
		{"mapped and public", "http://[::ffff:1.1.1.1]/", Internal},
		{"compatible", "http://[::127.0.0.1]/", Internal},
		{"translated", "http://[::ffff:0:127.0.0.1]/", Internal},
		{"6to4", "http://[2002:7f00:1::]/", Internal},
		{"Teredo", "http://[2001:0:7f00:1::]/", Internal},
		{"NAT64", "http://[64:ff9b::7f00:1]/", Internal},
		{"local NAT64", "http://[64:ff9b:1::7f00:1]/", Internal},
		{"unique local", "http://[fd12:3456::1]/", Internal},
		{"site-local", "http://[fec0::1]/", Internal},
		{"IPv6 link-local", "http://[fe80::1]/", Internal},
		{"zone", "http://[fe80::1%25eth0]/", BadURL},
		{"zone of loopback", "http://[::1%lo]/", BadURL},
		{"IPv6 multicast", "http://[ff02::1]/", Internal},
		{"unassigned address", "http://[4000::1]/", Internal},
		{"brackets around IPv4", "http://[127.0.0.1]/", BadURL},
		{"behind the bracket", "http://[::1]x/", BadURL},
		{"localhost", "http://localhost:8080/", Internal},
		{"below localhost", "http://a.localhost/", Internal},
		{"mdns", "http://printer.local/", Internal},
		{"internal", "http://wiki.corp.internal/", Internal},
		{"home", "http://router.home.arpa/", Internal},
		{"one label", "http://intranet/", Internal},
		{"onion", "http://abcdef.onion/", Internal},
		{"file", "file:///etc/passwd", Scheme},
		{"gopher", "gopher://127.0.0.1:25/_x", Scheme},
		{"data", "data:text/html,x", Scheme},
		{"javascript", "javascript:alert(1)", Scheme},
		{"feed", "feed:https://example.org/", Scheme},
		{"empty", "", BadURL},
		{"too long", "http://example.org/" + strings.Repeat("a", 9000), BadURL},
		{"bad punycode", "http://xn--a.example/", BadURL},
		{"punycode of ascii", "http://xn--localhost-.example/", BadURL},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := Canonical(c.in)
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Kind != c.kind || !e.Refusal() || !strings.Contains(e.Error(), "refused") {
				t.Errorf("%v, %v (%+v), want kind %d", u, err, e, c.kind)
			}
		})
	}
}

// TestCorpus uses the shared collection of hostile addresses. It fails if an address that must be
// rejected is accepted, and logs other rejections.
func TestCorpus(t *testing.T) {
	type line struct{ URL, Verdict, Host string }
	total, refused := map[string]int{}, map[string]int{}
	for l := range readCorpus[line](t, "payloads/ssrf-urls.jsonl") {
		total[l.Verdict]++
		_, err := Canonical(l.URL)
		if err != nil {
			refused[l.Verdict]++
		}
		switch l.Verdict {
		case "internal", "name-internal", "scheme":
			if err == nil {
				t.Errorf("%q (%s, %s) was accepted", l.URL, l.Verdict, l.Host)
			}
		case "name", "public-ip":
			if err != nil {
				t.Logf("rejected unnecessarily: %q: %v", l.URL, err)
			}
		}
	}
	t.Logf("rejected %v of %v", refused, total)
}

// readCorpus reads a file of the shared data line by line.
func readCorpus[T any](t testing.TB, name string) func(func(T) bool) {
	t.Helper()
	dir := os.Getenv("HOB_TEST_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Skipf("no shared test data (HOB_TEST_DATA): %v", err)
	}
	return func(yield func(T) bool) {
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			var v T
			if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
				t.Fatal(err)
			}
			if !yield(v) {
				return
			}
		}
	}
}

// FuzzURL checks that an accepted address has a host that is neither special nor
// internal, that net/url parses the same host, and that canonicalization is
// idempotent.
func FuzzURL(f *testing.F) {
	for _, s := range []string{
		"https://example.org/a?b#c", "http://127.1/", "http://[::1]/", `http://a\@b/`, "http://a@b/", "http://ⓔ.com", "http://xn--bcher-kva.example",
		"http://0x7f.1", "http://1.1.1.1:8080/%zz", "http://[64:ff9b::101:101]/", "http://１.1.1.1/", "http://a.b./", "HTTP://A.b:80",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := Canonical(raw)
		if err != nil {
			return
		}
		h := u.Hostname()
		if a, err := netip.ParseAddr(h); err == nil {
			mustBePublic(t, a)
		} else if !strings.Contains(h, ".") || strings.HasSuffix(h, ".") || h != strings.ToLower(h) || !isASCII(h) {
			t.Fatalf("%q has the host %q", raw, h)
		}
		if strings.Trim(h[strings.LastIndexByte(h, '.')+1:], "0123456789") == "" && !netipOK(h) {
			t.Fatalf("%q has the numeric host %q", raw, h)
		}
		std, err := url.Parse(u.String())
		if err != nil || std.Host != u.Host || std.User != nil || std.Scheme != u.Scheme {
			t.Fatalf("%q: %q was parsed as %v, %v", raw, u, std, err)
		}
		if plain, err := url.Parse(strings.Trim(raw, " ")); err == nil && isASCII(raw) && !strings.EqualFold(plain.Hostname(), h) && !netipOK(h) {
			t.Fatalf("%q: host %q, but net/url has %q", raw, h, plain.Hostname())
		}
		if again, err := Canonical(u.String()); err != nil || again.String() != u.String() {
			t.Fatalf("%q: canonical form %q is not stable: %v, %v", raw, u, again, err)
		}
	})
}

func netipOK(h string) bool { _, err := netip.ParseAddr(strings.Trim(h, "[]")); return err == nil }

// mustBePublic checks the address with the standard library, which knows fewer special addresses,
// but none that the client does not know.
func mustBePublic(t *testing.T, a netip.Addr) {
	t.Helper()
	inner := a.Unmap()
	if in, ok := nat64(a); ok {
		inner = in
	}
	if !inner.IsGlobalUnicast() || inner.IsPrivate() || inner.IsLoopback() || inner.IsLinkLocalUnicast() || inner.IsMulticast() || inner.IsUnspecified() ||
		a.Zone() != "" || a.Is4In6() || netip.MustParsePrefix("100.64.0.0/10").Contains(inner) || inner.Is4() && (inner.As4()[0] == 0 || inner.As4()[0] >= 224) {
		t.Fatalf("%v counts as public", a)
	}
}

// FuzzAddr makes the checks of FuzzURL for addresses in the binary form of DNS answers.
func FuzzAddr(f *testing.F) {
	for _, s := range []string{"\x7f\x00\x00\x01", "\x08\x08\x08\x08", strings.Repeat("\x00", 10) + "\xff\xff\x7f\x00\x00\x01", " \x02\x7f\x00\x00\x01" + strings.Repeat("\x00", 10)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		if classifyAddr(a).isPublic() {
			mustBePublic(t, a)
			u, err := Canonical("http://" + host{a.String(), a}.bracketedName() + "/")
			if err != nil || !strings.Contains(u.Host, a.String()) {
				t.Fatalf("public address %v was rejected: %v", a, err)
			}
		}
	})
}
