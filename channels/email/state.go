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
	"hob/platform/pim/dkimcheck"
)

// Limits of the stored state and of loops.
const (
	stateKey = "state"
	// maxKnown is how many recent messages are remembered by their digests, in case the server
	// changes the UIDVALIDITY.
	maxKnown = 500
	// maxRates is the maximum number of correspondents whose messages are counted.
	maxRates = 500
	// perHour is the maximum number of messages from one address that Hob receives, and therefore
	// answers, per hour.
	perHour = 60
	// maxHops is the maximum number of Hob's emails in a thread.
	maxHops = 100
	// clock is the tolerance for wrong clocks and delayed messages.
	clock = 24 * time.Hour
	// behind is how far before the last check the search in a renumbered folder begins.
	behind = 48 * time.Hour
	// firstPause and lastPause limit the wait before the next lookup of a sender's keys, waitFor is
	// the maximum total wait, and maxLater the maximum number of deferred messages.
	firstPause, lastPause, waitFor = 30 * time.Second, 30 * time.Minute, 24 * time.Hour
	maxLater                       = 50
)

// state is the read position in a mailbox. It is stored as a whole, so that a crash leaves no
// partial state.
type state struct {
	Box      string                `json:"box"`      // the folder to which the other fields apply
	Since    int64                 `json:"since"`    // Unix seconds; earlier messages are not received
	Looked   int64                 `json:"looked"`   // Unix seconds; when the folder last contained no unchecked messages
	Validity uint32                `json:"validity"` // UIDVALIDITY of the mailbox
	Next     uint32                `json:"next"`     // the first UID that was not checked
	Known    []string              `json:"known"`    // digests of the most recent messages
	Rates    map[string]hourlyRate `json:"rates"`
	// Later lists the messages whose sender is not verified yet, in order.
	Later []deferredMail `json:"later,omitempty"`
	// Back is nil if no email has bounced.
	Back *bouncedMail `json:"back,omitempty"`
	// Keys holds the known DKIM keys.
	Keys map[dkimcheck.KeyID]keySeen `json:"keys,omitempty"`
}

// deferredMail is a message whose verification is deferred.
type deferredMail struct {
	UID   uint32 `json:"uid"`
	Since int64  `json:"since"` // time of the first check in Unix milliseconds
	Next  int64  `json:"next"`  // time of the next check
}

// hourlyRate counts the messages accepted from an address in one hour.
type hourlyRate struct {
	Hour int64 `json:"h"` // hours since 1970
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

// rememberMail records the digest of a message.
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

// mailDigest returns a digest that identifies a message. It covers the Message-ID and the sender,
// because anyone can reuse a Message-ID. If there is no Message-ID, it covers other properties.
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
