package app

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	"hob/autonomy/usage"
)

// openBooks creates the accounting of model calls.
func (d *App) openBooks(context.Context) (err error) {
	if d.spending, err = newSpending(d.opt); err != nil {
		return err
	}
	calls := d.opt.Config.Autonomy.CallsPerMinute
	if calls == 0 {
		calls = -1
	}
	d.books, err = usage.New(d.store, usage.Options{
		Prices: d.spending.currentPrices, Caps: d.spending.agentCaps, Zone: d.zone, CallsPerMinute: calls,
		Tell: func(ctx context.Context, key, text string) error { return d.loop.Notify(ctx, key, text) }, Log: d.opt.Log,
	})
	return err
}

// meterModel puts the books around a model's single calls.
func (d *App) meterModel(m llm.Model) llm.Model {
	o := usage.MeterOptions{Host: d.models.opt.Host(m.Info().Provider)}
	if p, ok := d.opt.Config.Provider(m.Info().Provider); ok {
		o.MaxTokens = p.MaxTokens
	}
	return d.books.Meter(m, o)
}

// hasBudget reports whether an unattended turn may begin.
func (d *App) hasBudget(now time.Time) (bool, time.Time) {
	if d.brain.isFree() {
		return true, now
	}
	return d.books.CanSpend(now)
}

// priceBook returns the current [budget] and [prices]. It reloads them when the file is saved,
// so a raised limit needs no restart. An invalid file changes nothing.
type priceBook struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	seen   os.FileInfo
	config *config.Config
	list   *usage.Prices
}

func newSpending(o Options) (*priceBook, error) {
	s := &priceBook{path: o.Paths.ConfigFile(), log: o.Log, config: o.Config}
	s.seen, _ = os.Stat(s.path) // none yet is none yet
	var err error
	s.list, err = usage.NewPrices(usage.OwnPrices(o.Config.Prices))
	return s, err
}

// reloadPrices reads the file again if it was replaced. The caller holds s.mu.
func (s *priceBook) reloadPrices() {
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
	list, err := usage.NewPrices(usage.OwnPrices(c.Prices))
	if err != nil {
		s.log.Warn("prices not reloaded", "err", err)
		return
	}
	s.config, s.list = c, list
}

func (s *priceBook) currentPrices() *usage.Prices {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// agentCaps returns the global limits, or an agent's share of them.
func (s *priceBook) agentCaps(agent string) usage.Caps {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reloadPrices()
	b, share := s.config.Budget, 1.0
	if agent != "" {
		m, _ := s.config.Member(agent)
		if share = m.BudgetShare; share == 0 {
			return usage.Caps{} // the global limits apply
		}
	}
	return usage.Caps{
		Daily: usage.Dollars(b.DailyUSD * share), Monthly: usage.Dollars(b.MonthlyUSD * share),
		DailyTokens: int(float64(b.DailyTokens) * share), WarnAt: b.WarnAt,
	}
}
