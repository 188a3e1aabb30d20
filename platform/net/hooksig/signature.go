// Package hooksig signs and verifies HTTP requests between Hob and other programs. Triggers and the
// webhook channel use it.
//
// A request has three headers: X-Hob-Timestamp contains the seconds since 1970, Idempotency-Key an
// id of the request, and X-Hob-Signature "v1=" and the hex HMAC-SHA256 of timestamp.key.body. A key
// contains no dot, so the signed text can be split in only one way. A request older than Window is
// stale; a replay within Window has the same key. The format of older versions, "sha256=" and the
// HMAC of the body alone, is rejected (ErrOldFormat), because it does not protect against replays.
package hooksig

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Window is the maximum difference between the signer's clock and this one. An older request may be
// a replay.
const Window = 5 * time.Minute

// The headers.
const (
	Header = "X-Hob-Signature"
	Time   = "X-Hob-Timestamp"
	Key    = "Idempotency-Key"
)

const (
	scheme   = "v1"
	maxKey   = 200     // bytes
	maxStamp = 1 << 40 // seconds since 1970
)

// Remedy tells senders how to sign a request.
const Remedy = "send X-Hob-Timestamp (seconds since 1970), Idempotency-Key (your id for the request) and X-Hob-Signature: v1=hex(HMAC-SHA256(secret, timestamp.key.body)); see docs/triggers.md"

// Errors of requests that cannot have a valid signature.
var (
	ErrTime      = errors.New("X-Hob-Timestamp is missing or is not a time")
	ErrKey       = errors.New("the Idempotency-Key is missing, longer than 200 bytes, or contains a dot")
	ErrOldFormat = errors.New("a signature of the body alone is no longer accepted, because it does not protect against replays")
)

// Proof is the result of verifying a request.
type Proof struct {
	Fits bool
	// Stale is true if the timestamp differs from now by more than Window.
	Stale bool
	// ID identifies the request. A copy of the request has the same ID.
	ID string
}

// Read checks the signature of a request. An error means that no signature could be valid: Proof
// is then the zero value.
func Read(h http.Header, secret, body []byte, now time.Time) (Proof, error) {
	sig, stamp, key := h.Get(Header), h.Get(Time), h.Get(Key)
	if stamp == "" && strings.HasPrefix(strings.ToLower(strings.TrimSpace(sig)), "sha256=") {
		return Proof{}, ErrOldFormat
	}
	n, err := strconv.ParseInt(stamp, 10, 64)
	switch {
	case err != nil || n < 0 || n > maxStamp || strconv.FormatInt(n, 10) != stamp:
		return Proof{}, ErrTime
	case key == "" || strings.Contains(key, ".") || len(key) > maxKey:
		return Proof{}, ErrKey
	}
	return Proof{
		Fits:  hasHMAC(sig, hmacSHA256(secret, signedText(stamp, key, body))),
		Stale: now.Sub(time.Unix(n, 0)).Abs() > Window,
		ID:    Digest("id:", []byte(key)),
	}, nil
}

// Sign sets the three headers of a request. key must not contain a dot and must be at most 200
// bytes long. X-Hob-Signature also contains the signature of the body alone, after a comma, for
// receivers that were written for older versions.
func Sign(h http.Header, secret []byte, key string, body []byte, now time.Time) {
	stamp := strconv.FormatInt(now.Unix(), 10)
	h.Set(Time, stamp)
	h.Set(Key, key)
	h.Set(Header, scheme+"="+hex.EncodeToString(hmacSHA256(secret, signedText(stamp, key, body)))+", sha256="+hex.EncodeToString(hmacSHA256(secret, body)))
}

func signedText(stamp, key string, body []byte) []byte {
	return append([]byte(stamp+"."+key+"."), body...)
}

// Digest returns an identifier for text that does not reveal the text.
func Digest(kind string, text []byte) string {
	sum := sha256.Sum256(text)
	return kind + hex.EncodeToString(sum[:])
}

func hmacSHA256(secret, text []byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write(text)
	return m.Sum(nil)
}

// hasHMAC reports whether one of the signatures, which are separated by commas, is a v1 signature
// with this value.
func hasHMAC(list string, want []byte) (found bool) {
	for sig := range strings.SplitSeq(list, ",") {
		name, digits, _ := strings.Cut(strings.TrimSpace(sig), "=")
		sum, err := hex.DecodeString(digits)
		found = found || err == nil && strings.EqualFold(name, scheme) && hmac.Equal(sum, want)
	}
	return found
}
