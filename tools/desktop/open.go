package desktop

import (
	"context"
	"crypto/rand"
	"image"

	desk "hob/platform/host/desktop"
	"hob/platform/host/desktop/a11y"
	"hob/platform/host/desktop/apps"
	"hob/platform/host/desktop/clipboard"
	"hob/platform/host/desktop/filemanager"
	"hob/platform/host/desktop/input"
	"hob/platform/host/desktop/screen"
	"hob/platform/host/desktop/session"
	"hob/platform/host/desktop/shortcuts"
	"hob/platform/host/desktop/window"
	"hob/platform/host/osrun"
	"hob/platform/host/system"
	brightness "hob/platform/host/system/display"
	"hob/platform/host/system/power"
)

// OpenOptions configure Open.
type OpenOptions struct {
	// Name is the application name that notifications show.
	Name string
	// Screen is true if the tools may use the desktop. Otherwise they report that there is no
	// desktop.
	Screen bool
	// Getenv looks up the environment variables that are used to find the desktop, the battery and
	// other devices. If it is nil, no variables are set. It is required if Screen is true.
	Getenv func(string) string
	// Scripts runs application scripts for typing and for the accessibility tree. If it is nil, no
	// scripts are run.
	Scripts osrun.Runner
	// DeviceScripts runs scripts for the brightness and the color scheme.
	DeviceScripts osrun.Runner
	// Trust verifies the process that shows notifications; see desktop.Options.
	Trust func(pid int) error
	// Describe, Keep, Reach, Asking and Driven are described in Deps.
	Describe func(ctx context.Context, data []byte) (string, error)
	Keep     func(name string, data []byte) (string, error)
	Reach    func(path string) (string, error)
	Asking   func(ctx context.Context) (bool, error)
	Driven   func() int
}

// Open returns the dependencies of the tools for this machine's desktop, and a function that closes
// their connections. The key that binds approvals to clipboard content exists only in this process,
// so the next process does not accept such approvals.
func Open(o OpenOptions) (Deps, func(), error) {
	d := Deps{Keep: o.Keep, Reach: o.Reach, Asking: o.Asking, Driven: o.Driven, Key: make([]byte, 32)}
	if _, err := rand.Read(d.Key); err != nil {
		return Deps{}, nil, err
	}
	d.openDevices(o)
	if !o.Screen || o.Getenv == nil {
		d.Clipboard, d.Apps, d.Windows, d.Hands, d.Tree, d.Capturer, d.Notes = noScreen{}, noScreen{}, noWindows{}, noInput{}, noAccessibility{}, noScreen{}, noNotifications{}
		return d, func() {}, nil
	}
	board := clipboard.New(clipboard.Options{Getenv: o.Getenv})
	notes := desk.NewLastingNotifier(desk.Options{App: o.Name, Trust: o.Trust, Getenv: o.Getenv})
	d.Clipboard, d.Notes, d.Describe = board, notes, o.Describe
	d.Apps = apps.New(apps.Options{Getenv: o.Getenv, Marker: system.Marker})
	d.Windows = window.New(window.Options{Getenv: o.Getenv})
	d.Hands = input.New(input.Options{Getenv: o.Getenv, Scripts: o.Scripts})
	d.Tree = a11y.New(a11y.Options{Getenv: o.Getenv, Scripts: o.Scripts})
	d.Capturer = screen.New(screen.Options{Getenv: o.Getenv})
	return d, func() { board.Close(); notes.Close() }, nil
}

// openDevices sets the dependencies that need no screen.
func (d *Deps) openDevices(o OpenOptions) {
	if o.Getenv == nil {
		d.Battery = func(context.Context) (power.Battery, error) { return power.Battery{}, session.ErrNone }
		d.Focus = func(context.Context) (desk.Focus, string, error) { return desk.FocusUnknown, "", session.ErrNone }
		d.Display, d.FileManager, d.Shortcuts = noDisplay{}, noFileManager{}, noShortcuts{}
		return
	}
	d.Battery = func(ctx context.Context) (power.Battery, error) {
		return power.ReadBattery(ctx, power.Options{Getenv: o.Getenv})
	}
	d.Focus = func(ctx context.Context) (desk.Focus, string, error) {
		return desk.ReadFocusMode(ctx, desk.Options{Getenv: o.Getenv})
	}
	d.FileManager = filemanager.New(filemanager.Options{Getenv: o.Getenv})
	d.Shortcuts = shortcuts.Library{Run: osrun.Programs{Getenv: o.Getenv}}
	d.Display = brightness.New(brightness.Options{Getenv: o.Getenv, Scripts: o.DeviceScripts})
}

// noScreen represents a machine without a desktop.
type noScreen struct{}

func (noScreen) Read(context.Context) (clipboard.Content, error) {
	return clipboard.Content{}, session.ErrNone
}
func (noScreen) Write(context.Context, string) error            { return session.ErrNone }
func (noScreen) Find(context.Context, string) (apps.App, error) { return apps.App{}, apps.ErrSession }

func (noScreen) List(context.Context) ([]apps.App, error)      { return nil, apps.ErrSession }
func (noScreen) Start(context.Context, apps.App, string) error { return apps.ErrSession }

func (noScreen) Capture(context.Context, image.Rectangle) (image.Image, error) {
	return nil, session.ErrNone
}

type noWindows struct{}

func (noWindows) List(context.Context) ([]window.Window, error) { return nil, session.ErrNone }

type noInput struct{}

func (noInput) Type(context.Context, window.Window, string, input.Check) error {
	return session.ErrNone
}

func (noInput) Press(context.Context, window.Window, []string, input.Check) error {
	return session.ErrNone
}

func (noInput) Click(context.Context, window.Window, int, int, string, bool, input.Check) error {
	return session.ErrNone
}

func (noInput) Focus(context.Context, window.Window, input.Check) error { return session.ErrNone }

type noAccessibility struct{}

func (noAccessibility) Read(context.Context, string) ([]a11y.Node, bool, error) {
	return nil, false, session.ErrNone
}

func (noAccessibility) Do(context.Context, a11y.Node) error { return session.ErrNone }

func (noAccessibility) Fill(context.Context, a11y.Node, string) error { return session.ErrNone }

type noNotifications struct{}

func (noNotifications) Notify(context.Context, desk.Notification) error { return desk.ErrNoSession }

type noFileManager struct{}

func (noFileManager) Reveal(context.Context, string) error { return session.ErrNone }

type noShortcuts struct{}

func (noShortcuts) List(context.Context) ([]string, error) { return nil, session.ErrNone }
func (noShortcuts) Start(context.Context, string, string) (string, error) {
	return "", session.ErrNone
}

type noDisplay struct{}

func (noDisplay) Brightness(context.Context) (int, error) { return 0, session.ErrNone }
func (noDisplay) SetBrightness(context.Context, int) (int, error) {
	return 0, session.ErrNone
}
func (noDisplay) Dark(context.Context) (bool, error)          { return false, session.ErrNone }
func (noDisplay) SetDark(context.Context, bool) (bool, error) { return false, session.ErrNone }
