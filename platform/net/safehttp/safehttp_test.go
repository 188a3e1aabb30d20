package safehttp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// internet simulates the internet: one server behind every public address, and a name server whose
// answers can change.
type internet struct {
	t      *testing.T
	plain  *httptest.Server
	safe   *httptest.Server
	mu     sync.Mutex
	names  map[string][]string // successive answers, each with addresses separated by spaces; the last answer repeats
	looked []string
	dialed []string
	heard  []*http.Request
	handle http.HandlerFunc
}

const public = "93.184.216.34"

func newInternet(t *testing.T, names map[string][]string, h http.HandlerFunc) *internet {
	n := &internet{t: t, names: names, handle: h}
	n.plain, n.safe = httptest.NewServer(n), httptest.NewUnstartedServer(n)
	n.safe.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that reject the server are expected
	n.safe.EnableHTTP2 = true                           // like nearly all servers
	n.safe.StartTLS()
	t.Cleanup(n.plain.Close)
	t.Cleanup(n.safe.Close)
	return n
}

func (n *internet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	n.heard = append(n.heard, r.Clone(context.Background()))
	n.mu.Unlock()
	n.handle(w, r)
}

func (n *internet) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := strings.TrimSuffix(host, ".")
	n.looked = append(n.looked, name)
	answers := n.names[name]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	if len(answers) > 1 {
		n.names[name] = answers[1:]
	}
	var out []netip.Addr
	for _, a := range strings.Fields(answers[0]) {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

func (n *internet) dialServer(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	n.dialed = append(n.dialed, to.String())
	n.mu.Unlock()
	at := n.plain.Listener.Addr().String()
	if to.Port() == 443 {
		at = n.safe.Listener.Addr().String()
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", at)
}

func (n *internet) newClient(o Options) *Client {
	n.t.Helper()
	o.Resolver, o.Dial = n, n.dialServer
	o.Interfaces = func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.ParseIP("81.2.69.142"), Mask: net.CIDRMask(24, 32)}, &net.IPNet{IP: net.ParseIP("192.168.1.5"), Mask: net.CIDRMask(24, 32)}}, nil
	}
	if o.RootCAs == nil {
		o.RootCAs = n.safe.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	}
	c, err := New(o)
	if err != nil {
		n.t.Fatal(err)
	}
	return c
}

func answerText(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func kindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}

// TestIncidentI7NamesWithInternalAddresses checks names that resolve to internal addresses: at the first
// lookup, at the second lookup, or in one of several answers.
func TestIncidentI7NamesWithInternalAddresses(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []string
		kind    Kind
		dialed  []string
	}{
		{"public", []string{public}, 0, []string{public + ":80"}},
		{"loopback", []string{"127.0.0.1"}, Internal, nil},
		{"metadata", []string{"169.254.169.254"}, Internal, nil},
		{"private beside public", []string{public + " 10.0.0.1"}, Internal, nil},
		{"IPv6 beside public", []string{public + " ::1"}, Internal, nil},
		{"mapped", []string{"::ffff:127.0.0.1"}, Internal, nil},
		{"mapped and public", []string{"::ffff:" + public}, 0, []string{public + ":80"}},
		{"NAT64 of a public one", []string{"64:ff9b::5db8:d822"}, 0, []string{"[64:ff9b::5db8:d822]:80"}},
		{"NAT64 of a private one", []string{"64:ff9b::a00:1"}, Internal, nil},
		{"this machine's own public address", []string{"81.2.69.142"}, Internal, nil},
		{"its neighbour", []string{"81.2.69.143"}, 0, []string{"81.2.69.143:80"}},
		{"rebinding", []string{public, "127.0.0.1"}, 0, []string{public + ":80"}},
		{"unknown", nil, NotFound, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newInternet(t, map[string][]string{"example.com": c.answers}, answerText("hello"))
			r, err := n.newClient(Options{}).Fetch(t.Context(), Request{URL: "http://example.com/"})
			if kindOf(err) != c.kind || (err == nil && string(r.Body) != "hello") {
				t.Fatalf("%+v, %v", r, err)
			}
			if diff := cmp.Diff(c.dialed, n.dialed); diff != "" {
				t.Error(diff)
			}
			if c.kind != NotFound && len(n.looked) != 1 {
				t.Errorf("names sent to the resolver = %q, want one", n.looked)
			}
		})
	}
}

