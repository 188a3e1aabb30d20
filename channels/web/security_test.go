package web_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels/web"
)

func TestAuth_AdmitsOnlyValidTokens(t *testing.T) {
	const list, msg = "/api/v1/sessions", "/api/v1/sessions/s/messages"
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		want                     int
		code                     string
	}{
		{"the owner", "GET", list, "", nil, 200, ""},
		{"no token", "GET", list, "", []string{"Authorization", ""}, 401, "unauthorised"},
		{"a wrong token", "GET", list, "", []string{"Authorization", "Bearer " + strings.Repeat("0", 64)}, 401, "unauthorised"},
		{"a part of the token", "GET", list, "", []string{"Authorization", "Bearer " + token[:63]}, 401, "unauthorised"},
		{"another scheme", "GET", list, "", []string{"Authorization", "Basic " + token}, 401, "unauthorised"},
		{"scheme in lower case", "GET", list, "", []string{"Authorization", "bearer " + token}, 200, ""},
		{"a forged cookie", "GET", list, "", []string{"Authorization", "", "Cookie", "hob_7717=" + strings.Repeat("A", 75)}, 401, "unauthorised"},
		{"metrics without token", "GET", "/metrics", "", []string{"Authorization", ""}, 401, "unauthorised"},
		{"document without token", "GET", "/api/v1/openapi.json", "", []string{"Authorization", ""}, 401, "unauthorised"},
		{"models without token", "GET", "/v1/models", "", []string{"Authorization", ""}, 401, "unauthorised"},
		{"unknown path without token", "GET", "/api/v1/nope", "", []string{"Authorization", ""}, 401, "unauthorised"},
		{"unknown path", "GET", "/api/v1/nope", "", nil, 404, "not_found"},
		{"wrong method", "DELETE", msg, "", nil, 405, "method_not_allowed"},
		{"health without token", "GET", "/healthz", "", []string{"Authorization", ""}, 200, ""},
		{"page without token", "GET", "/", "", []string{"Authorization", ""}, 401, ""},
		{"foreign host", "GET", list, "", []string{"Host", "evil.example:7717"}, 421, "wrong_host"},
		{"foreign host, health", "GET", "/healthz", "", []string{"Host", "evil.example:7717"}, 421, "wrong_host"},
		{"loopback name as part of a name", "GET", list, "", []string{"Host", "localhost.evil.example:7717"}, 421, "wrong_host"},
		{"other port", "GET", list, "", []string{"Host", "127.0.0.1:80"}, 421, "wrong_host"},
		{"no port", "GET", list, "", []string{"Host", "localhost"}, 421, "wrong_host"},
		{"localhost", "GET", list, "", []string{"Host", "LOCALHOST:7717"}, 200, ""},
		{"ipv6", "GET", list, "", []string{"Host", "[::1]:7717"}, 200, ""},
		{"foreign origin", "POST", msg, `{"text":"x"}`, []string{"Origin", "https://evil.example"}, 403, "wrong_origin"},
		{"foreign origin, stream", "GET", "/api/v1/events", "", []string{"Origin", "http://localhost:3000"}, 403, "wrong_origin"},
		{"origin with our prefix", "POST", msg, `{"text":"x"}`, []string{"Origin", "http://127.0.0.1:77170"}, 403, "wrong_origin"},
		{"null origin", "POST", msg, `{"text":"x"}`, []string{"Origin", "null"}, 403, "wrong_origin"},
		{"own origin", "POST", msg, `{"text":"x"}`, []string{"Origin", "http://127.0.0.1:7717"}, 200, ""},
		{"another site", "POST", msg, `{"text":"x"}`, []string{"Sec-Fetch-Site", "cross-site"}, 403, "wrong_origin"},
		{"another port of this machine", "GET", list, "", []string{"Sec-Fetch-Site", "same-site"}, 403, "wrong_origin"},
		{"a link to the page", "GET", "/", "", []string{"Sec-Fetch-Site", "cross-site", "Authorization", ""}, 401, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newServerFixture(t, nil)
			r := h.sendRequest(t, c.method, c.path, c.body, c.header...)
			if r.code != c.want {
				t.Fatalf("%d %s, want %d", r.code, r.body, c.want)
			}
			if c.code != "" {
				e := decodeAs[refusal](t, r).Error
				if e.Code != c.code || e.Message == "" || e.Remedy == "" {
					t.Errorf("error %+v, want code %s, a message and a remedy", e, c.code)
				}
			}
			for _, k := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy"} {
				if r.header.Get(k) == "" {
					t.Errorf("the header %s is missing", k)
				}
			}
			if n := len(h.e.heard); n != 0 && c.want != 200 {
				t.Errorf("%d messages got through", n)
			}
		})
	}
}

