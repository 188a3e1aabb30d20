package config

import (
	"path/filepath"
	"time"

	"hob/platform/host/system"
)

// Browser is [browser]: the browser that Hob controls.
type Browser struct {
	Enabled  bool     `toml:"enabled"`
	Path     string   `toml:"path"` // absolute; "" = the first that is found
	Headless bool     `toml:"headless"`
	Idle     Duration `toml:"idle"`
	MaxTabs  int      `toml:"max_tabs"`
}

func (k *checker) checkBrowser() {
	b := &k.c.Browser
	if b.Path != "" {
		abs, err := system.Expand(b.Path)
		k.requireValid("browser.path", err == nil && filepath.IsAbs(abs), `it must be a whole path such as "/usr/bin/chromium", or empty`)
		if err == nil {
			b.Path = abs
		}
	}
	k.requireValid("browser.idle", b.Idle.Duration >= time.Minute && b.Idle.Duration <= 24*time.Hour, `it must lie between "1m" and "24h"`)
	k.requireBetween("browser.max_tabs", b.MaxTabs, 1, 50)
}