// A name whose address changes is checked again at the next request and at the next redirect:
// neither connections nor DNS answers are reused.
func TestIncidentI7Rebinding(t *testing.T) {
	n := newInternet(t, map[string][]string{"example.com": {public, "10.0.0.7"}}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/a" {
			http.Redirect(w, r, "/b", http.StatusFound)
		}
	})
	_, err := n.newClient(Options{}).Fetch(t.Context(), Request{URL: "http://example.com/a"})
	if kindOf(err) != Internal || !strings.Contains(err.Error(), "10.0.0.7") || len(n.heard) != 1 {
		t.Errorf("%v after %d requests", err, len(n.heard))
	}
	if _, err := n.newClient(Options{}).Fetch(t.Context(), Request{URL: "http://example.com/c"}); kindOf(err) != Internal {
		t.Errorf("a later request: %v", err)
	}
}

func TestRedirects(t *testing.T) {
	names := map[string][]string{"a.example.com": {public}, "b.example.com": {"93.184.216.35"}}
	for _, c := range []struct {
		name, from, to string
		method         string
		kind           Kind
		heard          int
	}{
		{"elsewhere", "https://a.example.com/", "https://b.example.com/x", "", 0, 2},
		{"relative", "https://a.example.com/", "/x", "", 0, 2},
		{"to https", "http://a.example.com/", "https://b.example.com/x", "", 0, 2},
		{"down to http", "https://a.example.com/", "http://b.example.com/x", "", Refused, 1},
		{"to loopback", "http://a.example.com/", "http://127.0.0.1:7717/", "", Internal, 1},
		{"to metadata", "http://a.example.com/", "http://169.254.169.254/latest/", "", Internal, 1},
		{"to a file", "http://a.example.com/", "file:///etc/passwd", "", Scheme, 1},
		{"to a decimal", "http://a.example.com/", "http://2130706433/", "", BadURL, 1},
		{"with a user", "http://a.example.com/", "http://b.example.com@127.0.0.1/", "", BadURL, 1},
		{"with a backslash", "http://a.example.com/", `/\127.0.0.1/`, "", Redirect, 1},
		{"to a mail server", "http://a.example.com/", "http://b.example.com:25/", "", Port, 1},
		{"for ever", "http://a.example.com/", "/", "", Redirect, 4},
		{"of a POST", "https://a.example.com/", "https://b.example.com/x", http.MethodPost, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newInternet(t, names, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					w.Header().Set("Location", c.to)
					w.WriteHeader(http.StatusTemporaryRedirect)
				}
			})
			r, err := n.newClient(Options{MaxRedirects: 3}).Fetch(t.Context(), Request{URL: c.from, Method: c.method})
			if kindOf(err) != c.kind || len(n.heard) != c.heard {
				t.Fatalf("%+v, %v after %d requests", r, err, len(n.heard))
			}
		})
	}
}

