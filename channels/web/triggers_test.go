package web_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func signature(secret, body string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

func TestTrigger(t *testing.T) {
	const body = `{"ref":"main"}`
	good := signature("s3cret", body)
	for _, c := range []struct {
		name, trigger, body string
		header              []string
		want                int
	}{
		{"a good signature", "build", body, []string{"Authorization", "", "X-Hob-Signature", good}, 202},
		{"in capitals", "build", body, []string{"Authorization", "", "X-Hob-Signature", strings.ToUpper(good)}, 202},
		{"the token", "build", body, nil, 202},
		{"no JSON", "build", "plain words", []string{"Content-Type", "text/plain"}, 202},
		{"no body", "build", "", nil, 202},
		{"nothing", "build", body, []string{"Authorization", ""}, 401},
		{"a wrong token", "build", body, []string{"Authorization", "Bearer x"}, 401},
		{"another secret", "build", body, []string{"Authorization", "", "X-Hob-Signature", signature("other", body)}, 401},
		{"another body", "build", body + " ", []string{"Authorization", "", "X-Hob-Signature", good}, 401},
		{"another algorithm", "build", body, []string{"Authorization", "", "X-Hob-Signature", "sha1" + good[6:]}, 401},
		{"no digits", "build", body, []string{"Authorization", "", "X-Hob-Signature", "sha256="}, 401},
		{"a wrong signature beside the token", "build", body, []string{"X-Hob-Signature", "sha256=00"}, 401},
		{"an unknown trigger", "nope", body, []string{"Authorization", "", "X-Hob-Signature", signature("", body)}, 401},
		{"a trigger without secret", "open", body, []string{"Authorization", "", "X-Hob-Signature", signature("", body)}, 401},
		{"an unknown trigger with the token", "nope", body, nil, 404},
		{"not UTF-8", "build", "\xff", nil, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, nil)
			r := h.send(t, "POST", "/api/v1/triggers/"+c.trigger+"/fire", c.body, c.header...)
			if r.code != c.want {
				t.Fatalf("%d %s, want %d", r.code, r.body, c.want)
			}
			if got := len(h.e.fired); got != 0 != (c.want == 202) {
				t.Errorf("fired %d times", got)
			}
		})
	}
}

func TestTriggerFiresOnce(t *testing.T) {
	type call struct {
		body   string
		header []string
	}
	signed := func(body string, header ...string) call {
		return call{body, append([]string{"Authorization", "", "X-Hob-Signature", signature("s3cret", body)}, header...)}
	}
	for _, c := range []struct {
		name  string
		calls []call
		want  int
	}{
		{"a replayed body", []call{signed("a"), signed("a")}, 1},
		{"two bodies", []call{signed("a"), signed("b")}, 2},
		{"the same id", []call{signed("a", "Idempotency-Key", "1"), signed("b", "Idempotency-Key", "1")}, 1},
		{"the same request", []call{signed("a", "X-Request-Id", "1"), signed("a", "X-Request-Id", "1")}, 1},
		{"two ids", []call{signed("a", "X-Request-Id", "1"), signed("a", "X-Request-Id", "2")}, 2},
		{"the owner twice", []call{{"a", nil}, {"a", nil}}, 2},
		{"the owner repeating", []call{{"a", []string{"Idempotency-Key", "1"}}, {"a", []string{"Idempotency-Key", "1"}}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, nil)
			for _, k := range c.calls {
				if r := h.send(t, "POST", "/api/v1/triggers/build/fire", k.body, k.header...); r.code != 202 {
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
	f.Add(signature("s3cret", "x"), "x")
	f.Add("sha256=", "")
	f.Add("=\x00", "x")
	f.Add("sha256=zz,sha256=00", "x")
	h := newHouse(f, nil)
	f.Fuzz(func(t *testing.T, sig, body string) {
		if sig == "" || strings.ContainsFunc(sig, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Skip()
		}
		r := h.send(t, "POST", "/api/v1/triggers/build/fire", body, "Authorization", "", "X-Hob-Signature", sig)
		right := strings.EqualFold(strings.TrimSpace(sig), signature("s3cret", body))
		if (r.code == 202) != right && r.code != 400 && r.code != 429 {
			t.Errorf("signature %q: %d %s", sig, r.code, r.body)
		}
	})
}
