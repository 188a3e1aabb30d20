package signature_test

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

	"hob/platform/signature"
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
		{"the body, whatever the key", "SHA256=" + mac("b"), "", "k", true, false, "body:", nil},
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
		{"no time", "v1=" + mac("x..b"), "x", "", false, false, "", signature.ErrTime},
		{"a time in another form", "v1=" + mac("+18..b"), "+18", "", false, false, "", signature.ErrTime},
		{"a key with a dot", "v1=" + mac(at(0)+".a.b.b"), at(0), "a.b", false, false, "", signature.ErrKey},
		{"a long key", "v1=" + mac(at(0)+"..b"), at(0), strings.Repeat("k", 201), false, false, "", signature.ErrKey},
	} {
		h := http.Header{}
		for k, v := range map[string]string{signature.Header: c.sig, signature.Time: c.stamp, signature.Key: c.key} {
			if v != "" {
				h.Set(k, v)
			}
		}
		p, err := signature.Read(h, []byte("secret"), []byte("b"), now)
		if p.Fits != c.fits || p.Stale != c.stale || !strings.HasPrefix(p.ID, c.id) || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v", c.name, p, err)
		}
	}
	if got := signature.OfBody([]byte("secret"), []byte("b")); got != "sha256="+mac("b") {
		t.Error(got)
	}
}
