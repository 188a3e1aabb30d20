package app

import (
	"context"
	"errors"
	"os"
	"runtime"

	"hob/autonomy/service"
	"hob/autonomy/turn"
	"hob/platform/host/browser"
	"hob/platform/host/browser/apps"
	"hob/platform/host/osrun"
	"hob/platform/host/system/fileindex"
	"hob/platform/host/system/power"
	"hob/platform/host/tray"
	"hob/platform/net/release"
	toolsbrowser "hob/tools/browser"
	"hob/tools/desktop"
	"hob/tools/files"
	"hob/tools/media"
)

// openMachine returns the dependencies of the desktop and device tools.
func (d *App) openMachine() (screen desktop.Deps, devices media.Deps, err error) {
	pictures, err := d.openDescriber()
	if err != nil {
		return screen, devices, err
	}
	env, scripts := d.environLookup(), d.scripts
	if scripts == nil && env != nil {
		scripts = osrun.NewScripts(osrun.Options{Getenv: env, Log: d.opt.Log})
	}
	o := desktop.OpenOptions{
		Name: d.opt.Config.Agent.Name, Screen: d.opt.Screen && env != nil, Getenv: env, Scripts: d.scripts, DeviceScripts: scripts, Trust: d.buttons.Trusted,
		Keep: turn.PictureFolder(d.opt.Paths.Pictures()).KeepPicture, Reach: func(path string) (string, error) { return d.files.ResolveExisting(path) }, Asking: d.guard.HasOpenApproval, Driven: d.browser.Pid,
	}
	if pictures != nil {
		o.Describe = pictures.DescribeForTool
	}
	screen, d.closeDesktop, err = desktop.Open(o)
	return screen, media.Open(media.OpenOptions{Getenv: env, Scripts: scripts, Picture: func(ctx context.Context, path string, most int64) ([]byte, error) {
		doc, err := d.files.ReadDocument(ctx, path, most)
		return doc.Content, err
	}}), err
}

// environLookup returns the environment for finding devices, or nil if devices must not be used.
func (d *App) environLookup() func(string) string {
	switch {
	case d.opt.Play != nil:
		return nil
	case d.opt.Session == nil && d.opt.Screen:
		return os.Getenv
	}
	return d.opt.Session
}

// fileIndex returns the system's file index, or nil if there is none.
func (d *App) fileIndex() files.Index {
	env := d.environLookup()
	if env == nil {
		return nil
	}
	return fileindex.New(fileindex.Options{Getenv: env, Scripts: d.scripts})
}

// newButtons returns the handler for button presses.
func (d *App) newButtons() *service.Buttons {
	return service.NewButtons(d.lateService, service.ButtonOptions{
		Started: d.opt.Started, Quick: d.opt.Quick, Agents: func() []int { return d.agents.Pids() }, Browser: func() int { return d.browser.SandboxedPid() },
		Page: func() string {
			if d.opt.InProcess {
				return ""
			}
			return d.web.URL()
		},
	})
}

// openTray creates the tray. It shows nothing before Run.
func (d *App) openTray(context.Context) error {
	c := d.opt.Config.Tray
	if !d.opt.Tray || d.opt.InProcess || d.opt.Play != nil || c.Enabled == "off" {
		return nil
	}
	_, err := d.buttons.HasNoSubprocess()
	d.tray = tray.NewMenu(tray.MenuOptions{
		Assistant: service.TrayAssistant{Buttons: d.buttons, Link: func() string { return d.web.LoginLink() }, Shutdown: d.Shutdown},
		Decides:   !errors.Is(err, errors.ErrUnsupported), Name: d.opt.Config.Agent.Name, Look: tray.Look(c.Icons), Trust: d.buttons.Trusted, Log: d.opt.Log,
	})
	return nil
}

// Main runs the tray's work on the process's main thread until ended is closed. It must be called
// by the goroutine that runs func main.
func (d *App) Main(ended <-chan struct{}) { d.tray.Main(ended) }

// openBrowser creates the browser controller. The first tool that needs the browser starts it, and
// the browser ends with the daemon.
func (d *App) openBrowser(context.Context) (err error) {
	b := d.opt.Config.Browser
	if !b.Enabled || d.opt.Play != nil {
		return nil
	}
	d.browser, err = browser.New(browser.Options{Profile: d.opt.Paths.Browser(), Network: d.network, Path: b.Path, Headless: b.Headless, Idle: b.Idle.Duration, MaxTabs: b.MaxTabs, Log: d.opt.Log})
	return err
}

func (d *App) browserDeps() toolsbrowser.Deps {
	if d.browser == nil {
		return toolsbrowser.Deps{}
	}
	out := toolsbrowser.Deps{Browser: d.browser, Network: d.network, Keep: turn.PictureFolder(d.opt.Paths.Pictures()).KeepPicture, See: d.describePicture, Hosts: d.opt.Config.Web.OwnHosts()}
	if d.scripts != nil && runtime.GOOS != "windows" { // only tests set scripts on Linux
		out.Own = apps.New(d.scripts, apps.Options{Taken: d.browser.Shows})
	}
	return out
}

// openNetwork creates the HTTP client for untrusted addresses.
func (d *App) openNetwork(ctx context.Context) (err error) {
	d.network, err = d.opt.Config.Network.OpenClient(ctx, d.opt.Network, d.secrets.ResolveContext)
	return err
}

// releaseFollower returns the daily update check.
func (d *App) releaseFollower() release.Follower {
	c := d.opt.Config.Update
	return release.Follower{
		Checker: release.Checker{Built: d.opt.Release, Configured: release.Source{URL: c.URL, Key: c.Key}, Network: d.network, File: d.opt.Paths.UpdateFile(), Version: d.opt.Version},
		Delay:   d.opt.ReleaseDelay, Notify: d.intake.Notify, Log: d.opt.Log,
	}
}

// followWakes makes the loop, the channels and the watchers check the clock when the machine wakes.
// Without wake notifications they notice the wake-up within one tick.
func (d *App) followWakes(ctx context.Context) error {
	env := d.environLookup()
	if env == nil {
		<-ctx.Done()
		return nil
	}
	return power.FollowWakes(ctx, power.Options{Getenv: env}, d.opt.Log, func() {
		d.watchers.HandleWake()
		d.channels.HandleWake()
		d.bus.Inbox.SignalWork()
	})
}

// describePicture describes a picture. It returns "" if pictures are disabled.
func (d *App) describePicture(ctx context.Context, data []byte) (string, error) {
	p, err := d.openDescriber()
	if p == nil || err != nil {
		return "", err
	}
	return p.Describe(ctx, data)
}
