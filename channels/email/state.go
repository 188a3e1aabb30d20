package email

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"hob/platform/pim"
)

// Limits of the stored state and of loops.
const (
	stateKey = "state"
	// maxKnown is how many recent mails are remembered by digest, for a server that changes
	// its UIDVALIDITY.
	maxKnown = 500
	// maxRates is the number of correspondents counted.
	maxRates = 500
	// perHour is the maximum number of mails from one address that Hob receives, and so answers,
	// per hour.
	perHour = 60
	// maxHops is the maximum number of Hob's mails in a thread.
	maxHops = 100
	// clock is the tolerance for wrong clocks and late mails.
	clock = 24 * time.Hour
	// behind is the time before the last check from which a renumbered folder is searched.
	behind = 48 * time.Hour
	// firstPause and lastPause limit the wait before a mail's sender is looked up again,
	// waitFor is the total, and maxLater the number of deferred mails.
	firstPause, lastPause, waitFor = 30 * time.Second, 30 * time.Minute, 24 * time.Hour
	maxLater                       = 50
)

// state is the position in a mailbox. It is stored as a whole, so that a crash leaves no
// partial state.
type state struct {
	Box      string                `json:"box"`      // the folder that the rest
	Since    int64                 `json:"since"`    // seconds; earlier mails are not received
	Looked   int64                 `json:"looked"`   // seconds; when the folder last had no other mails
	Validity uint32                `json:"validity"` // UIDVALIDITY
	Next     uint32                `json:"next"`     // the first UID that was not checked
	Known    []string              `json:"known"`    // digests of the last mails
	Rates    map[string]hourlyRate `json:"rates"`
	// Later lists the mails with an unknown sender, in order.
	Later []deferredMail `json:"later,omitempty"`
	// Back is nil if no mail has bounced.
	Back *bouncedMail `json:"back,omitempty"`
	// Keys holds the keys of signed mails.
	Keys map[keyID]keySeen `json:"keys,omitempty"`
}

// deferredMail is a deferred mail.
type deferredMail struct {
	UID   uint32 `json:"uid"`
	Since int64  `json:"since"` // milliseconds; first check
	Next  int64  `json:"next"`  // next check
}

// hourlyRate counts the accepted mails of an address in an hour.
type hourlyRate struct {
	Hour int64 `json:"h"` // since 1970
	N    int   `json:"n"`
}

func (c *Channel) loadState(ctx context.Context) (s state, err error) {
	raw, err := c.keep.Get(ctx, stateKey)
	if err != nil {
		return s, fmt.Errorf("email: load the mailbox position: %w", err)
	}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &s); err != nil {
			return s, fmt.Errorf("email: decode the mailbox position: %w", err)
		}
	}
	if s.Rates == nil {
		s.Rates = map[string]hourlyRate{}
	}
	return s, nil
}

func (c *Channel) saveState(ctx context.Context, s *state) error {
	s.Known = s.Known[max(0, len(s.Known)-maxKnown):]
	if len(s.Rates) > maxRates {
		oldest := slices.SortedFunc(maps.Keys(s.Rates), func(a, b string) int { return int(s.Rates[a].Hour - s.Rates[b].Hour) })
		for _, k := range oldest[:len(oldest)-maxRates/2] {
			delete(s.Rates, k)
		}
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := c.keep.Set(ctx, stateKey, raw); err != nil {
		return fmt.Errorf("email: store the mailbox position: %w", err)
	}
	return nil
}

// rememberMail records the digest of a mail.
func (s *state) rememberMail(m pim.Message) { s.Known = append(s.Known, mailDigest(m)) }

func (s *state) isKnownMail(m pim.Message) bool { return slices.Contains(s.Known, mailDigest(m)) }

// isRateLimited reports whether an address has reached its hourly limit.
func (s *state) isRateLimited(address string, at time.Time) bool {
	r := s.Rates[hashOf(address)]
	return r.Hour == at.Unix()/3600 && r.N >= perHour
}

func (s *state) countMail(address string, at time.Time) {
	k, hour := hashOf(address), at.Unix()/3600
	r := s.Rates[k]
	if r.Hour != hour {
		r = hourlyRate{Hour: hour}
	}
	r.N++
	s.Rates[k] = r
}

// mailDigest returns the identity of a mail: its Message-ID with its sender, because anyone can
// reuse a Message-ID, or other properties if it has none.
func mailDigest(m pim.Message) string {
	from := ""
	if len(m.From) > 0 {
		from = m.From[0].Address
	}
	name := from + "\x00" + m.ID
	if m.ID == "" {
		name = fmt.Sprintf("%s\x00%s\x00%d\x00%d", from, m.Subject, m.Date.Unix(), m.Size)
	}
	sum := sha256.Sum256([]byte(name))
	return base64.RawStdEncoding.EncodeToString(sum[:9])
}
