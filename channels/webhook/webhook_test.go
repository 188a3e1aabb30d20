package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/webhook"
	"hob/platform/net/safehttp"
	"hob/platform/net/safehttp/safehttptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "s3cret"

// receiver simulates the server that gets the posts: it checks signatures, drops duplicates by
// their key, and can fail.
type receiver struct {
	t       *testing.T
	srv     *httptest.Server
	mu      sync.Mutex
	texts   []string
	seen    map[string]bool
	fails   []int
	header  http.Header
	stalled chan struct{}
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, seen: map[string]bool{}, header: http.Header{}}
	r.srv = httptest.NewServer(r)
	t.Cleanup(r.srv.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	m, old := hmac.New(sha256.New, []byte(secret)), hmac.New(sha256.New, []byte(secret))
	stamp := req.Header.Get("X-Hob-Timestamp")
	m.Write([]byte(stamp + "." + req.Header.Get("Idempotency-Key") + "." + string(b)))
	old.Write(b)
	want := "v1=" + hex.EncodeToString(m.Sum(nil)) + ", sha256=" + hex.EncodeToString(old.Sum(nil))
	if got := req.Header.Get("X-Hob-Signature"); got != want {
		r.t.Errorf("signature %q, want %q", got, want)
	}
	if n, err := strconv.ParseInt(stamp, 10, 64); err != nil || time.Since(time.Unix(n, 0)).Abs() > time.Minute {
		r.t.Errorf("timestamp %q", stamp)
	}
	var d struct{ ID, Text string }
	if err := json.Unmarshal(b, &d); err != nil || d.ID != req.Header.Get("Idempotency-Key") || req.Method != http.MethodPost {
		r.t.Errorf("%s with key %q and body %s (%v)", req.Method, req.Header.Get("Idempotency-Key"), b, err)
	}
	r.mu.Lock()
	stalled := r.stalled
	r.mu.Unlock()
	if stalled != nil {
		<-stalled
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.fails) > 0 {
		for k := range r.header {
			w.Header().Set(k, r.header.Get(k))
		}
		w.WriteHeader(r.fails[0])
		_, _ = io.WriteString(w, "not now\nsecond line")
		r.fails = r.fails[1:]
		return
	}
	if !r.seen[d.ID] {
		r.texts = append(r.texts, d.Text)
	}
	r.seen[d.ID] = true
}

func (r *receiver) Arrived() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.texts...)
}

func (r *receiver) Fail(c channels.Class, n int) bool {
	code := map[channels.Class]int{
		channels.Temporary: 500, channels.Later: 429, channels.Permanent: 404, channels.Unauthorized: 401,
	}[c]
	r.mu.Lock()
	defer r.mu.Unlock()
	for range n {
		r.fails = append(r.fails, code)
	}
	return code != 0
}

func (r *receiver) Stall() func() {
	c := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stalled = c
	return sync.OnceFunc(func() { close(c) })
}

// openChannel creates a channel whose connections are closed at the end of the test.
func openChannel(t *testing.T, r *receiver) *webhook.Channel {
	t.Helper()
	ch, err := webhook.New(webhook.Config{URL: r.srv.URL + "/hook?token=abc", Secret: secret}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = ch.Run(ctx, nil)
	})
	return ch
}

func TestConformance(t *testing.T) {
	channelstest.Conform(t, func(t *testing.T) (channels.Channel, channelstest.Platform) {
		r := newReceiver(t)
		return openChannel(t, r), r
	})
}