// TestAPI checks that only requests with API set may write and set a User-Agent, and that requests
// with a body do not follow redirects.
func TestAPI(t *testing.T) {
	var got []string
	n := newInternet(t, map[string][]string{"api.example.com": {public}}, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, fmt.Sprint(r.Method, " ", string(b), " ", r.ContentLength, " ", r.UserAgent()))
		http.Redirect(w, r, "https://elsewhere.example.com/", http.StatusTemporaryRedirect)
	})
	c := n.newClient(Options{})
	for _, m := range []string{"PUT", "PATCH", "DELETE"} {
		r := Request{Method: m, URL: "https://api.example.com/", Body: []byte("x"), Header: http.Header{"User-Agent": {"Bot (1)"}}, API: true}
		if resp, err := c.Fetch(t.Context(), r); err != nil || resp.Status != http.StatusTemporaryRedirect {
			t.Error(m, err)
		}
		r.API = false
		if _, err := c.Fetch(t.Context(), r); kindOf(err) != Refused {
			t.Error(m, err)
		}
	}
	if _, err := c.Fetch(t.Context(), Request{URL: "https://api.example.com/", Header: http.Header{"User-Agent": {"x"}}}); kindOf(err) != Refused {
		t.Error(err)
	}
	for _, h := range []string{"Host", "Cookie", "Proxy-Authorization"} {
		if _, err := c.Fetch(t.Context(), Request{URL: "https://api.example.com/", Header: http.Header{h: {"x"}}, API: true}); kindOf(err) != Refused {
			t.Error(h, err)
		}
	}
	if diff := cmp.Diff([]string{"PUT x 1 Bot (1)", "PATCH x 1 Bot (1)", "DELETE x 1 Bot (1)"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestIncidentI6HeadersStayWithTheirServer checks that headers for one server are not sent to another server,
// and that requests contain no cookies and no Referer.
func TestIncidentI6HeadersStayWithTheirServer(t *testing.T) {
	n := newInternet(t, map[string][]string{"a.example.com": {public}, "b.example.com": {public}}, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "track", Value: "1", Domain: "example.com"})
		if r.Host == "a.example.com" {
			http.Redirect(w, r, "https://b.example.com/", http.StatusFound)
		}
	})
	c := n.newClient(Options{})
	h := http.Header{"Authorization": {"Bearer k"}, "X-Api-Key": {"k"}, "Accept": {"text/html"}}
	if _, err := c.Fetch(t.Context(), Request{URL: "https://a.example.com/?secret=1", Header: h}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Fetch(t.Context(), Request{URL: "https://b.example.com/"}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range n.heard {
		got = append(got, fmt.Sprint(r.Host, " ", len(r.Header), r.Header["Authorization"], r.Header["X-Api-Key"], r.Header["Cookie"], r.Header["Referer"], r.Header["Accept"], r.UserAgent() == userAgent))
	}
	want := []string{
		"a.example.com 5 [Bearer k] [k] [] [] [text/html] true",
		"b.example.com 3 [] [] [] [] [text/html] true",
		"b.example.com 3 [] [] [] [] [*/*] true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFetch_NeverSendsRejectedRequests(t *testing.T) {
	for _, c := range []struct {
		name string
		r    Request
	}{
		{"method", Request{Method: "DELETE"}},
		{"method with a line break", Request{Method: "GET / HTTP/1.1\r\nX:"}},
		{"body of a GET", Request{Body: []byte("x")}},
		{"host", Request{Header: http.Header{"Host": {"localhost"}}}},
		{"cookie", Request{Header: http.Header{"cookie": {"a=b"}}}},
		{"length", Request{Header: http.Header{"Content-Length": {"0"}}}},
		{"proxy", Request{Header: http.Header{"Proxy-Authorization": {"x"}}}},
		{"line break", Request{Header: http.Header{"X-A": {"b\r\nHost: x"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newInternet(t, map[string][]string{"example.com": {public}}, answerText(""))
			c.r.URL = "http://example.com/"
			if _, err := n.newClient(Options{}).Fetch(t.Context(), c.r); kindOf(err) != Refused || len(n.heard) != 0 {
				t.Error(err, len(n.heard))
			}
		})
	}
}

func compressZeros(n int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(make([]byte, n))
	_ = z.Close()
	return b.Bytes()
}

func TestBodies(t *testing.T) {
	names := map[string][]string{"example.com": {public}}
	for _, c := range []struct {
		name     string
		encoding string
		body     []byte
		partial  bool
		kind     Kind
		length   int
		cut      bool
	}{
		{"short", "", []byte("abc"), false, 0, 3, false},
		{"exactly the bound", "", make([]byte, 1000), false, 0, 1000, false},
		{"longer", "", make([]byte, 1001), false, TooLarge, 0, false},
		{"longer, its beginning", "", make([]byte, 5000), true, 0, 1000, true},
		{"packed", "gzip", compressZeros(900), false, 0, 900, false},
		{"a bomb", "gzip", compressZeros(50 << 20), false, TooLarge, 0, false},
		{"a bomb's beginning", "gzip", compressZeros(5 << 20), true, 0, 1000, true},
		{"packed and empty", "gzip", nil, false, 0, 0, false},
		{"wrong content encoding", "gzip", []byte("plain"), false, Broken, 0, false},
		{"unasked packing", "br", []byte("x"), false, Encoding, 0, false},
		{"compressed twice", "gzip, gzip", compressZeros(10), false, Encoding, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newInternet(t, names, func(w http.ResponseWriter, _ *http.Request) {
				if c.encoding != "" {
					w.Header().Set("Content-Encoding", c.encoding)
				}
				_, _ = w.Write(c.body)
			})
			r, err := n.newClient(Options{MaxBody: 1000}).Fetch(t.Context(), Request{URL: "http://example.com/", Partial: c.partial})
			if kindOf(err) != c.kind {
				t.Fatal(err)
			}
			if err == nil && (len(r.Body) != c.length || r.Truncated != c.cut) {
				t.Errorf("%d bytes, cut %v", len(r.Body), r.Truncated)
			}
		})
	}
}

func TestHeaderBomb(t *testing.T) {
	n := newInternet(t, map[string][]string{"example.com": {public}}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("a", 200<<10))
	})
	if _, err := n.newClient(Options{}).Fetch(t.Context(), Request{URL: "http://example.com/"}); kindOf(err) != Broken {
		t.Error(err)
	}
}

func TestConditional(t *testing.T) {
	n := newInternet(t, map[string][]string{"example.com": {public}}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, "page")
	})
	c := n.newClient(Options{})
	first, err := c.Fetch(t.Context(), Request{URL: "http://example.com/"})
	if err != nil || first.NotModified() {
		t.Fatal(first, err)
	}
	second, err := c.Fetch(t.Context(), Request{URL: "http://example.com/", If: first.Validators()})
	if err != nil || !second.NotModified() {
		t.Error(second, err)
	}
}

