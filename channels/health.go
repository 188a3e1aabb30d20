package channels

import (
	"maps"
	"slices"
	"time"
)

// Health is the status of one channel.
type Health struct {
	Name string `json:"name"`
	// State is starting, running, standby (another instance of the fleet has the account), waiting
	// (failed, will be retried), stopped (the owner must act) or failed (could not be created).
	State string    `json:"state"`
	Error string    `json:"error,omitempty"`
	Pull  bool      `json:"pull"`
	Deaf  bool      `json:"deaf,omitempty"` // whether the channel only sends
	Sent  int       `json:"sent"`
	Since time.Time `json:"since,omitzero"`
	// Describe is the channel's own description (StatusDescriber).
	Describe string `json:"describe,omitempty"`
	// Heard is the number of messages accepted since the start. Refused is the number of messages
	// from unknown senders, plus group messages that were not addressed to Hob.
	Heard       int       `json:"heard"`
	HeardAt     time.Time `json:"heard_at,omitzero"`
	SentAt      time.Time `json:"sent_at,omitzero"`
	Refused     int       `json:"refused,omitempty"`
	Unmentioned int       `json:"unmentioned,omitempty"`
	// Queued is the number of messages waiting for the channel. Next is when the first of them is
	// sent; zero means immediately, or that no message is waiting.
	Queued int       `json:"queued"`
	Next   time.Time `json:"next,omitzero"`
}

// Counter is an Outbox that counts the messages waiting for a channel and returns when the first
// one is due (zero: unknown). It returns quickly.
type Counter interface {
	Queue(channel string) (n int, next time.Time, err error)
}

// Status returns the status of all channels, sorted by name.
func (m *Manager) Status() []Health {
	m.mu.Lock()
	out := make([]Health, 0, len(m.state))
	for _, name := range slices.Sorted(maps.Keys(m.state)) {
		out = append(out, *m.state[name])
	}
	m.mu.Unlock()
	for i := range out {
		m.fillHealth(&out[i])
	}
	return out
}

// fillHealth adds details that are stored elsewhere.
func (m *Manager) fillHealth(h *Health) {
	ch := m.opt.Channels[h.Name]
	if ch == nil {
		return
	}
	if d, ok := ch.(StatusDescriber); ok {
		_ = recoverPanic(func() error {
			h.Describe = d.DescribeStatus()
			return nil
		})
	}
	if l, ok := ch.(ConnectionReporter); ok && h.State == "running" {
		var err error
		_ = recoverPanic(func() error {
			err = l.Link()
			return nil
		})
		if err != nil {
			h.State, h.Error = "waiting", briefError(err)
		}
	}
	g := m.gates[h.Name]
	h.Refused, h.Unmentioned = int(g.refused.Load()), int(g.unmentioned.Load())
	c, ok := m.opt.Outbox.(Counter)
	if !ok || h.Pull {
		return
	}
	n, next, err := c.Queue(h.Name)
	if err != nil {
		m.opt.Log.Warn("counting waiting deliveries failed", "channel", h.Name, "error", err)
		return
	}
	h.Queued = n
	if next.After(h.Next) {
		h.Next = next
	}
	if n == 0 || !h.Next.After(time.Now()) {
		h.Next = time.Time{}
	}
}

func (m *Manager) noteState(name, state string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.state[name]
	if h.State == "stopped" {
		return // the other half of the channel is running but must not replace this state
	}
	if h.State != state {
		h.Since = time.Now().UTC()
	}
	h.State, h.Error = state, ""
	if err != nil {
		h.Error = briefError(err)
	}
}

// steadyAfter is how long a channel must run before an earlier error is cleared.
const steadyAfter = time.Minute

// clearError clears the error of a channel.
func (m *Manager) clearError(name, failed string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.state[name]; h.State == "running" && h.Error == failed {
		h.Error = ""
	}
}

// noteDeliveryError records a delivery error, which is shown until the next successful delivery.
func (m *Manager) noteDeliveryError(name string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.state[name]; h.State == "running" {
		h.Error = briefError(err)
	}
}

// noteBackoff records when Hob may call the platform again.
func (m *Manager) noteBackoff(name string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state[name].Next = at.UTC()
}

func (m *Manager) countSent(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.state[name]
	h.Sent++
	h.SentAt = time.Now().UTC()
	if h.State == "running" {
		h.Error = ""
	}
}

func (m *Manager) countReceived(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.state[name]
	h.Heard++
	h.HeardAt = time.Now().UTC()
}
