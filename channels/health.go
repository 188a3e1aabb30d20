package channels

import (
	"maps"
	"slices"
	"time"
)

// Health is how one channel does.
type Health struct {
	Name string `json:"name"`
	// State is starting, running, waiting (failed, will be tried again),
	// stopped (needs its owner) or failed (could not be made).
	State string    `json:"state"`
	Error string    `json:"error,omitempty"`
	Pull  bool      `json:"pull"`
	Deaf  bool      `json:"deaf,omitempty"` // nobody can write there
	Sent  int       `json:"sent"`
	Since time.Time `json:"since,omitzero"`
	// Describe is what the channel says of itself (Describer).
	Describe string `json:"describe,omitempty"`
	// Heard counts the messages that were taken since the start, Refused those of
	// strangers and those in groups that were not said to Hob.
	Heard       int       `json:"heard"`
	HeardAt     time.Time `json:"heard_at,omitzero"`
	SentAt      time.Time `json:"sent_at,omitzero"`
	Refused     int       `json:"refused,omitempty"`
	Unmentioned int       `json:"unmentioned,omitempty"`
	// Queued counts the texts that wait for the channel, and Next is when the first of
	// them is tried; zero: none waits, or at once.
	Queued int       `json:"queued"`
	Next   time.Time `json:"next,omitzero"`
}

// Counter is an Outbox that knows how many texts wait for a channel, and when the first
// of them is due (zero: none is known). It returns soon.
type Counter interface {
	Queue(channel string) (n int, next time.Time, err error)
}

// Status lists the channels in order of name.
func (m *Manager) Status() []Health {
	m.mu.Lock()
	out := make([]Health, 0, len(m.state))
	for _, name := range slices.Sorted(maps.Keys(m.state)) {
		out = append(out, *m.state[name])
	}
	m.mu.Unlock()
	for i := range out {
		m.look(&out[i])
	}
	return out
}

// look fills in what is known elsewhere.
func (m *Manager) look(h *Health) {
	ch := m.opt.Channels[h.Name]
	if ch == nil {
		return
	}
	if d, ok := ch.(Describer); ok {
		_ = guarded(func() error {
			h.Describe = d.Describe()
			return nil
		})
	}
	if l, ok := ch.(Linked); ok && h.State == "running" {
		var err error
		_ = guarded(func() error {
			err = l.Link()
			return nil
		})
		if err != nil {
			h.State, h.Error = "waiting", brief(err)
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

func (m *Manager) note(name, state string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.state[name]
	if h.State == "stopped" {
		return // the other half of the channel does not cover that up
	}
	if h.State != state {
		h.Since = time.Now().UTC()
	}
	h.State, h.Error = state, ""
	if err != nil {
		h.Error = brief(err)
	}
}

// steadyAfter is how long a channel has to run until what had failed before is over.
const steadyAfter = time.Minute

// over forgets what a channel had failed with.
func (m *Manager) over(name, failed string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.state[name]; h.State == "running" && h.Error == failed {
		h.Error = ""
	}
}

// trouble shows why a text could not be delivered until the next one is.
func (m *Manager) trouble(name string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.state[name]; h.State == "running" {
		h.Error = brief(err)
	}
}

// held shows that the platform is not called before.
func (m *Manager) held(name string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state[name].Next = at.UTC()
}

func (m *Manager) count(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.state[name]
	h.Sent++
	h.SentAt = time.Now().UTC()
	if h.State == "running" {
		h.Error = ""
	}
}

func (m *Manager) heard(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.state[name]
	h.Heard++
	h.HeardAt = time.Now().UTC()
}
