package email

import (
	"fmt"
	"time"

	"hob/platform/pim/dkimcheck"
)

// DNS answers are not signed, and a network operator can forge them. Therefore Hob stores the first
// key with which an allowed sender in a domain has signed. It accepts a different key only if the
// key is still published half a day later.
const (
	keyRest = 12 * time.Hour
	maxKeys = 40 // keys of up to 350 bytes each; the channel state holds at most 64 KiB
)

// errNewKey means that the signing key has not been known for long enough.
var errNewKey = fmt.Errorf("its DKIM key is new and must stay published for half a day: %w", dkimcheck.ErrLater)

// keySeen records since when a key has been known.
type keySeen struct {
	Since int64 `json:"since"` // in Unix milliseconds
	Sure  bool  `json:"sure,omitempty"`
}

// checkKeyTrust returns nil if key k may be trusted now. It records when the key was first seen.
func (s *state) checkKeyTrust(k dkimcheck.KeyID, now time.Time) error {
	seen, known := s.Keys[k]
	if seen.Sure || known && now.Sub(time.UnixMilli(seen.Since)) >= keyRest {
		return nil
	}
	first := true
	for other, seen := range s.Keys {
		first = first && !(seen.Sure && dkimcheck.IsAligned(other.Domain(), k.Domain()))
	}
	if first {
		return nil
	}
	if !known {
		s.recordKey(k, keySeen{Since: now.UnixMilli()})
	}
	return errNewKey
}

// confirmKey confirms a key with which an allowed sender has signed. An empty key is ignored.
func (s *state) confirmKey(k dkimcheck.KeyID) {
	if k != "" && !s.Keys[k].Sure {
		s.recordKey(k, keySeen{Since: time.Now().UnixMilli(), Sure: true})
	}
}

// recordKey stores a key. Above the limit it drops an unconfirmed key, or else the oldest one.
func (s *state) recordKey(k dkimcheck.KeyID, seen keySeen) {
	if s.Keys == nil {
		s.Keys = map[dkimcheck.KeyID]keySeen{}
	}
	s.Keys[k] = seen
	if len(s.Keys) <= maxKeys {
		return
	}
	worst := k
	for other, x := range s.Keys {
		y := s.Keys[worst]
		if other != k && (worst == k || y.Sure && !x.Sure || x.Sure == y.Sure && x.Since < y.Since) {
			worst = other
		}
	}
	delete(s.Keys, worst)
}