func TestNew_RejectsMistakes(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*web.Options)
		want   string // part of the error, "" for none
	}{
		{"loopback", func(*web.Options) {}, ""},
		{"ipv6 loopback", func(o *web.Options) { o.Listen = "[::1]:0" }, ""},
		{"everywhere", func(o *web.Options) { o.Listen = "0.0.0.0:7717" }, "TLS and a password"},
		{"everywhere, by omission", func(o *web.Options) { o.Listen = ":7717" }, "TLS and a password"},
		{"all interfaces with only TLS", func(o *web.Options) { o.Listen, o.TLS = ":7717", &tls.Config{} }, "TLS and a password"},
		{"everywhere with both", func(o *web.Options) { o.Listen, o.TLS, o.Password = ":7717", &tls.Config{}, "correct horse" }, ""},
		{"a name", func(o *web.Options) { o.Listen = "localhost.evil.example:7717" }, "TLS and a password"},
		{"no port", func(o *web.Options) { o.Listen = "127.0.0.1" }, "not host:port"},
		{"a port that is not a number", func(o *web.Options) { o.Listen = "127.0.0.1:http" }, "not host:port"},
		{"no token", func(o *web.Options) { o.Token = "" }, "token"},
		{"no backend", func(o *web.Options) { o.Backend = nil }, "Backend"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := web.Options{Token: token, Backend: newEngine(), Log: slog.New(slog.DiscardHandler)}
			c.change(&o)
			_, err := web.New(o)
			if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// loginLink gets a login link and returns its path.
func (h *serverFixture) loginLink(t *testing.T) string {
	t.Helper()
	r := h.sendRequest(t, "POST", "/api/v1/login", "")
	u := decodeAs[struct{ URL string }](t, r).URL
	path, ok := strings.CutPrefix(u, h.URL())
	if !ok {
		t.Fatalf("link %q", u)
	}
	return path
}

// followLink uses a link without following its redirect.
func (h *serverFixture) followLink(t *testing.T, path string) reply {
	t.Helper()
	h.c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return h.sendRequest(t, "GET", path, "", "Authorization", "")
}

func cookieOf(t *testing.T, r reply) *http.Cookie {
	t.Helper()
	if r.header.Get("Set-Cookie") == "" {
		return nil
	}
	c, err := http.ParseSetCookie(r.header.Get("Set-Cookie"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLoginLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newServerFixture(t, nil)
		path := h.loginLink(t)
		r := h.followLink(t, path)
		c := cookieOf(t, r)
		if r.code != http.StatusSeeOther || c == nil || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.MaxAge != 30*24*3600 {
			t.Fatalf("%d, cookie %+v", r.code, c)
		}
		pair := c.Name + "=" + c.Value
		in := func() int {
			return h.sendRequest(t, "GET", "/api/v1/sessions", "", "Authorization", "", "Cookie", pair).code
		}
		if got := in(); got != 200 {
			t.Errorf("request with the cookie: %d", got)
		}
		if r := h.followLink(t, path); cookieOf(t, r) != nil || r.header.Get("Location") != "/chat?failed" {
			t.Errorf("second use of the link: %d to %s", r.code, r.header.Get("Location"))
		}
		again := newServerFixture(t, nil) // a restart
		if r := again.sendRequest(t, "GET", "/api/v1/sessions", "", "Authorization", "", "Cookie", pair); r.code != 200 {
			t.Errorf("request with the cookie after a restart: %d", r.code)
		}
		other := newServerFixture(t, func(o *web.Options) { o.Token = strings.Repeat("f", 64) })
		if r := other.sendRequest(t, "GET", "/api/v1/sessions", "", "Authorization", "", "Cookie", pair); r.code != 401 {
			t.Errorf("request with the cookie after a change of the token: %d", r.code)
		}
		time.Sleep(30*24*time.Hour + time.Second)
		if got := in(); got != 401 {
			t.Errorf("request with the cookie after 30 days: %d", got)
		}
		late := h.loginLink(t)
		time.Sleep(2*time.Minute + time.Second)
		if r := h.followLink(t, late); cookieOf(t, r) != nil {
			t.Error("an expired link works")
		}
	})
}

func TestAuth_SlowsDownGuessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newServerFixture(t, nil)
		var last reply
		for range 40 {
			last = h.sendRequest(t, "GET", "/api/v1/sessions", "", "Authorization", "Bearer nope")
		}
		if last.code != http.StatusTooManyRequests || last.header.Get("Retry-After") == "" {
			t.Errorf("after 40 wrong tokens: %d, Retry-After %q", last.code, last.header.Get("Retry-After"))
		}
		if r := h.sendRequest(t, "GET", "/api/v1/sessions", ""); r.code != 200 {
			t.Errorf("the owner's request was rejected: %d", r.code)
		}
		time.Sleep(time.Minute)
		if r := h.sendRequest(t, "GET", "/api/v1/sessions", "", "Authorization", "Bearer nope"); r.code != 401 {
			t.Errorf("one minute later: %d", r.code)
		}
	})
}

func TestPassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newServerFixture(t, func(o *web.Options) { o.Password = "correct horse" })
		if e := decodeAs[refusal](t, h.sendRequest(t, "GET", "/api/v1/sessions", "", "Authorization", "")).Error; e.Code != "password_required" {
			t.Errorf("code %q", e.Code)
		}
		try := func(p string) reply {
			return h.sendRequest(t, "POST", "/login", fmt.Sprintf(`{"password":%q}`, p), "Authorization", "")
		}
		if r := try("wrong"); r.code != 401 || cookieOf(t, r) != nil {
			t.Errorf("login with a wrong password: %d", r.code)
		}
		if r := try("correct horse"); r.code != 200 || cookieOf(t, r) == nil {
			t.Errorf("login with the password: %d", r.code)
		}
		for range 40 {
			try("wrong")
		}
		if r := try("correct horse"); r.code != http.StatusTooManyRequests {
			t.Errorf("guessing is not slowed down: %d", r.code)
		}
		time.Sleep(time.Minute)
		if r := try("correct horse"); r.code != 200 {
			t.Errorf("one minute later: %d", r.code)
		}
		if r := newServerFixture(t, nil).sendRequest(t, "POST", "/login", `{"password":""}`, "Authorization", ""); r.code != 404 {
			t.Errorf("login without a configured password: %d", r.code)
		}
	})
}

// The login page sends a form, also without JavaScript.
func TestPasswordForm_LogsInAndShowsErrorsAsPage(t *testing.T) {
	h := newServerFixture(t, func(o *web.Options) { o.Password = "correct horse" })
	h.followLink(t, "/chat") // from now on without following redirects
	try := func(p string) reply {
		return h.sendRequest(t, "POST", "/login", url.Values{"username": {"owner"}, "password": {p}}.Encode(), "Authorization", "", "Content-Type", "application/x-www-form-urlencoded")
	}
	if r := try("wrong"); r.code != 401 || cookieOf(t, r) != nil || !strings.Contains(r.body, "The password is wrong.") || !strings.Contains(r.body, `id="password"`) {
		t.Errorf("a wrong password: %d %s", r.code, r.body)
	}
	if r := try("correct horse"); r.code != 303 || r.header.Get("Location") != "/" || cookieOf(t, r) == nil {
		t.Errorf("the password: %d %s", r.code, r.body)
	}
}

