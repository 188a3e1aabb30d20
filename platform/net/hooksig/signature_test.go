package hooksig_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/platform/net/hooksig"
)

func mac(text string) string {
	m := hmac.New(sha256.New, []byte("secret"))
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}

func TestRead(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	at := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	for _, c := range []struct {
		name, sig, stamp, key string
		fits, stale           bool
		id                    string
		err                   error
	}{
		{"the body", "sha256=" + mac("b"), "", "", true, false, "body:", nil},
		{"the body only, with any key", "SHA256=" + mac("b"), "", "k", true, false, "body:", nil},
		{"another body", "sha256=" + mac("c"), "", "", false, false, "body:", nil},
		{"nothing", "", "", "", false, false, "body:", nil},
		{"no hex", "sha256=xyz", "", "", false, false, "body:", nil},
		{"a time", "v1=" + mac(at(0)+"..b"), at(0), "", true, false, "sent:", nil},
		{"a time and a key", "v1=" + mac(at(0)+".k.b"), at(0), "k", true, false, "id:", nil},
		{"another key", "v1=" + mac(at(0)+".k.b"), at(0), "l", false, false, "id:", nil},
		{"another time", "v1=" + mac(at(0)+"..b"), at(time.Second), "", false, false, "sent:", nil},
		{"too old", "v1=" + mac(at(-301*time.Second)+"..b"), at(-301 * time.Second), "", true, true, "sent:", nil},
		{"to come", "v1=" + mac(at(301*time.Second)+"..b"), at(301 * time.Second), "", true, true, "sent:", nil},
		{"without its time", "v1=" + mac(at(0)+"..b"), "", "", false, false, "body:", nil},
		{"the body alone beside a time", "sha256=" + mac("b"), at(0), "", false, false, "sent:", nil},
		{"no time", "v1=" + mac("x..b"), "x", "", false, false, "", hooksig.ErrTime},
		{"a time in another form", "v1=" + mac("+18..b"), "+18", "", false, false, "", hooksig.ErrTime},
		{"a key with a dot", "v1=" + mac(at(0)+".a.b.b"), at(0), "a.b", false, false, "", hooksig.ErrKey},
		{"a long key", "v1=" + mac(at(0)+"..b"), at(0), strings.Repeat("k", 201), false, false, "", hooksig.ErrKey},
	} {
		h := http.Header{}
		for k, v := range map[string]string{hooksig.Header: c.sig, hooksig.Time: c.stamp, hooksig.Key: c.key} {
			if v != "" {
				h.Set(k, v)
			}
		}
		p, err := hooksig.Read(h, hooksig.Secret{Value: []byte("secret")}, []byte("b"), now)
		if p.Fits != c.fits || p.Stale != c.stale || !strings.HasPrefix(p.ID, c.id) || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v", c.name, p, err)
		}
	}
	if got := hooksig.OfBody([]byte("secret"), []byte("b")); got != "sha256="+mac("b") {
		t.Error(got)
	}
}

// The two schemes must not sign the same text, or a recorded request of one passes as
// a request of the other.
func TestReview10_SchemesSignDifferentTexts(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	stamp := strconv.FormatInt(now.Unix(), 10)
	bodyOnly := func(body string) (hooksig.Proof, error) {
		h := http.Header{hooksig.Header: {"sha256=" + mac(body)}}
		return hooksig.Read(h, hooksig.Secret{Value: []byte("secret")}, []byte(body), now)
	}
	for _, body := range []string{
		stamp + "..b", stamp + ".k.b", stamp + ".k.", "0..", "1099511627776.k.b", stamp + "." + strings.Repeat("k", 200) + ".b",
		stamp + ".a b\n{}.b", stamp + ".1 2026-11-23 10.00",
	} {
		if p, err := bodyOnly(body); !errors.Is(err, hooksig.ErrAmbiguous) || p.Fits {
			t.Errorf("body-only %q: %+v, %v, want ErrAmbiguous", body, p, err)
		}
	}
	for _, body := range []string{
		"", "b", "..b", "3.14", "12", "1.", "1.5 degrees", "-1.k.b", " 1.k.b", "1 .k.b", `{"a":"1.k.b"}`, "99999999999999.k.b",
		stamp + "." + strings.Repeat("k", 201) + ".b",
	} {
		if p, err := bodyOnly(body); err != nil || !p.Fits {
			t.Errorf("body-only %q: %+v, %v, want a valid signature", body, p, err)
		}
	}
}

func TestReview10_AcceptsOnlyTheSchemeOfTheSecret(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	stamp := strconv.FormatInt(now.Unix(), 10)
	timed := http.Header{hooksig.Header: {"v1=" + mac(stamp+".k.b")}, hooksig.Time: {stamp}, hooksig.Key: {"k"}}
	body := http.Header{hooksig.Header: {"sha256=" + mac("b")}}
	for _, c := range []struct {
		scheme      hooksig.Scheme
		timed, body bool
	}{{"", true, true}, {hooksig.AnyScheme, true, true}, {hooksig.Timed, true, false}, {hooksig.BodyOnly, false, true}} {
		for form, h := range map[bool]http.Header{true: timed, false: body} {
			want := form && c.timed || !form && c.body
			p, err := hooksig.Read(h, hooksig.Secret{Value: []byte("secret"), Scheme: c.scheme}, []byte("b"), now)
			if p.Fits != want || errors.Is(err, hooksig.ErrScheme) == want {
				t.Errorf("scheme %q, timed %v: %+v, %v", c.scheme, form, p, err)
			}
		}
	}
}

// FuzzRead checks that no request is valid in both schemes under one MAC.
func FuzzRead(f *testing.F) {
	f.Add("1800000000", "k", "b")
	f.Add("1", "", "1.k.b")
	f.Fuzz(func(t *testing.T, stamp, key, body string) {
		now := time.Unix(1_800_000_000, 0)
		text := stamp + "." + key + "." + body
		secret := hooksig.Secret{Value: []byte("secret")}
		timed := http.Header{hooksig.Header: {"v1=" + mac(text)}, hooksig.Time: {stamp}, hooksig.Key: {key}}
		p, err := hooksig.Read(timed, secret, []byte(body), now)
		q, bodyErr := hooksig.Read(http.Header{hooksig.Header: {"sha256=" + mac(text)}}, secret, []byte(text), now)
		if stamp != "" && err == nil && p.Fits && bodyErr == nil && q.Fits {
			t.Errorf("%q is valid in both schemes", text)
		}
	})
}