// TestAllow checks that only the configured internal addresses are reachable.
func TestAllow(t *testing.T) {
	names := map[string][]string{"nas.local": {"192.168.1.10"}, "localhost": {"127.0.0.1"}, "hole.local": {"169.254.169.254"}, "evil.example.com": {"192.168.1.10"}}
	allow := []string{"192.168.1.10:8080", "nas.local:8080", "localhost:8080", "hole.local:80", "[fd00::1]:8080", "127.0.0.2:6379"}
	for _, c := range []struct {
		url  string
		kind Kind
	}{
		{"http://192.168.1.10:8080/", 0},
		{"http://[fd00::1]:8080/", 0},
		{"http://nas.local:8080/", 0},
		{"http://localhost:8080/", 0},
		{"http://127.0.0.2:6379/", 0},
		{"http://192.168.1.10/", Internal},
		{"http://192.168.1.11:8080/", Internal},
		{"http://nas.local/", Internal},
		{"http://127.0.0.1:8080/", Internal},
		{"http://hole.local/", Internal},
		{"http://evil.example.com:8080/", Internal},
	} {
		t.Run(c.url, func(t *testing.T) {
			n := newInternet(t, names, answerText("hello"))
			if _, err := n.newClient(Options{Allow: allow}).Fetch(t.Context(), Request{URL: c.url}); kindOf(err) != c.kind {
				t.Error(err)
			}
		})
	}
	for _, bad := range []string{"", "nas.local", "nas.local:0", "nas.local:http", "*:80", "169.254.169.254:80", "224.0.0.1:80", "0.0.0.0:80", "http://nas.local:80", "127.1:80", "[fe80::1%eth0]:80"} {
		if ParseAllow(bad) == nil {
			t.Errorf("%q can be allowed", bad)
		}
	}
}

