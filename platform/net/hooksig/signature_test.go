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

func signText(text string) string {
	m := hmac.New(sha256.New, []byte("secret"))
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}

func TestRead(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	at := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	good := "v1=" + signText(at(0)+".k.b")
	for _, c := range []struct {
		name, sig, stamp, key string
		fits, stale           bool
		err                   error
	}{
		{"a time and a key", good, at(0), "k", true, false, nil},
		{"in capitals", strings.ToUpper(good), at(0), "k", true, false, nil},
		{"one of several signatures", "v2=00, " + good, at(0), "k", true, false, nil},
		{"another key", good, at(0), "l", false, false, nil},
		{"another time", good, at(time.Second), "k", false, false, nil},
		{"too old", "v1=" + signText(at(-301*time.Second)+".k.b"), at(-301 * time.Second), "k", true, true, nil},
		{"to come", "v1=" + signText(at(301*time.Second)+".k.b"), at(301 * time.Second), "k", true, true, nil},
		{"nothing", "", "", "", false, false, hooksig.ErrTime},
		{"no signature", "", at(0), "k", false, false, nil},
		{"no hex", "v1=xyz", at(0), "k", false, false, nil},
		{"without its key", "v1=" + signText(at(0)+"..b"), at(0), "", false, false, hooksig.ErrKey},
		{"without its time", good, "", "k", false, false, hooksig.ErrTime},
		{"the body alone", "sha256=" + signText("b"), "", "", false, false, hooksig.ErrOldFormat},
		{"the body alone, with a key", "SHA256=" + signText("b"), "", "k", false, false, hooksig.ErrOldFormat},
		{"the body alone beside a time and a key", "sha256=" + signText("b"), at(0), "k", false, false, nil},
		{"no time", "v1=" + signText("x.k.b"), "x", "k", false, false, hooksig.ErrTime},
		{"a time in another form", "v1=" + signText("+18.k.b"), "+18", "k", false, false, hooksig.ErrTime},
		{"a key with a dot", "v1=" + signText(at(0)+".a.b.b"), at(0), "a.b", false, false, hooksig.ErrKey},
		{"a long key", good, at(0), strings.Repeat("k", 201), false, false, hooksig.ErrKey},
	} {
		h := http.Header{}
		for k, v := range map[string]string{hooksig.Header: c.sig, hooksig.Time: c.stamp, hooksig.Key: c.key} {
			if v != "" {
				h.Set(k, v)
			}
		}
		p, err := hooksig.Read(h, []byte("secret"), []byte("b"), now)
		if p.Fits != c.fits || p.Stale != c.stale || (p.ID == "") != (err != nil) || !errors.Is(err, c.err) {
			t.Errorf("%s: Read = %+v, %v", c.name, p, err)
		}
	}
}

// A body-only signature never passes for a request with a timestamp. A receiver of requests from
// Hob may know such signatures.
func TestReview10_SchemesSignDifferentTexts(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, body := range []string{"", "b", "1800000000.k.b", "0..", "3.14"} {
		h := http.Header{hooksig.Header: {"sha256=" + signText(body)}}
		if p, err := hooksig.Read(h, []byte("secret"), []byte(body), now); !errors.Is(err, hooksig.ErrOldFormat) || p.Fits {
			t.Errorf("body-only %q: %+v, %v, want ErrOldFormat", body, p, err)
		}
		h.Set(hooksig.Time, "1800000000")
		h.Set(hooksig.Key, "k")
		if p, err := hooksig.Read(h, []byte("secret"), []byte(body), now); err != nil || p.Fits {
			t.Errorf("body-only %q with a timestamp and a key: %+v, %v", body, p, err)
		}
	}
}

func TestSign_IsReadAgain(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	h := http.Header{}
	hooksig.Sign(h, []byte("secret"), "id-1", []byte("b"), now)
	if want := "v1=" + signText("1800000000.id-1.b") + ", sha256=" + signText("b"); h.Get(hooksig.Header) != want {
		t.Errorf("signature %q, want %q", h.Get(hooksig.Header), want)
	}
	p, err := hooksig.Read(h, []byte("secret"), []byte("b"), now.Add(time.Minute))
	if err != nil || !p.Fits || p.Stale {
		t.Errorf("Read = %+v, %v", p, err)
	}
}

// FuzzRead checks that a signature fits exactly one time, key and body.
func FuzzRead(f *testing.F) {
	f.Add("1800000000", "k", "b", "1")
	f.Add("1", "", "1.k.b", ".")
	f.Fuzz(func(t *testing.T, stamp, key, body, more string) {
		now := time.Unix(1_800_000_000, 0)
		h := http.Header{hooksig.Header: {"v1=" + signText(stamp+"."+key+"."+body)}, hooksig.Time: {stamp}, hooksig.Key: {key}}
		p, err := hooksig.Read(h, []byte("secret"), []byte(body), now)
		if err == nil && !p.Fits {
			t.Errorf("%q %q %q: own signature is rejected", stamp, key, body)
		}
		if more == "" || err != nil {
			return
		}
		h.Set(hooksig.Key, key+more)
		if q, err := hooksig.Read(h, []byte("secret"), []byte(body), now); err == nil && q.Fits {
			t.Errorf("%q is also valid for the key %q", body, key+more)
		}
		h.Set(hooksig.Key, key)
		if q, err := hooksig.Read(h, []byte("secret"), []byte(body+more), now); err == nil && q.Fits {
			t.Errorf("the signature of %q is also valid for %q", body, body+more)
		}
	})
}
