package config

import (
	"net/url"
	"strings"

	"hob/platform/text/lazyregexp"
)

var (
	validHost   = lazyregexp.New(`^(\*\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$`)
	validPerson = lazyregexp.New(`^[A-Za-z0-9_-]+:\S+$`)
)

// checkLevels rejects rules that widen the level or match no one, because such mistakes would
// otherwise go unnoticed.
func (k *checker) checkLevels() {
	for i, b := range k.c.Levels {
		bad := func(key, format string, args ...any) {
			k.errs = append(k.errs, k.c.nthErrorf("levels", i, key, format, args...))
		}
		switch {
		case b.Level != Watch && b.Level != Supervised && b.Level != Trusted:
			bad("level", `must be one of watch, supervised, trusted`)
		case !b.Level.isNarrower(k.c.Autonomy.Level):
			bad("level", "must not allow more than [autonomy] level = %q", k.c.Autonomy.Level)
		}
		if b.Channel == "" && b.Person == "" {
			bad("", "the [[levels]] entry has no condition; set channel or person, or set autonomy.level for all conversations")
		}
		if b.Person != "" && b.Person != "owner" && !validPerson.MatchString(b.Person) {
			bad("person", `must be "owner" or a sender on a channel: "CHANNEL:SENDER"`)
		}
		if _, there := k.c.Channel(b.Channel); b.Channel != "" && b.Channel != "web" && b.Channel != "terminal" && !there {
			bad("channel", `there is no [channels.%s]; write "web", "terminal" or the name of a channel that is configured`, b.Channel)
		}
	}
}

// LevelOf returns the autonomy level for a person on a channel, or "" if no rule restricts it.
// Names must match completely.
func (c *Config) LevelOf(channel, person string) Level {
	out := Level("")
	for _, b := range c.Levels {
		if b.Channel != "" && b.Channel != channel || b.Person != "" && b.Person != person {
			continue
		}
		if out == "" || b.Level.isNarrower(out) {
			out = b.Level
		}
	}
	return out
}

// checkNetwork normalizes host names for comparison.
func (k *checker) checkNetwork() {
	n := &k.c.Network
	for i, h := range n.AllowHosts {
		n.AllowHosts[i] = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(h), "."))
		k.requireValid("network.allow_hosts", validHost.MatchString(n.AllowHosts[i]), `%q must be a host name such as "example.org" or "*.example.org", without a scheme or a path`, h)
	}
	u, err := url.Parse(n.Rates)
	k.requireValid("network.rates", err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil, "must be an address such as %q", "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml")
	for i, r := range k.c.Autonomy.Recipients {
		r = strings.TrimSpace(r)
		if strings.Contains(r, "@") {
			r = strings.ToLower(r)
		}
		k.c.Autonomy.Recipients[i] = r
		k.requireValid("autonomy.recipients", len(r) > 2 && !strings.ContainsAny(r, "* \t\n") && strings.ContainsAny(r, ":@+"),
			`%q must be a complete email address, phone number or chat, such as "ada@example.org", "+37060000000", "CHANNEL:CHAT"`, r)
	}
}
