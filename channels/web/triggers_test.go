package web_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func signBody(secret, body string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

// stampHeaders returns the headers of a request to a trigger whose time and key are signed.
func stampHeaders(secret string, at time.Time, key, body string, more ...string) []string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(stamp + "." + key + "." + body))
	h := []string{"Authorization", "", "X-Hob-Timestamp", stamp, "X-Hob-Signature", "v1=" + hex.EncodeToString(m.Sum(nil))}
	if key != "" {
		h = append(h, "Idempotency-Key", key)
	}
	return append(h, more...)
}

func TestTrigger_WithTimestamp(t *testing.T) {
	const body = `{"ref":"main"}`
	now := time.Now()
	for _, c := range []struct {
		name, body string
		header     []string
		want       int
		code       string
	}{
		{"now", body, stampHeaders("s3cret", now, "k1", body), 202, ""},
		{"without a key", body, stampHeaders("s3cret", now, "", body), 401, "bad_key"},
		{"a clock that is behind", body, stampHeaders("s3cret", now.Add(-4*time.Minute), "k1", body), 202, ""},
		{"a clock that is ahead", body, stampHeaders("s3cret", now.Add(4*time.Minute), "k1", body), 202, ""},
		{"an old recording", body, stampHeaders("s3cret", now.Add(-6*time.Minute), "k1", body), 401, "stale_timestamp"},
		{"from the future", body, stampHeaders("s3cret", now.Add(6*time.Minute), "k1", body), 401, "stale_timestamp"},
		{"an old recorded request", body, stampHeaders("other", now.Add(-6*time.Minute), "k1", body), 401, "bad_signature"},
		{"another key", body, stampHeaders("s3cret", now, "k1", body, "Idempotency-Key", "k2"), 401, "bad_signature"},
		{"another time", body, stampHeaders("s3cret", now, "k1", body, "X-Hob-Timestamp", strconv.FormatInt(now.Unix()+1, 10)), 401, "bad_signature"},
		{"another body", body + " ", stampHeaders("s3cret", now, "k1", body), 401, "bad_signature"},
		{"the timestamp removed", body, stampHeaders("s3cret", now, "k1", body, "X-Hob-Timestamp", ""), 401, "bad_timestamp"},
		{"the signature of only the body", body, stampHeaders("s3cret", now, "k1", body, "X-Hob-Signature", signBody("s3cret", body)), 401, "bad_signature"},
		{"a key that moves into the body", "b" + body, stampHeaders("s3cret", now, "", "a.b"+body, "Idempotency-Key", ".a"), 401, "bad_key"},
		{"a key with a dot", body, stampHeaders("s3cret", now, "k.1", body), 401, "bad_key"},
		{"no number", body, stampHeaders("s3cret", now, "k1", body, "X-Hob-Timestamp", "yesterday"), 401, "bad_timestamp"},
		{"another notation", body, stampHeaders("s3cret", now, "k1", body, "X-Hob-Timestamp", "+"+strconv.FormatInt(now.Unix(), 10)), 401, "bad_timestamp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newServerFixture(t, nil)
			r := h.sendRequest(t, "POST", "/api/v1/triggers/build/fire", c.body, c.header...)
			if r.code != c.want || !strings.Contains(r.body, c.code) {
				t.Fatalf("%d %s, want %d %s", r.code, r.body, c.want, c.code)
			}
			if got := len(h.e.fired); got != 0 != (c.want == 202) {
				t.Errorf("fired %d times", got)
			}
		})
	}
}

