package config

import (
	"net/url"

	"hob/platform/net/release"
)

// Update is [update]: the check for a newer version of Hob.
type Update struct {
	Check bool   `toml:"check"`
	URL   string `toml:"url"`
	Key   string `toml:"key"`
}

func (k *checker) checkUpdate() {
	u := k.c.Update
	if u.URL != "" {
		at, err := url.Parse(u.URL)
		k.requireValid("update.url", err == nil && at.Scheme == "https" && at.Hostname() != "" && at.User == nil, `it must be an https address such as "https://example.org/hob/latest.json"`)
	}
	if u.Key != "" {
		k.requireValid("update.key", release.CheckKeys(u.Key) == nil, `it must be a public key of minisign, which begins with "RW"; two are separated by a comma`)
	}
}
