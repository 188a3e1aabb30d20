// Package display reads and changes the brightness of the built-in screen and the dark mode of the
// desktop. On Linux it uses logind for the backlight, and the portal and GSettings for the
// appearance. On Windows it uses WMI and the registry. On macOS it uses System Events; macOS does
// not let programs read or set the brightness.
package display

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"os"
	"strings"
	"time"

	"hob/platform/host/osrun"
)

// Errors of a Display. Wrapping errors name the remedy.
var (
	// ErrNoBacklight means that no screen has a brightness that Hob can set.
	ErrNoBacklight = errors.New("no built-in screen with adjustable brightness; use the controls of an external monitor")
	// ErrUnsaid means that the desktop does not report its appearance.
	ErrUnsaid = errors.New("this desktop does not report whether it uses dark mode")
)

// Options of a Display; the zero value is useful.
type Options struct {
	// Getenv is os.Getenv unless a test replaces it.
	Getenv func(string) string
	// Sys is the path of sysfs; "" is "/sys".
	Sys string
	// Scripts runs osascript and PowerShell; nil creates a runner.
	Scripts osrun.Runner
	// Wait is the timeout of a query (default 5 s).
	Wait time.Duration
}

// Display is the user's built-in screen and desktop. It is stateless.
type Display struct{ back backend }

type backend interface {
	readBrightness(ctx context.Context) (int, error)
	setBrightness(ctx context.Context, percent int) error
	isDark(ctx context.Context) (bool, error)
	setDark(ctx context.Context, on bool) error
}

// New returns a Display.
func New(o Options) *Display {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Sys == "" {
		o.Sys = "/sys"
	}
	if o.Wait <= 0 {
		o.Wait = 5 * time.Second
	}
	if o.Scripts == nil {
		o.Scripts = osrun.NewScripts(osrun.Options{Getenv: o.Getenv})
	}
	return &Display{newBackend(o)}
}

// Brightness returns the brightness of the built-in screen in percent.
func (d *Display) Brightness(ctx context.Context) (int, error) { return d.back.readBrightness(ctx) }

// SetBrightness sets the brightness and returns the resulting value. It never makes the screen
// black.
func (d *Display) SetBrightness(ctx context.Context, percent int) (int, error) {
	if err := d.back.setBrightness(ctx, max(1, min(100, percent))); err != nil {
		return 0, err
	}
	return d.back.readBrightness(ctx)
}

// Dark reports whether the desktop prefers dark mode.
func (d *Display) Dark(ctx context.Context) (bool, error) { return d.back.isDark(ctx) }

// SetDark turns dark mode on or off and returns the resulting state.
func (d *Display) SetDark(ctx context.Context, on bool) (bool, error) {
	if err := d.back.setDark(ctx, on); err != nil {
		return false, err
	}
	return d.back.isDark(ctx)
}

var (
	//go:embed appearance.js
	appearanceText string
	//go:embed brightness.ps1
	brightnessText string
)

func appearanceScript() osrun.Script {
	return osrun.NewScript("system/display/appearance.js", appearanceText)
}

func brightnessScript() osrun.Script {
	return osrun.NewScript("system/display/brightness.ps1", brightnessText)
}

// macBackend accesses the display on macOS.
type macBackend struct {
	scripts osrun.Runner
	run     osrun.Programs
}

func (macBackend) readBrightness(context.Context) (int, error) {
	return 0, errors.Join(errors.New("macOS does not let programs read or set the brightness; use the brightness keys, or System Settings, Displays"), errors.ErrUnsupported)
}

func (m macBackend) setBrightness(ctx context.Context, _ int) error {
	_, err := m.readBrightness(ctx)
	return err
}

// isDark reads the user's preference, for which it needs no permission. The key exists only in dark
// mode; otherwise the program fails.
func (m macBackend) isDark(ctx context.Context) (bool, error) {
	out, err := m.run.Run(ctx, nil, "/usr/bin/defaults", "read", "-g", "AppleInterfaceStyle")
	if err == nil {
		return strings.TrimSpace(string(out)) == "Dark", nil
	}
	if f, ok := errors.AsType[*osrun.Failure](err); ok && ctx.Err() == nil && strings.Contains(f.Said, "does not exist") {
		return false, nil
	}
	return false, err
}

func (m macBackend) setDark(ctx context.Context, on bool) error {
	return m.scripts.Run(ctx, osrun.Call{Script: appearanceScript(), App: systemEvents(), In: darkRequest{on}, Write: true}, nil)
}

func systemEvents() osrun.App { return osrun.App{ID: "com.apple.systemevents", Name: "System Events"} }

type darkRequest struct {
	Dark bool `json:"dark"`
}

// wmiClient accesses the brightness on Windows.
type wmiClient struct{ scripts osrun.Runner }

type wmiRequest struct {
	Percent *int `json:"percent,omitempty"`
}

func (w wmiClient) runBrightnessScript(ctx context.Context, percent *int) (int, error) {
	var a struct {
		Percent *int `json:"percent"`
	}
	err := w.scripts.Run(ctx, osrun.Call{Script: brightnessScript(), In: wmiRequest{percent}, Write: percent != nil}, &a)
	switch {
	case osrun.KindOf(err) == osrun.NotFound, err == nil && a.Percent == nil:
		return 0, ErrNoBacklight
	case err != nil:
		return 0, err
	}
	return *a.Percent, nil
}