func TestTrigger(t *testing.T) {
	const body = `{"ref":"main"}`
	good := signBody("s3cret", body)
	for _, c := range []struct {
		name, trigger, body string
		header              []string
		want                int
	}{
		{"a good signature", "build", body, stampHeaders("s3cret", time.Now(), "k", body), 202},
		{"the format of older versions", "build", body, []string{"Authorization", "", "X-Hob-Signature", good}, 401},
		{"the token", "build", body, nil, 202},
		{"no JSON", "build", "plain words", []string{"Content-Type", "text/plain"}, 202},
		{"no body", "build", "", nil, 202},
		{"nothing", "build", body, []string{"Authorization", ""}, 401},
		{"a wrong token", "build", body, []string{"Authorization", "Bearer x"}, 401},
		{"another secret", "build", body, []string{"Authorization", "", "X-Hob-Signature", signBody("other", body)}, 401},
		{"another body", "build", body + " ", []string{"Authorization", "", "X-Hob-Signature", good}, 401},
		{"another algorithm", "build", body, []string{"Authorization", "", "X-Hob-Signature", "sha1" + good[6:]}, 401},
		{"no digits", "build", body, []string{"Authorization", "", "X-Hob-Signature", "sha256="}, 401},
		{"a wrong signature beside the token", "build", body, []string{"X-Hob-Signature", "sha256=00"}, 401},
		{"an unknown trigger", "nope", body, []string{"Authorization", "", "X-Hob-Signature", signBody("", body)}, 401},
		{"a trigger without secret", "open", body, []string{"Authorization", "", "X-Hob-Signature", signBody("", body)}, 401},
		{"an unknown trigger with the token", "nope", body, nil, 404},
		{"not UTF-8", "build", "\xff", nil, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newServerFixture(t, nil)
			r := h.sendRequest(t, "POST", "/api/v1/triggers/"+c.trigger+"/fire", c.body, c.header...)
			if r.code != c.want {
				t.Fatalf("%d %s, want %d", r.code, r.body, c.want)
			}
			if got := len(h.e.fired); got != 0 != (c.want == 202) {
				t.Errorf("fired %d times", got)
			}
		})
	}
}

// A recorded request with a signed timestamp must not fire the trigger again as a request that
// signs only the body.
func TestReview10_TriggerRefusesReplayInWeakerScheme(t *testing.T) {
	const body = `{"ref":"main"}`
	now := time.Now()
	stamp := strconv.FormatInt(now.Unix(), 10)
	for _, key := range []string{"k0", "k1"} {
		h := newServerFixture(t, nil)
		if r := h.sendRequest(t, "POST", "/api/v1/triggers/build/fire", body, stampHeaders("s3cret", now, key, body)...); r.code != 202 {
			t.Fatalf("the original request got %d %s", r.code, r.body)
		}
		replay := stamp + "." + key + "." + body
		for _, header := range [][]string{
			{"X-Hob-Signature", signBody("s3cret", replay)},
			{"X-Hob-Signature", signBody("s3cret", replay), "Idempotency-Key", "k2"},
			{"X-Hob-Signature", signBody("s3cret", replay), "X-Hob-Timestamp", ""},
			{"X-Hob-Signature", "v1=" + signBody("s3cret", replay)[len("sha256="):]},
		} {
			r := h.sendRequest(t, "POST", "/api/v1/triggers/build/fire", replay, append([]string{"Authorization", ""}, header...)...)
			if r.code != 401 || !strings.Contains(r.body, "_signature") && !strings.Contains(r.body, "bad_timestamp") {
				t.Errorf("key %q, %v: the replay got %d %s, want 401", key, header, r.code, r.body)
			}
		}
		if len(h.e.fired) != 1 {
			t.Errorf("key %q: fired %d times: %q", key, len(h.e.fired), h.e.fired)
		}
	}
}

func TestReview10_TriggerKeepsToItsScheme(t *testing.T) {
	const body = `{"ref":"main"}`
	h := newServerFixture(t, nil)
	r := h.sendRequest(t, "POST", "/api/v1/triggers/build/fire", body, "Authorization", "", "X-Hob-Signature", signBody("s3cret", body))
	if r.code != 401 || !strings.Contains(r.body, "old_signature") || !strings.Contains(r.body, "timestamp.key.body") {
		t.Errorf("a body-only request got %d %s, want 401 and how to sign", r.code, r.body)
	}
	if r := h.sendRequest(t, "POST", "/api/v1/triggers/build/fire", body, stampHeaders("s3cret", time.Now(), "k1", body)...); r.code != 202 {
		t.Errorf("a timed request got %d %s, want 202", r.code, r.body)
	}
}

