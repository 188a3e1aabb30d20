package app

import (
	"context"
	"errors"
	"os"

	"hob/autonomy/service"
	"hob/autonomy/turn"
	"hob/knowledge/rerank"
	"hob/platform/host/osrun"
	"hob/platform/host/system/fileindex"
	"hob/platform/host/tray"
	"hob/tools"
	"hob/tools/desktop"
	"hob/tools/files"
	"hob/tools/media"
)

// openMachine returns the dependencies of the tools for the desktop and the devices.
func (d *App) openMachine() (screen desktop.Deps, devices media.Deps, err error) {
	describe, err := d.describeScreen()
	if err != nil {
		return screen, devices, err
	}
	env, scripts := d.environLookup(), d.scripts
	if scripts == nil && env != nil {
		scripts = osrun.NewScripts(osrun.Options{Getenv: env, Log: d.opt.Log})
	}
	screen, d.closeDesktop, err = desktop.Open(desktop.OpenOptions{
		Name: d.opt.Config.Agent.Name, Screen: d.opt.Screen && env != nil, Getenv: env, Scripts: d.scripts, DeviceScripts: scripts, Trust: d.buttons.Trusted,
		Describe: describe, Keep: turn.PictureFolder(d.opt.Paths.Pictures()).KeepPicture, Reach: func(path string) (string, error) { return d.files.ResolveExisting(path) }, Asking: d.guard.HasOpenApproval, Driven: d.browser.Pid,
	})
	return screen, media.Open(media.OpenOptions{Getenv: env, Scripts: scripts, Picture: func(ctx context.Context, path string, most int64) ([]byte, error) {
		doc, err := d.files.ReadDocument(ctx, path, most)
		return doc.Content, err
	}}), err
}

// describeScreen returns the function that describes screenshots; nil if pictures are off.
func (d *App) describeScreen() (func(context.Context, []byte) (string, error), error) {
	pictures, err := d.pictureDescriber()
	if pictures == nil || err != nil {
		return nil, err
	}
	return func(ctx context.Context, picture []byte) (string, error) {
		text, err := pictures.Describe(ctx, picture)
		if errors.Is(err, rerank.ErrNoVision) {
			err = tools.CleanErr(err)
		}
		return text, err
	}, nil
}

// environLookup returns the environment for finding devices; nil if none may be used.
func (d *App) environLookup() func(string) string {
	switch {
	case d.opt.Play != nil:
		return nil
	case d.opt.Session == nil && d.opt.Screen:
		return os.Getenv
	}
	return d.opt.Session
}

// fileIndex returns the system's file index; nil if there is none.
func (d *App) fileIndex() files.Index {
	env := d.environLookup()
	if env == nil {
		return nil
	}
	return fileindex.New(fileindex.Options{Getenv: env, Scripts: d.scripts})
}

// newButtons returns the handler of button presses.
func (d *App) newButtons() *service.Buttons {
	return service.NewButtons(func() *service.Service { return d.service }, service.ButtonOptions{
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

// Main runs the tray's work on the process's main thread until ended is closed. The goroutine of
// func main must call it.
func (d *App) Main(ended <-chan struct{}) { d.tray.Main(ended) }