// TestConnect_NeverToThisMachine checks that Connect never connects to this machine, whatever the
// configuration allows.
func TestConnect_NeverToThisMachine(t *testing.T) {
	allow := []string{"192.168.1.5:8080", "nas.local:8080", "home.local:8080", "localhost:8080", "127.0.0.1:8080"}
	names := map[string][]string{"nas.local": {"192.168.1.10"}, "home.local": {"192.168.1.5"}, "localhost": {"127.0.0.1"}}
	for _, tc := range []struct {
		to   string
		kind Kind
	}{
		{"nas.local:8080", 0},
		{"home.local:8080", Internal},
		{"192.168.1.5:8080", Internal},
		{"localhost:8080", Internal},
		{"127.0.0.1:8080", Internal},
	} {
		n := newInternet(t, names, answerText("hello"))
		conn, err := n.newClient(Options{Allow: allow}).Connect(t.Context(), "http", tc.to)
		if kindOf(err) != tc.kind || tc.kind == 0 && err != nil {
			t.Errorf("%s: %v", tc.to, err)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
}

func TestAllow_NamedHosts(t *testing.T) {
	names := map[string][]string{"nas.local": {"192.168.1.10"}, "localhost": {"127.0.0.1"}, "hooks.example.com": {"10.0.0.1"}}
	for _, c := range []struct {
		url        string
		now, later Kind // kinds of the errors of Named and of Fetch
	}{
		{"http://127.0.0.1:9999/", 0, 0},
		{"http://localhost:9999/", 0, 0},
		{"https://192.168.1.10/", 0, TLS}, // the server was reached, but its certificate is for another host
		{"http://nas.local/", Internal, 0},
		{"https://hooks.example.com/", 0, Internal},
		{"http://169.254.169.254/", Internal, 0},
	} {
		t.Run(c.url, func(t *testing.T) {
			n := newInternet(t, names, answerText("hello"))
			own, err := n.newClient(Options{}).Named(c.url)
			if kindOf(err) != c.now {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			if _, err := own.Fetch(t.Context(), Request{URL: c.url}); kindOf(err) != c.later {
				t.Error(err)
			}
		})
	}
}

func TestFetch_IgnoresTheEnvironment(t *testing.T) {
	n := newInternet(t, map[string][]string{"example.com": {public}}, answerText("direct"))
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the environment's proxy was used") }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	for _, u := range []string{"http://example.com/", "https://example.com/"} {
		if r, err := n.newClient(Options{}).Fetch(t.Context(), Request{URL: u}); err != nil || string(r.Body) != "direct" {
			t.Error(r, err)
		}
	}
}

func TestDeadline(t *testing.T) {
	release := make(chan struct{})
	n := newInternet(t, map[string][]string{"example.com": {public}}, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	_, err := n.newClient(Options{Timeout: 50 * time.Millisecond}).Fetch(t.Context(), Request{URL: "http://example.com/"})
	if kindOf(err) != TimedOut {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.newClient(Options{}).Fetch(ctx, Request{URL: "http://example.com/"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCertificate(t *testing.T) {
	n := newInternet(t, map[string][]string{"elsewhere.org": {public}}, answerText("hello"))
	_, err := n.newClient(Options{}).Fetch(t.Context(), Request{URL: "https://elsewhere.org/"})
	if kindOf(err) != TLS || len(n.heard) != 0 {
		t.Error(err)
	}
}
