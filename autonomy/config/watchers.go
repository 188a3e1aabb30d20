package config

import "time"

// Watchers is [watchers]: the polling of sources.
type Watchers struct {
	Workers  int      `toml:"workers"`
	MinEvery Duration `toml:"min_every"`
	PerDay   int      `toml:"per_day"`
}

func (k *checker) checkWatchers() {
	w := k.c.Watchers
	k.requireBetween("watchers.workers", w.Workers, 1, 64)
	k.requireBetween("watchers.per_day", w.PerDay, 1, 100_000)
	k.requireValid("watchers.min_every", w.MinEvery.Duration >= time.Second && w.MinEvery.Duration <= 24*time.Hour, `it must lie between "1s" and "24h"`)
}
