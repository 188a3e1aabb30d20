package usage

import (
	"log/slog"
	"os"
	"sync"

	"hob/autonomy/config"
	"hob/platform/store"
)

// PriceBook provides the prices and caps from the current [budget] and [prices] sections. It
// reloads them when the file is saved, so a raised limit needs no restart. If the new file is
// invalid, the previous values stay in effect. Methods may be called concurrently.
type PriceBook struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	seen   os.FileInfo
	config *config.Config
	list   *Prices
}

// NewPriceBook returns the price book of a configuration and its file.
func NewPriceBook(path string, c *config.Config, log *slog.Logger) (*PriceBook, error) {
	s := &PriceBook{path: path, log: log, config: c}
	s.seen, _ = os.Stat(s.path) // nil if the file does not exist
	var err error
	s.list, err = NewPrices(OwnPrices(c.Prices))
	return s, err
}

// reloadPrices rereads the file if it was replaced. The caller holds s.mu.
func (s *PriceBook) reloadPrices() {
	fi, err := os.Stat(s.path)
	if err != nil || s.seen != nil && fi.ModTime().Equal(s.seen.ModTime()) && fi.Size() == s.seen.Size() {
		return
	}
	s.seen = fi
	c, err := config.Load(s.path)
	if err != nil {
		s.log.Warn("budget not reloaded: the configuration is invalid", "err", err)
		return
	}
	list, err := NewPrices(OwnPrices(c.Prices))
	if err != nil {
		s.log.Warn("prices not reloaded", "err", err)
		return
	}
	s.config, s.list = c, list
}

// Prices returns the current prices.
func (s *PriceBook) Prices() *Prices {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// Caps returns the global limits if agent is "", otherwise the agent's share of them.
func (s *PriceBook) Caps(agent string) Caps {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reloadPrices()
	b, share := s.config.Budget, 1.0
	if agent != "" {
		m, _ := s.config.Member(agent)
		if share = m.BudgetShare; share == 0 {
			return Caps{} // the global limits apply
		}
	}
	return Caps{
		Daily: Dollars(b.DailyUSD * share), Monthly: Dollars(b.MonthlyUSD * share),
		DailyTokens: int(float64(b.DailyTokens) * share), WarnAt: b.WarnAt,
	}
}

// Open creates the accounting for a configuration and its file. It sets the options Prices, Caps
// and CallsPerMinute from them.
func Open(s *store.Store, file string, c *config.Config, o Options) (*Tracker, *PriceBook, error) {
	prices, err := NewPriceBook(file, c, o.Log)
	if err != nil {
		return nil, nil, err
	}
	o.Prices, o.Caps, o.CallsPerMinute = prices.Prices, prices.Caps, c.Autonomy.CallsPerMinute
	if o.CallsPerMinute == 0 {
		o.CallsPerMinute = -1 // means that no calls are allowed
	}
	t, err := New(s, o)
	return t, prices, err
}
