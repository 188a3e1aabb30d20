package app

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/platform/net/hooksig"
)

// hexMAC returns the signature that a program computes over text.
func hexMAC(secret, text string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}

// signedHook returns the headers of a post whose key is derived from the body.
func signedHook(secret, body string) map[string]string {
	h := http.Header{}
	hooksig.Sign(h, []byte(secret), hexMAC("key", body)[:32], []byte(body), time.Now())
	out := map[string]string{}
	for name := range h {
		out[name] = h.Get(name)
	}
	return out
}

// Someone who recorded a timestamped request has the MAC of "timestamp.key.body".
// The same MAC must not pass as the signature of a body that consists of that text.
func TestReview10_RefusesTimestampedSignatureAsBodyOnly(t *testing.T) {
	h := openDaemon(t, "[triggers.door]\nsecret = \"s3cret\"\naction = \"remember it\"\n[channels.webhook]\nsecret = \"whsec\"\n")
	const body = `{"text":"the door is open"}`
	for _, key := range []string{"k0", "k1"} {
		stamp := strconv.FormatInt(time.Now().Unix(), 10)
		signed := stamp + "." + key + "." + body
		for path, secret := range map[string]string{"/api/v1/triggers/door/fire": "s3cret", "/hooks/webhook": "whsec"} {
			original := map[string]string{"X-Hob-Timestamp": stamp, "X-Hob-Signature": "v1=" + hexMAC(secret, signed), "Idempotency-Key": key}
			if code, said := h.fireSigned(path, body, original); code != http.StatusAccepted {
				t.Errorf("%s: the original request got %d %s, want 202", path, code, said)
			}
			replay := map[string]string{"X-Hob-Signature": "sha256=" + hexMAC(secret, signed)}
			if code, said := h.fireSigned(path, signed, replay); code != http.StatusUnauthorized {
				t.Errorf("%s: the replay as body-only got %d %s, want 401", path, code, said)
			}
		}
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	const other = `{"text":"the window is open"}`
	for path, secret := range map[string]string{"/api/v1/triggers/door/fire": "s3cret", "/hooks/webhook": "whsec"} {
		reused := map[string]string{"X-Hob-Timestamp": stamp, "X-Hob-Signature": "v1=" + hexMAC(secret, stamp+".k0."+other), "Idempotency-Key": "k0"}
		if code, said := h.fireSigned(path, other, reused); code != http.StatusConflict {
			t.Errorf("%s: another body with the same key got %d %s, want 409", path, code, said)
		}
	}
	if _, list := h.callAPI(http.MethodGet, "/api/v1/inbox", nil); strings.Contains(string(list), ".k1.") {
		t.Errorf("the replay is in the inbox: %s", list)
	}
}

// fireSigned posts to a path without Hob's token.
func (h *daemonFixture) fireSigned(path, body string, header map[string]string) (int, string) {
	h.t.Helper()
	if strings.HasPrefix(path, "/hooks/") {
		return h.postHook(path, []byte(body), header)
	}
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, "http://"+h.d.Addr()+path, strings.NewReader(body))
	failOnError(h.t, err)
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	failOnError(h.t, err)
	defer func() { _ = res.Body.Close() }()
	return res.StatusCode, res.Status
}
