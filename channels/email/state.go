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

// The bounds of what is kept, and of the loops it ends.
const (
	stateKey = "state"
	// maxKnown is how many of the last mails are known by name, for a server that
	// numbers its mails anew.
	maxKnown = 500
	// maxRates is how many correspondents are counted.
	maxRates = 500
	// perHour is how many mails of one address are heard, and so answered, in an hour.
	perHour = 60
	// maxHops is how many of Hob's mails a thread may hold.
	maxHops = 100
	// clock is by how much the sender's clock may be wrong, or a mail be late.
	clock = 24 * time.Hour
	// behind is how far behind the last look a renumbered folder is looked at.
	behind = 48 * time.Hour
	// firstPause and lastPause are how long a mail waits until it is looked up again who
	// wrote it, waitFor is how long at most, and maxLater how many wait.
	firstPause, lastPause, waitFor = 30 * time.Second, 30 * time.Minute, 24 * time.Hour
	maxLater                       = 50
)

// state is where a mailbox stands. It is kept as a whole, so that no crash keeps a half
// of it.
type state struct {
	Box      string          `json:"box"`      // whose folder the rest is about
	Since    int64           `json:"since"`    // seconds; what came before is not heard
	Looked   int64           `json:"looked"`   // seconds; when the folder was last known to hold nothing else
	Validity uint32          `json:"validity"` // UIDVALIDITY
	Next     uint32          `json:"next"`     // the first UID that was not looked at
	Known    []string        `json:"known"`    // digests of the last mails
	Rates    map[string]rate `json:"rates"`
	// Later are mails of which nobody could tell yet who wrote them, in their order.
	Later []later `json:"later,omitempty"`
	// Back is nil as long as no mail of Hob's has come back.
	Back *returned `json:"back,omitempty"`
	// Keys are those that have signed mails.
	Keys map[keyID]keySeen `json:"keys,omitempty"`
}

// later is a mail that is looked at again.
type later struct {
	UID   uint32 `json:"uid"`
	Since int64  `json:"since"` // milliseconds; when it was looked at first
	Next  int64  `json:"next"`  // when it is again
}

// rate counts the mails of an address that were taken in an hour.
type rate struct {
	Hour int64 `json:"h"` // since 1970
	N    int   `json:"n"`
}

func (c *Channel) load(ctx context.Context) (s state, err error) {
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
		s.Rates = map[string]rate{}
	}
	return s, nil
}

func (c *Channel) save(ctx context.Context, s *state) error {
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

// know remembers a mail by its name.
func (s *state) know(m pim.Message) { s.Known = append(s.Known, digest(m)) }

func (s *state) knows(m pim.Message) bool { return slices.Contains(s.Known, digest(m)) }

// full reports that an address has had its share of this hour.
func (s *state) full(address string, at time.Time) bool {
	r := s.Rates[hashOf(address)]
	return r.Hour == at.Unix()/3600 && r.N >= perHour
}

func (s *state) count(address string, at time.Time) {
	k, hour := hashOf(address), at.Unix()/3600
	r := s.Rates[k]
	if r.Hour != hour {
		r = rate{Hour: hour}
	}
	r.N++
	s.Rates[k] = r
}

// digest is a mail's name: its Message-ID with its sender, since anybody can write
// under another one's, or what it is when it has none.
func digest(m pim.Message) string {
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