func TestTrigger_FiresOnce(t *testing.T) {
	type call struct {
		body   string
		header []string
	}
	now := time.Now()
	at := func(at time.Time, key, body string) call { return call{body, stampHeaders("s3cret", at, key, body)} }
	for _, c := range []struct {
		name  string
		calls []call
		want  int
	}{
		{"replayed", []call{at(now, "1", "a"), at(now, "1", "a")}, 1},
		{"sent again", []call{at(now, "1", "a"), at(now.Add(time.Minute), "1", "a")}, 1},
		{"two keys", []call{at(now, "1", "a"), at(now, "2", "a")}, 2},
		{"the owner twice", []call{{"a", nil}, {"a", nil}}, 2},
		{"the owner repeating", []call{{"a", []string{"Idempotency-Key", "1"}}, {"a", []string{"Idempotency-Key", "1"}}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newServerFixture(t, nil)
			for _, k := range c.calls {
				if r := h.sendRequest(t, "POST", "/api/v1/triggers/build/fire", k.body, k.header...); r.code != 202 {
					t.Fatalf("%d %s", r.code, r.body)
				}
			}
			if d := cmp.Diff(c.want, len(h.e.fired)); d != "" {
				t.Error(d)
			}
		})
	}
}

func FuzzSignature(f *testing.F) {
	f.Add(signBody("s3cret", "x"), "x")
	f.Add("sha256=", "")
	f.Add("=\x00", "x")
	f.Add("sha256=zz,sha256=00", "x")
	h := newServerFixture(f, nil)
	f.Fuzz(func(t *testing.T, sig, body string) {
		if sig == "" || strings.ContainsFunc(sig, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Skip()
		}
		r := h.sendRequest(t, "POST", "/api/v1/triggers/build/fire", body, "Authorization", "", "X-Hob-Signature", sig)
		if r.code == 202 {
			t.Errorf("signature %q without a timestamp: %d %s", sig, r.code, r.body)
		}
	})
}

// FuzzStamped checks that no request fires a trigger unless the secret has signed its time, key and
// body.
func FuzzStamped(f *testing.F) {
	now := strconv.FormatInt(time.Now().Unix(), 10)
	f.Add(now, "k", "v1=00", "x")
	f.Add("1.2", ".a", "v1=", "")
	f.Add("-1", "", "sha256=00", "x")
	h := newServerFixture(f, nil)
	f.Fuzz(func(t *testing.T, stamp, key, sig, body string) {
		for _, s := range []string{stamp, key, sig} {
			if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Skip()
			}
		}
		if sig == "" || strings.TrimSpace(stamp) == "" {
			t.Skip()
		}
		for _, right := range []bool{false, true} {
			if right {
				m := hmac.New(sha256.New, []byte("s3cret"))
				m.Write([]byte(stamp + "." + key + "." + body))
				sig = "v1=" + hex.EncodeToString(m.Sum(nil))
			}
			r := h.sendRequest(t, "POST", "/api/v1/triggers/build/fire", body, "Authorization", "", "X-Hob-Timestamp", stamp, "Idempotency-Key", key, "X-Hob-Signature", sig)
			n, err := strconv.ParseInt(stamp, 10, 64)
			fresh := err == nil && time.Since(time.Unix(n, 0)).Abs() < 6*time.Minute
			if r.code == 202 && (!right || !fresh || strings.Contains(key, ".")) {
				t.Errorf("%q %q %q %q: %d %s", stamp, key, sig, body, r.code, r.body)
			}
		}
	})
}
