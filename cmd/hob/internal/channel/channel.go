// Package channel returns the information about channels that users see: which channels exist,
// which are set up, their state, and whether signing in works. The command, the web page and the
// doctor share it. It runs no channel.
package channel

import (
	"cmp"
	"runtime"
	"slices"
	"strings"

	"hob/autonomy/config"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/channels/terminal"
	"hob/platform/text/textnorm"
)

// Kind describes a channel that Hob supports.
type Kind struct {
	channels.Description
	// Always is true for a channel that needs no section in the configuration.
	Always bool
}

// Kinds lists the channels, built-in ones first.
func Kinds() []Kind {
	out := []Kind{
		{channels.Description{Name: terminal.Name, Title: "hob chat and hob ask, in a terminal"}, true},
		{channels.Description{Name: "web", Title: "the page on this machine (hob open), and programs that use the API"}, true},
	}
	for _, d := range channelsall.Drivers() {
		out = append(out, Kind{Description: d.Describe()})
	}
	return out
}

// Names lists the names of all kinds.
func Names() (out []string) {
	for _, k := range Kinds() {
		out = append(out, k.Name)
	}
	return out
}

// Find returns the kind called name.
func Find(name string) (Kind, bool) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

// On reports whether the channel works on an operating system (a GOOS value).
func (k Kind) On(goos string) bool { return len(k.Systems) == 0 || slices.Contains(k.Systems, goos) }

// Here reports whether the channel works on the operating system of this machine.
func (k Kind) Here() bool { return k.On(runtime.GOOS) }

// WithManifest lists the names of the channels that have a manifest.
func WithManifest() (out []string) {
	for _, k := range Kinds() {
		if k.Manifest != nil {
			out = append(out, k.Name)
		}
	}
	return out
}

// ArchiveReaders returns the drivers that can list the messages in a file, by channel name.
func ArchiveReaders() map[string]channels.ArchiveReader {
	out := map[string]channels.ArchiveReader{}
	for _, d := range channelsall.Drivers() {
		if r, ok := d.(channels.ArchiveReader); ok {
			out[d.Describe().Name] = r
		}
	}
	return out
}

// States in addition to those of channels.Health.
const (
	// Idle means that the channel is enabled but Hob is not running, or Hob started before the
	// channel was configured.
	Idle = "idle"
	// Off means that the channel is set up but disabled.
	Off = "off"
	// Unset means that the channel is not set up.
	Unset = "unset"
	// Unsupported means that the channel does not work on this machine.
	Unsupported = "unsupported"
)

// Row describes a channel in a list. Error is the complete error; Cause and Remedy are its two
// parts.
type Row struct {
	channels.Health
	About      string `json:"about"`
	Configured bool   `json:"configured"` // whether the channel has a section or needs none
	Enabled    bool   `json:"enabled"`
	Available  bool   `json:"available"` // whether the channel works on this machine
	Cause      string `json:"cause,omitempty"`
	Remedy     string `json:"remedy,omitempty"`
}

// Rows returns all channels: those in Kinds and any others. running reports whether the channels
// are running; health holds their state.
func Rows(c *config.Config, health []channels.Health, running bool) (out []Row) {
	kinds := Kinds()
	known := len(kinds)
	add := func(name string) {
		if !slices.ContainsFunc(kinds, func(k Kind) bool { return k.Name == name }) {
			kinds = append(kinds, Kind{Description: channels.Description{Name: name}})
		}
	}
	for _, h := range health {
		add(h.Name)
	}
	for _, s := range c.Channels {
		add(s.Name)
	}
	for n, k := range kinds {
		r := Row{Health: channels.Health{Name: k.Name}, About: k.Title}
		s, there := c.Channel(k.Name)
		i := slices.IndexFunc(health, func(h channels.Health) bool { return h.Name == k.Name })
		if i >= 0 {
			r.Health = health[i]
		}
		r.Configured = k.Always || there
		r.Enabled = k.Always || there && s.Enabled || i >= 0 && !there
		r.Available = n < known && k.Here() || i >= 0 && r.State != "failed"
		r.fillState(i >= 0, running)
		out = append(out, r)
	}
	return out
}

// fillState sets the state and the error.
func (r *Row) fillState(known, running bool) {
	k, _ := Find(r.Name)
	switch {
	case known && r.State == "failed", known && running && (r.Enabled || !r.Configured):
		r.Cause, r.Remedy = Split(r.Name, r.Error)
	case !r.Available && r.Configured:
		r.State, r.Cause, r.Remedy = Unsupported, "not supported on this machine", "hob channel remove "+r.Name
	case !r.Available:
		r.State, r.Cause = Unsupported, "not supported on this machine"
	case k.Always && running:
		r.State = "running"
	case r.Enabled && running:
		r.State, r.Cause, r.Remedy = Idle, "set up after Hob was started", "hob stop, then hob start"
	case r.Enabled:
		r.State = Idle
	case r.Configured:
		r.State = Off
	default:
		r.State = Unset
	}
	if r.Cause != "" && r.Remedy == "" && r.State != Unsupported {
		r.Remedy = cmp.Or(map[string]string{"waiting": "Hob retries; see: hob channel test " + r.Name}[r.State], "hob channel test "+r.Name)
	}
}

// Split splits a channel's error into cause and remedy.
func Split(name, text string) (cause, remedy string) {
	cause = text
	for _, p := range []string{"channels: ", name + ": ", "hear: ", "deliver: ", name + ": "} {
		cause = strings.TrimPrefix(cause, p)
	}
	return textnorm.SplitRemedy(cause)
}