func TestReady(t *testing.T) {
	h := newServerFixture(t, nil)
	if r := h.sendRequest(t, "GET", "/readyz", "", "Authorization", ""); r.code != 200 {
		t.Errorf("ready: %d", r.code)
	}
	h.e.ready = errors.New("the store is being checked")
	if r := h.sendRequest(t, "GET", "/readyz", "", "Authorization", ""); r.code != 503 || !strings.Contains(r.body, "being checked") {
		t.Errorf("/readyz while not ready: %d %s", r.code, r.body)
	}
}

func TestPage(t *testing.T) {
	h := newServerFixture(t, nil)
	for path, mime := range map[string]string{
		"/assets/dashboard.js": "text/javascript", "/assets/chat.js": "text/javascript", "/assets/dashboard.css": "text/css", "/icon.svg": "image/svg+xml",
		"/assets/manifest.webmanifest": "application/manifest+json", "/assets/vendor/htmx.min.js": "text/javascript",
	} {
		r := h.sendRequest(t, "GET", path, "", "Authorization", "")
		if r.code != 200 || !strings.HasPrefix(r.header.Get("Content-Type"), mime) || r.body == "" {
			t.Errorf("%s: %d %s", path, r.code, r.header.Get("Content-Type"))
		}
		if r := h.sendRequest(t, "GET", path, "", "If-None-Match", r.header.Get("ETag")); r.code != 304 || r.body != "" {
			t.Errorf("second request of %s: %d", path, r.code)
		}
		if strings.Contains(path, "vendor") {
			continue
		}
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "<script>", "style=\"", " onclick=\""} {
			if strings.Contains(r.body, bad) {
				t.Errorf("%s contains %s", path, bad)
			}
		}
	}
	if r := h.followLink(t, "/"); r.code != 303 || r.header.Get("Location") != "/chat" {
		t.Errorf("the root: %d %q", r.code, r.header.Get("Location"))
	}
}

// A browser that is not logged in gets a page that says how to log in, and nothing else.
func TestPages_NeedLogin(t *testing.T) {
	h := newServerFixture(t, nil)
	for _, path := range []string{"/chat", "/today", "/timeline", "/approvals", "/chat/asked", "/live"} {
		r := h.sendRequest(t, "GET", path, "", "Authorization", "")
		if r.code != 401 || !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") || !strings.Contains(r.body, "hob open") {
			t.Errorf("%s: %d %s", path, r.code, r.body)
		}
	}
	for _, path := range []string{"/approvals/answer", "/today/add", "/chat/send", "/logout"} {
		const form = "application/x-www-form-urlencoded"
		if r := h.sendRequest(t, "POST", path, "id=a1&approved=true&title=x&text=x", "Authorization", "", "Content-Type", form); r.code != 401 {
			t.Errorf("%s: %d", path, r.code)
		}
		if r := h.sendRequest(t, "POST", path, "id=a1&approved=true&title=x&text=x", "Content-Type", form, "Sec-Fetch-Site", "cross-site"); r.code != 403 {
			t.Errorf("%s from another site: %d", path, r.code)
		}
	}
	if len(h.e.answers) != 0 || len(h.e.heard) != 0 {
		t.Error("a form without login changed something")
	}
}

// Logging out ends the login of one browser, also after a restart.
func TestLogout_EndsOnlyThisLogin(t *testing.T) {
	h := newServerFixture(t, nil)
	one, two := cookieOf(t, h.followLink(t, h.loginLink(t))), cookieOf(t, h.followLink(t, h.loginLink(t)))
	as := func(c *http.Cookie) []string { return []string{"Authorization", "", "Cookie", c.Name + "=" + c.Value} }
	const list = "/api/v1/inbox/e1"
	if r := h.sendRequest(t, "POST", "/logout", "", as(one)...); r.code != 303 {
		t.Fatalf("%d %s", r.code, r.body)
	}
	if r := h.sendRequest(t, "GET", list, "", as(one)...); r.code != 401 {
		t.Errorf("request after the logout: %d", r.code)
	}
	if r := h.sendRequest(t, "GET", list, "", as(two)...); r.code == 401 {
		t.Error("the other login ended too")
	}
}
