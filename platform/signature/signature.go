// Package signature proves what programs post: that whoever made a request has the
// secret, when that was, and by what a second copy of it is known. Triggers and the
// webhook channel take such requests, and the channel sends them. It knows nothing of
// what a request is for.
//
// There are two forms. With X-Hob-Timestamp, X-Hob-Signature is "v1=" and the hex
// HMAC-SHA256 of timestamp.key.body: the seconds since 1970, the Idempotency-Key (or
// nothing) and the body. The key has no dot, so that no text can be read in two ways. A
// recording is worth nothing after the Window, and within it is the same request.
//
// Without, it is "sha256=" and that of the body alone, as many programs send it. There the
// body is all that is proven, and so by what a copy is known: the same body counts once,
// whatever key somebody puts beside it.
package signature

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

// Window is how far the clock of who signs may be off: an older request may be
// somebody's recording.
const Window = 5 * time.Minute

// The headers.
const (
	Header = "X-Hob-Signature"
	Time   = "X-Hob-Timestamp"
	Key    = "Idempotency-Key"
)

const maxKey = 200 // bytes

// What is wrong with a request that nobody can sign.
var (
	ErrTime = errors.New("X-Hob-Timestamp is no time")
	ErrKey  = errors.New("the Idempotency-Key cannot be signed")
)

// Proof is what a signature shows.
type Proof struct {
	Fits bool
	// Stale: the request says when it was made, and that is too long ago, or to come.
	Stale bool
	// ID is by what a second copy of the request is known.
	ID string
}

// Read looks whether a signature fits its request.
func Read(h http.Header, secret, body []byte, now time.Time) (Proof, error) {
	sig, stamp, key := h.Get(Header), h.Get(Time), h.Get(Key)
	if stamp == "" {
		return Proof{Fits: fits(sig, "sha256", secret, body), ID: Digest("body:", body)}, nil
	}
	n, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || n < 0 || n > 1<<40 || strconv.FormatInt(n, 10) != stamp {
		return Proof{}, ErrTime
	}
	if strings.Contains(key, ".") || len(key) > maxKey {
		return Proof{}, ErrKey
	}
	text := append([]byte(stamp+"."+key+"."), body...)
	p := Proof{Fits: fits(sig, "v1", secret, text), Stale: now.Sub(time.Unix(n, 0)).Abs() > Window, ID: Digest("id:", []byte(key))}
	if key == "" {
		p.ID = Digest("sent:", text)
	}
	return p, nil
}

// Digest is a name for a text that does not tell it.
func Digest(kind string, text []byte) string {
	sum := sha256.Sum256(text)
	return kind + hex.EncodeToString(sum[:])
}

// OfBody is the header of a body in the form without a time.
func OfBody(secret, body []byte) string { return "sha256=" + hex.EncodeToString(mac(secret, body)) }

func mac(secret, text []byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write(text)
	return m.Sum(nil)
}

func fits(sig, form string, secret, text []byte) bool {
	got, digits, _ := strings.Cut(strings.TrimSpace(sig), "=")
	sum, err := hex.DecodeString(digits)
	return err == nil && strings.EqualFold(got, form) && hmac.Equal(sum, mac(secret, text))
}