func TestAnswers(t *testing.T) {
	date := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	for _, c := range []struct {
		name  string
		code  int
		after string
		class channels.Class
		at    time.Time // expected time for the class Later; zero means that the manager chooses it
		says  string
	}{
		{"server error", 500, "", channels.Temporary, time.Time{}, "500 Internal Server Error: not now"},
		{"unavailable", 503, "", channels.Temporary, time.Time{}, "503"},
		{"unavailable with a date", 503, date.Format(http.TimeFormat), channels.Later, date, "503"},
		{"too many", 429, "", channels.Later, time.Time{}, "429"},
		{"nonsense in Retry-After", 429, "soon", channels.Later, time.Time{}, "429"},
		{"bad request", 400, "", channels.Permanent, time.Time{}, "400"},
		{"gone", 410, "", channels.Permanent, time.Time{}, "410"},
		{"redirect", 302, "", channels.Permanent, time.Time{}, "redirects are not followed"},
		{"unauthorised", 401, "", channels.Unauthorized, time.Time{}, "check the secret"},
		{"forbidden", 403, "", channels.Unauthorized, time.Time{}, "check the secret"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReceiver(t)
			r.fails = []int{c.code}
			r.header.Set("Retry-After", c.after)
			r.header.Set("Location", r.srv.URL+"/elsewhere")
			_, err := openChannel(t, r).Send(t.Context(), channels.Delivery{ID: "d1", Text: "x"})
			if channels.ClassOf(err) != c.class || err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("class %d, error %v", channels.ClassOf(err), err)
			}
			if e, _ := errors.AsType[*channels.Error](err); !e.RetryAt.Equal(c.at) {
				t.Errorf("retry at %v, want %v", e.RetryAt, c.at)
			}
			if strings.Contains(err.Error(), "second line") || len(r.Arrived()) != 0 {
				t.Errorf("error %v, arrived %q", err, r.Arrived())
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	r := newReceiver(t)
	ch := openChannel(t, r)
	r.srv.Close()
	_, err := ch.Send(t.Context(), channels.Delivery{ID: "d1", Text: "x"})
	e, ok := errors.AsType[*channels.Error](err)
	if !ok || e.Class != channels.Temporary || e.MaybeSent || strings.Contains(err.Error(), "abc") {
		t.Errorf("error %v (%+v)", err, e)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  webhook.Config
		want string // part of the error, "" for none
	}{
		{"https", webhook.Config{URL: "https://example.org/x", Secret: "s"}, ""},
		{"http on loopback", webhook.Config{URL: "http://[::1]:80/x", Secret: "s"}, ""},
		{"http on localhost", webhook.Config{URL: "http://LocalHost/x", Secret: "s"}, ""},
		{"http to another host", webhook.Config{URL: "http://example.org/x", Secret: "s"}, "use https://"},
		{"http to a lookalike", webhook.Config{URL: "http://127.0.0.1.example.org/x", Secret: "s"}, "use https://"},
		{"http in my network, listed", webhook.Config{URL: "http://192.168.1.10:8080/x", Secret: "s"}, ""},
		{"http in my network", webhook.Config{URL: "http://192.168.1.11:8080/x", Secret: "s"}, "use https://"},
		{"https in my network", webhook.Config{URL: "https://192.168.1.11/x", Secret: "s"}, ""},
		{"a name in my network, listed", webhook.Config{URL: "https://nas.local/x", Secret: "s"}, ""},
		{"a name in my network", webhook.Config{URL: "https://other.local/x", Secret: "s"}, "[network] allow"},
		{"metadata", webhook.Config{URL: "https://169.254.169.254/x", Secret: "s"}, "refused"},
		{"loopback in disguise", webhook.Config{URL: "https://0x7f.1/x", Secret: "s"}, "refused"},
		{"another scheme", webhook.Config{URL: "ftp://example.org/x", Secret: "s"}, "not an http address"},
		{"no host", webhook.Config{URL: "https:///x", Secret: "s"}, "not an http address"},
		{"garbage", webhook.Config{URL: "https://a b", Secret: "s"}, "parse url"},
		{"only posts", webhook.Config{Secret: "s"}, ""},
		{"no secret", webhook.Config{URL: "https://example.org"}, "secret is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			network, err := safehttp.New(safehttp.Options{Allow: []string{"192.168.1.10:8080", "nas.local:443"}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = webhook.New(c.cfg, network)
			if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestIncidentI7ReceiverWithInternalAddress checks that nothing is posted, and nothing retried, when a
// receiver's name starts to resolve to an address in the owner's network.
func TestIncidentI7ReceiverWithInternalAddress(t *testing.T) {
	n := safehttptest.New(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	n.Name("hooks.example.com", safehttptest.Public, "10.0.0.1")
	ch, err := webhook.New(webhook.Config{URL: "https://user:pass@hooks.example.com/x", Secret: secret}, n.Client(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ch.Send(t.Context(), channels.Delivery{ID: "d1", Text: "x"}); err != nil {
		t.Fatal(err)
	}
	_, err = ch.Send(t.Context(), channels.Delivery{ID: "d2", Text: "x"})
	e, ok := errors.AsType[*channels.Error](err)
	if !ok || e.Class != channels.Permanent || e.MaybeSent || len(n.Heard()) != 1 {
		t.Errorf("%v after %d posts", err, len(n.Heard()))
	}
	if u, p, ok := n.Heard()[0].BasicAuth(); !ok || u != "user" || p != "pass" {
		t.Errorf("credentials %q %q", u, p)
	}
}

func TestDriver(t *testing.T) {
	deps := channels.Deps{Secret: func(ref string) (string, error) {
		if ref != "env:HOOK" {
			return "", errors.New("not set")
		}
		return secret, nil
	}}
	decode := func(c webhook.Config) func(any) error {
		return func(v any) error {
			*v.(*webhook.Config) = c
			return nil
		}
	}
	var d webhook.Driver
	got := map[string]string{}
	for name, c := range map[string]webhook.Config{
		"good":       {URL: "https://example.org", Secret: "env:HOOK"},
		"bad secret": {URL: "https://example.org", Secret: "env:NOPE"},
	} {
		_, err := d.New(decode(c), deps)
		if err != nil {
			got[name] = err.Error()
		}
	}
	want := map[string]string{"bad secret": "the secret: not set"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
