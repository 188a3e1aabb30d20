// Package desktop provides tools for the owner's desktop: clipboard, applications, windows, screen
// content, typing and clicking. platform/host/desktop implements these functions for each operating
// system; this package defines the tools' arguments and effects.
//
// Text from the desktop is untrusted, because anyone can cause text to appear on a screen. It is
// also private: while the owner is away, nothing is read without approval
// (tools.CallAssessment.Private).
package desktop

import (
	"context"
	"errors"

	desk "hob/platform/host/desktop"
	"hob/platform/host/desktop/a11y"
	"hob/platform/host/desktop/apps"
	"hob/platform/host/desktop/clipboard"
	"hob/platform/host/desktop/session"
	"hob/platform/host/desktop/window"
	"hob/platform/host/osrun"
	"hob/platform/host/system/power"
	"hob/platform/provenance"
	"hob/tools"
)

// Clipboard accesses the owner's clipboard; *clipboard.Clipboard implements it.
type Clipboard interface {
	Read(ctx context.Context) (clipboard.Content, error)
	Write(ctx context.Context, text string) error
}

// Apps finds and starts applications; *apps.Finder implements it.
type Apps interface {
	Find(ctx context.Context, name string) (apps.App, error)
	List(ctx context.Context) ([]apps.App, error)
	Start(ctx context.Context, a apps.App, item string) error
}

// Deps are the dependencies of the tools. If a field is nil, its tools are omitted.
type Deps struct {
	Clipboard Clipboard
	Apps      Apps
	Windows   Windows
	// Hands types and clicks. It requires Windows and Asking.
	Hands InputController
	// Tree reads the content of windows. It requires Asking.
	Tree Tree
	// Capturer captures the screen; it needs Windows and Keep. Keep saves a screenshot in Hob's
	// folder and returns its path.
	Capturer ScreenCapturer
	Keep     func(name string, data []byte) (string, error)
	// Describe returns a model's description of an image. It may be nil.
	Describe func(ctx context.Context, data []byte) (string, error)
	// Battery reads the battery state. Display reads and sets the brightness and the color scheme.
	Battery func(ctx context.Context) (power.Battery, error)
	Display Display
	// Reach resolves the path of a file to be opened or shown. It rejects files that Hob may not
	// access. If it is nil, no file can be opened.
	Reach func(path string) (string, error)
	// Focus reports whether do-not-disturb is on, and the source of this information.
	Focus func(ctx context.Context) (desk.Focus, string, error)
	// Notes shows notifications.
	Notes NotificationClient
	// FileManager shows files; it needs Reach.
	FileManager FileRevealer
	// Shortcuts runs macOS shortcuts.
	Shortcuts Shortcuts
	// Asking reports whether an approval request is pending.
	Asking func(ctx context.Context) (bool, error)
	// Driven returns the process id of the browser that the browser tools control, or 0. The
	// desktop tools must not type or click in that browser, because this would give access to menus
	// and pages that the browser tools never use.
	Driven func() int
	// Key is the secret key for digests of text that may be secret. Approvals contain these
	// digests, which are keyed so that no one can guess the text from them.
	Key []byte
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	var out []tools.Tool
	if d.Clipboard != nil {
		out = append(out, d.getClipboard(), d.setClipboard())
	}
	if d.Apps != nil {
		out = append(out, d.openApp(), d.listApps())
	}
	if d.Notes != nil {
		out = append(out, d.sendNotification())
	}
	out = append(out, d.machineTools()...)
	if d.Windows != nil {
		out = append(out, d.listWindows())
	}
	if d.Windows != nil && d.Hands != nil {
		out = append(out, d.typeText(), d.pressKeys(), d.clickAt(), d.focusWindow())
	}
	if d.Tree != nil {
		out = append(out, d.readScreen(), d.clickElement(), d.fillElement())
	}
	if d.Windows != nil && d.Capturer != nil && d.Keep != nil {
		out = append(out, d.captureTool())
	}
	return out
}

// desktopOrigins returns the origins of text that was read from the desktop.
func desktopOrigins(what string) []provenance.Origin {
	return []provenance.Origin{{Kind: what}}
}

// classifyError classifies an error of the desktop.
func classifyError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrNone), errors.Is(err, clipboard.ErrNone), errors.Is(err, apps.ErrSession), errors.Is(err, a11y.ErrNone), errors.Is(err, window.ErrUnknown), errors.Is(err, errors.ErrUnsupported):
		return tools.Errorf(tools.Unsupported, "%w", tools.CleanErr(err))
	case errors.Is(err, apps.ErrItem):
		return tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	case osrun.KindOf(err) == osrun.Internal:
		return &tools.Error{Code: tools.Failed, Err: err, Message: err.Error(), Source: provenance.Outside} // the source is untrusted, because the error may quote the title of a window
	case errors.Is(err, apps.ErrNone):
		return tools.Errorf(tools.NotFound, "%w", err)
	case errors.Is(err, clipboard.ErrUnsure), errors.Is(err, apps.ErrUnsure):
		return tools.Errorf(tools.OutcomeUnknown, "%w", err)
	case errors.Is(err, clipboard.ErrTooLong):
		return tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	case errors.Is(err, clipboard.ErrBusy), errors.Is(err, context.DeadlineExceeded):
		return tools.Errorf(tools.TimedOut, "%w", err)
	}
	return tools.Errorf(tools.Failed, "%w", err)
}

// classifyProgramError works like classifyError, but for errors that quote other programs and are
// therefore untrusted. Only the error for a missing desktop is Hob's own text.
func classifyProgramError(err error) error {
	if errors.Is(err, session.ErrNone) {
		return classifyError(err)
	}
	return tools.Quoting(classifyError(err), provenance.Outside)
}
