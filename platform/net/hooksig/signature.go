// Package hooksig verifies signatures of HTTP requests to Hob and signs the requests
// that Hob posts. Triggers and the webhook channel use it.
//
// There are two schemes:
//
//   - Timed: X-Hob-Timestamp holds the seconds since 1970 and X-Hob-Signature is "v1="
//     and the hex HMAC-SHA256 of timestamp.key.body, where key is the Idempotency-Key
//     or nothing. A key has no dot, so the text can be split in one way only. A request
//     older than Window is stale; within Window a second copy has the same ID.
//   - BodyOnly: X-Hob-Signature is "sha256=" and the hex HMAC-SHA256 of the body. It
//     authenticates only the body, so the same body counts once, whatever its key.
//
// Both schemes use one secret, so their signed texts must never be equal: otherwise a
// recorded signature of one scheme is valid in the other. A body-only request whose
// body could be a timed text is therefore rejected. A Secret may be bound to one scheme.
package hooksig

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Window is the tolerated clock difference of the signer: an older request may be
// a replay.
const Window = 5 * time.Minute

// The headers.
const (
	Header = "X-Hob-Signature"
	Time   = "X-Hob-Timestamp"
	Key    = "Idempotency-Key"
)

const (
	maxKey    = 200     // bytes
	maxStamp  = 1 << 40 // seconds since 1970
	maxDigits = 13      // digits of maxStamp
)

// Scheme is the signature scheme of a secret's requests.
type Scheme string

// The schemes.
const (
	AnyScheme Scheme = "any"  // Timed or BodyOnly; the zero value means the same
	Timed     Scheme = "v1"   // time, key and body
	BodyOnly  Scheme = "body" // the body alone
)

// Secret is the key of one endpoint and the scheme that it accepts.
type Secret struct {
	Value  []byte
	Scheme Scheme
}

// Errors of requests that cannot have a valid signature.
var (
	ErrTime   = errors.New("X-Hob-Timestamp is not a time")
	ErrKey    = errors.New("the Idempotency-Key cannot be signed")
	ErrScheme = errors.New("the request is not signed with the accepted scheme")
	// ErrAmbiguous: the body of a body-only request could be the signed text of a
	// timed one.
	ErrAmbiguous = errors.New("the body could be the text of a timed signature")
)

// Proof is the result of a verification.
type Proof struct {
	Fits bool
	// Stale: the timestamp is further than Window from now.
	Stale bool
	// ID identifies the request; a second copy has the same ID.
	ID string
}

// Read checks the signature of a request. An error means that no signature could be
// valid: Proof is then the zero value.
func Read(h http.Header, secret Secret, body []byte, now time.Time) (Proof, error) {
	sig, stamp, key := h.Get(Header), h.Get(Time), h.Get(Key)
	if stamp == "" {
		return readBodyOnly(sig, secret, body)
	}
	n, err := strconv.ParseInt(stamp, 10, 64)
	switch {
	case err != nil || n < 0 || n > maxStamp || strconv.FormatInt(n, 10) != stamp:
		return Proof{}, ErrTime
	case strings.Contains(key, ".") || len(key) > maxKey:
		return Proof{}, ErrKey
	case secret.Scheme == BodyOnly:
		return Proof{}, ErrScheme
	}
	text := append([]byte(stamp+"."+key+"."), body...)
	p := Proof{Fits: matchesHMAC(sig, "v1", secret.Value, text), Stale: now.Sub(time.Unix(n, 0)).Abs() > Window, ID: Digest("id:", []byte(key))}
	if key == "" {
		p.ID = Digest("sent:", text)
	}
	return p, nil
}

func readBodyOnly(sig string, secret Secret, body []byte) (Proof, error) {
	switch {
	case secret.Scheme == Timed:
		return Proof{}, ErrScheme
	case isTimedText(body):
		return Proof{}, ErrAmbiguous
	}
	return Proof{Fits: matchesHMAC(sig, "sha256", secret.Value, body), ID: Digest("body:", body)}, nil
}

// isTimedText reports whether a body could be the text that a timed request signs: digits, a dot, a
// key of at most maxKey bytes, a dot. Such a body is refused in the body-only scheme even if the
// digits are not a recent time, so that the two schemes never sign the same text.
func isTimedText(body []byte) bool {
	digits := 0
	for digits < len(body) && '0' <= body[digits] && body[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits > maxDigits || digits == len(body) || body[digits] != '.' {
		return false
	}
	key := bytes.IndexByte(body[digits+1:], '.')
	return 0 <= key && key <= maxKey
}

// Digest returns a name for a text that does not reveal it.
func Digest(kind string, text []byte) string {
	sum := sha256.Sum256(text)
	return kind + hex.EncodeToString(sum[:])
}

// OfBody returns the header value of a body-only signature.
func OfBody(secret, body []byte) string {
	return "sha256=" + hex.EncodeToString(hmacSHA256(secret, body))
}

func hmacSHA256(secret, text []byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write(text)
	return m.Sum(nil)
}

func matchesHMAC(sig, form string, secret, text []byte) bool {
	got, digits, _ := strings.Cut(strings.TrimSpace(sig), "=")
	sum, err := hex.DecodeString(digits)
	return err == nil && strings.EqualFold(got, form) && hmac.Equal(sum, hmacSHA256(secret, text))
}
