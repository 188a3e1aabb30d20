package app

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"hob/autonomy"
	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/explain"
	"hob/autonomy/notify"
	"hob/autonomy/session"
	"hob/autonomy/usage"
	"hob/channels"
	channelsall "hob/channels/all"
	"hob/channels/web"
	"hob/platform/host/osrun"
	"hob/platform/host/system"
	"hob/platform/net/release"
	"hob/platform/net/safehttp"
	"hob/platform/pim"
	"hob/tools"
	"hob/watchers"
	watchersall "hob/watchers/all"
)

// Options of Open.
type Options struct {
	Paths   system.Paths
	Config  *config.Config
	Log     *slog.Logger
	Version string
	// InProcess is true if a command uses the engine without a daemon. Nothing listens, no watcher
	// or schedule runs, and nothing is sent unprompted.
	InProcess bool
	// Helper is the command line that starts this program as the helper of commands
	// (command.Serve). Without it no command runs.
	Helper []string
	// Reader is the command line that starts this program as the reader of documents
	// (document.Serve). Without it no PDF is read.
	Reader []string
	// HTTP is the client for model providers; nil means the default client.
	HTTP *http.Client
	// Network controls access to untrusted addresses; the configuration completes it. Tests set
	// their own resolver and connections.
	Network safehttp.Options
	// Tools are added to those of tools/all.
	Tools []tools.Tool
	// Peer identifies the process behind a connection to the API; nil: as described in
	// docs/approvals.md. Tests whose browser is a child process set it.
	Peer func(client, server string, thorough bool) web.Peer
	// Desktop enables the desktop channel without a section. The caller must know whether there is
	// a desktop.
	Desktop bool
	// Tray shows an icon with a menu if the desktop supports it, unless the configuration or
	// InProcess disables it.
	Tray bool
	// Screen lets the desktop tools use the real desktop. Otherwise they report that there is none:
	// tests must not type into the developer's windows.
	Screen bool
	// Session is the environment for finding the desktop, players, sound, battery and so on; nil
	// means the environment of this process, if Screen is set.
	Session func(string) string
	// Started reports whether a program started by Hob is running; nil looks it up. Tests whose
	// desktop is a child process set it.
	Started func() (bool, error)
	// Quick is how long an approval request must be visible before a click approves it (default
	// 1.5 s).
	Quick time.Duration
	// Scripts runs scripts of the apps of this machine; nil means osascript or PowerShell.
	// Tests set a fake Mac.
	Scripts osrun.Runner
	// Release is the built-in address of releases and their public key. ReleaseDelay is the time
	// from the start to the first update check; 0 means the default.
	Release      release.Source
	ReleaseDelay time.Duration
	// Drivers replace those of the same names in channels/all, for fake platforms in tests.
	Drivers []channels.Driver
	// Channels are added to those of the configuration.
	Channels map[string]channels.Channel
	// UserHome is the meaning of "~" for tools; "" means the user's home folder.
	UserHome string
	// Play configures a simulation; nil: Hob uses the real environment.
	Play *Simulation
}

// Simulation configures a simulation (see package simulate). It works in the background like the
// daemon, with the same parts in the same order, but nothing listens. Its fields replace the
// environment. It requires InProcess. All fields are required.
type Simulation struct {
	// Channels and Watchers replace the drivers of this program.
	Channels []channels.Driver
	Watchers []watchers.Driver
	// Account changes how Hob reaches the servers of an account.
	Account func(pim.Account) pim.Account
	// Secret resolves references to secrets.
	Secret func(ctx context.Context, ref string) (string, error)
	// Tool replaces a tool whose target is not available.
	Tool func(tools.Tool) tools.Tool
}

// Parts are the parts that a simulation reads.
type Parts struct {
	Bus       *bus.Bus
	Sessions  *session.Sessions
	Notices   *notify.Notifier
	Watchers  *watchers.Manager
	Usage     *usage.Tracker
	Loop      *autonomy.Loop
	Explainer *explain.Explainer
}

// Parts returns the parts of an open App.
func (d *App) Parts() Parts {
	return Parts{Bus: d.bus, Sessions: d.sessions, Notices: d.notices, Watchers: d.watchers, Usage: d.usage, Loop: d.loop, Explainer: d.explainer}
}

// isLongRunning reports whether this process keeps running and works in the background.
func (d *App) isLongRunning() bool { return !d.opt.InProcess || d.opt.Play != nil }

func (d *App) channelDrivers() []channels.Driver {
	if d.opt.Play != nil {
		return d.opt.Play.Channels
	}
	return channels.ReplaceDrivers(channelsall.Drivers(), d.opt.Drivers)
}

func (d *App) watcherDrivers() []watchers.Driver {
	if d.opt.Play != nil {
		return d.opt.Play.Watchers
	}
	return watchersall.Drivers()
}

// playedSecret returns the function that resolves references in a simulation, nil otherwise.
func (d *App) playedSecret() func(ctx context.Context, ref string) (string, error) {
	if d.opt.Play == nil {
		return nil
	}
	return d.opt.Play.Secret
}
