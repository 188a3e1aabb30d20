package channel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/channels"
	channelsall "hob/channels/all"
)

// Setup shows and tests the channels as they are currently configured. It implements
// service.ChannelSetup.
type Setup struct {
	Drivers []channels.Driver
	// Config returns the configuration in the file. It may be newer than the configuration that Hob
	// uses.
	Config func() *config.Config
	// Deps returns the dependencies for testing a channel.
	Deps func(c *config.Config, name string) channels.Deps
}

// Rows lists the channels without their pairings. running reports whether the channels in health
// are running.
func (s Setup) Rows(health []channels.Health, running bool) []api.Channel {
	out := []api.Channel{}
	for _, r := range Rows(s.Config(), health, running) {
		out = append(out, api.Channel{
			Name: r.Name, State: r.State, Error: r.Error, Pull: r.Pull, Deaf: r.Deaf, Sent: r.Sent, Since: r.Since, Describe: r.Describe,
			Heard: r.Heard, HeardAt: r.HeardAt, SentAt: r.SentAt, Refused: r.Refused, Unmentioned: r.Unmentioned, Queued: r.Queued, Next: r.Next,
			About: r.About, Configured: r.Configured, Enabled: r.Enabled, Available: r.Available, Cause: r.Cause, Remedy: r.Remedy,
			Pairings: []api.Pairing{},
		})
	}
	return out
}

// Test creates a second instance of a channel and signs in; the running instance is not affected.
// Then it calls send, if not nil, to send a message to the user. It returns api.ErrNotFound for an
// unknown channel.
func (s Setup) Test(ctx context.Context, name string, send func(ctx context.Context) (string, error), redact func(string) string) (api.ChannelTest, error) {
	c := s.Config()
	out := Tested{Channel: name}
	said, err := Test(ctx, c, s.Drivers, name, s.Deps(c, name))
	switch {
	case errors.Is(err, ErrUnknown):
		return api.ChannelTest{}, fmt.Errorf("%w: %w", api.ErrNotFound, err)
	case send != nil && (err == nil || errors.Is(err, ErrUntested)):
		var more string
		if more, err = send(ctx); err == nil && said != "" {
			more = said + "; " + more
		}
		said = more
	}
	out.Done(said, err, redact)
	return api.ChannelTest(out), nil
}

// HasFixedRecipient reports whether a channel can reach the user without a pairing.
func (s Setup) HasFixedRecipient(name string) bool {
	k, _ := Find(name)
	return k.FixedRecipient
}

// UnpairableReason explains why accounts cannot be paired on a channel and what to do instead.
// pairable lists the channels that support pairing.
func (s Setup) UnpairableReason(name string, health []channels.Health, pairable []string) string {
	i := slices.IndexFunc(health, func(h channels.Health) bool { return h.Name == name })
	k, known := Find(name)
	section, there := s.Config().Channel(name)
	switch {
	case i >= 0 && health[i].State == "failed":
		return fmt.Sprintf("%s does not work, so no account can be paired there; see: hob channel status %s", name, name)
	case k.Always || i >= 0:
		return fmt.Sprintf("%s needs no pairing; Hob treats everyone who can use it as you", name)
	case there && section.Enabled:
		return fmt.Sprintf("%s was set up after Hob was started; restart Hob: hob stop, then hob start", name)
	case there:
		return fmt.Sprintf("%s is disabled; enable it: hob config set channels.%s.enabled true, then hob stop and hob start", name, name)
	case known:
		return fmt.Sprintf("%s is not set up; set it up: hob channel add %s", name, name)
	case len(pairable) == 0:
		return fmt.Sprintf("channel %q not found; known channels: %s", name, strings.Join(Names(), ", "))
	}
	return fmt.Sprintf("channel %q not found; you can pair an account on %s", name, strings.Join(pairable, ", "))
}

// Sections returns the channels' parts of the configuration. On a machine with a desktop, some
// channels are enabled without a section.
func Sections(c *config.Config, desktop bool) channels.Section {
	return func(name string) (func(any) error, bool) {
		s, ok := c.Channel(name)
		if k, _ := Find(name); !ok && k.OnDesktop && desktop {
			return func(any) error { return nil }, true
		}
		return s.Decode, ok && s.Enabled
	}
}

// CheckTargets returns the mistakes in the channel names in [notify], as config.Errors. Channels
// that need no section are always valid; on a machine without a desktop, the page shows the
// notifications of the desktop channel.
func CheckTargets(c *config.Config) error {
	var errs config.Errors
	check := func(key, name string) {
		_, configured := c.Channel(name)
		if k, _ := Find(name); !configured && !k.Always && !k.OnDesktop && name != "origin" && name != "auto" {
			errs = append(errs, c.Errorf(key, `there is no [channels.%s]; use "origin" or the name of a configured channel`, name))
		}
	}
	check("notify.channel", c.Notify.Channel)
	for _, name := range c.Notify.Fallback {
		check("notify.fallback", name)
	}
	if len(errs) == 0 {
		return nil
	}
	return errs
}

// CheckNames returns the error of CheckTargets, or an error if an enabled section does not belong
// to a channel that was opened or failed to open.
func CheckNames(c *config.Config, opened map[string]channels.Channel, failed map[string]error) error {
	if err := CheckTargets(c); err != nil {
		return err
	}
	for _, s := range c.Channels {
		if opened[s.Name] == nil && failed[s.Name] == nil && s.Enabled {
			return s.Errorf("", "unknown channel; known channels: %s", strings.Join(channels.Names(channelsall.Drivers()), ", "))
		}
	}
	return nil
}

// Overrides returns the owner's channel settings.
func Overrides(c *config.Config) map[string]channels.ChannelOverride {
	out := map[string]channels.ChannelOverride{}
	for _, s := range c.Channels {
		o := channels.ChannelOverride{Unmentioned: !s.Mention, Whole: !s.Stream}
		if s.Debounce != nil {
			o.Settle = &s.Debounce.Duration
		}
		out[s.Name] = o
	}
	return out
}
