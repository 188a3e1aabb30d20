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
	"hob/platform/store"
	"hob/tools"
	"hob/watchers"
	watchersall "hob/watchers/all"
)

// Options holds the options of Open.
type Options struct {
	Paths   system.Paths
	Config  *config.Config
	Log     *slog.Logger
	Version string
	Restart func() // begins to restart the process with the configuration in the file; nil if that is impossible
	// InProcess is true if a command uses the engine without a daemon. Nothing listens, no watcher
	// or schedule runs, and Hob sends no unprompted messages.
	InProcess       bool
	BeforeMigration func(context.Context, store.Migration) error // see store.Options
	// Helper is the command line that starts this program as the helper for commands
	// (command.Serve). If it is empty, commands cannot run.
	Helper []string
	// Reader is the command line that starts this program as the document reader (document.Serve).
	// If it is empty, PDFs cannot be read.
	Reader []string
	// HTTP is the client for model providers; nil means the default client.
	HTTP *http.Client
	// Network controls access to untrusted addresses. The configuration fills in the unset options.
	// Tests set their own resolver and connections.
	Network safehttp.Options
	// Tools are added to the tools in tools/all.
	Tools []tools.Tool
	// Peer identifies the process behind an API connection. If it is nil, the process is identified
	// as described in docs/approvals.md. Tests whose browser is a child process set it.
	Peer func(client, server string, thorough bool) web.Peer
	// Desktop enables the desktop channel by default; the caller knows whether there is a desktop.
	Desktop bool
	// Tray shows an icon with a menu, unless the configuration or InProcess disables it.
	Tray bool
	// Screen lets the desktop tools use the real desktop. Otherwise they report that there is none,
	// because tests must not type into the developer's windows.
	Screen bool
	// Session is the environment for finding the desktop, players, sound, battery and so on. If it
	// is nil, the environment of this process is used, provided that Screen is set.
	Session func(string) string
	// Started reports whether a program started by Hob is running. If it is nil, Hob checks the
	// processes. Tests whose desktop is a child process set it.
	Started func() (bool, error)
	// Quick is how long a request must be visible before a click can approve it (default 1.5 s).
	Quick time.Duration
	// Scripts runs scripts for the apps on this machine. Nil means osascript or PowerShell. Tests
	// set a fake Mac.
	Scripts osrun.Runner
	// Release is the built-in address of releases with their public key. ReleaseDelay is the time
	// from the start to the first update check; 0 means the default.
	Release      release.Source
	ReleaseDelay time.Duration
	// Drivers replace the drivers of the same names in channels/all, for fake platforms in tests.
	Drivers []channels.Driver
	// Channels are added to the configured channels.
	Channels map[string]channels.Channel
	// UserHome is the folder that tools use for "~". "" means the user's home folder.
	UserHome string
	// Play configures a simulation. If it is nil, Hob uses the real environment.
	Play *Simulation
}

// Simulation configures a simulation (see package simulate). The simulation works in the background
// like the daemon, with the same parts in the same order, but nothing listens. The fields replace
// the environment. InProcess must be set. All fields are required.
type Simulation struct {
	// Channels and Watchers replace the program's drivers.
	Channels []channels.Driver
	Watchers []watchers.Driver
	// Account changes how Hob reaches the servers of an account.
	Account func(pim.Account) pim.Account
	// Secret resolves references to secrets.
	Secret func(ctx context.Context, ref string) (string, error)
	// Tool replaces a tool whose target is not available.
	Tool func(tools.Tool) tools.Tool
}

// Parts holds the parts that a simulation reads.
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

// playedSecret returns the function that resolves references in a simulation, or nil if this is not
// a simulation.
func (d *App) playedSecret() func(ctx context.Context, ref string) (string, error) {
	if d.opt.Play == nil {
		return nil
	}
	return d.opt.Play.Secret
}
