package doctor

import (
	"context"
	"errors"
	"image"
	"runtime"
	"strings"
	"sync"
	"time"

	"hob/platform/host/desktop/a11y"
	"hob/platform/host/desktop/clipboard"
	"hob/platform/host/desktop/screen"
	"hob/platform/host/desktop/session"
	"hob/platform/host/desktop/window"
	"hob/platform/host/permission"
)

// sessionWait is the timeout for a response from one part of the desktop.
const sessionWait = 4 * time.Second

// desktopPart is a part of the desktop that tools use.
type desktopPart struct {
	name, what string // name of the part, and what tools use it for
	remedy     string
	link       string
	ask        func(context.Context) error
}

// sessionParts returns checks that query each part in the same way as its tool and discard the
// result. They do not type, click, copy or store anything.
func (e Env) sessionParts() []desktopPart {
	camera := screen.New(screen.Options{Getenv: e.lookupEnv, Wait: sessionWait})
	windows := window.New(window.Options{Getenv: e.lookupEnv, Wait: sessionWait})
	reader := a11y.New(a11y.Options{Getenv: e.lookupEnv, Wait: sessionWait})
	var link string
	if runtime.GOOS == "darwin" {
		link = permission.ScreenPane
	}
	return []desktopPart{
		{"windows", "list of open windows", "see docs/desktop.md", "", func(ctx context.Context) error { _, err := windows.List(ctx); return err }},
		{"screenshots", "pictures of the screen", "see docs/desktop.md", link, func(ctx context.Context) error {
			_, err := camera.Capture(ctx, image.Rect(0, 0, 1, 1))
			return err
		}},
		{"accessibility", "content and buttons of windows", "install at-spi2-core, and log in again", "", reader.Ready},
		{"clipboard", "clipboard content", "see docs/desktop.md", "", func(ctx context.Context) error {
			board := clipboard.New(clipboard.Options{Getenv: e.lookupEnv, Scripts: e.Scripts, Wait: sessionWait})
			defer board.Close()
			_, err := board.Read(ctx)
			return err
		}},
	}
}

// checkSession checks the desktop functions that tools use.
func checkSession(ctx context.Context, e Env) []Check {
	const name = "session"
	if !e.Desktop {
		return nil
	}
	list := e.sessionParts()
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, p := range list {
		wg.Go(func() { errs[i] = p.ask(ctx) })
	}
	wg.Wait()
	var good, not []string
	var out []Check
	none := 0
	for i, p := range list {
		switch err := errs[i]; {
		case err == nil:
			good = append(good, p.name)
		case errors.Is(err, session.ErrNone):
			none++
		case errors.Is(err, errors.ErrUnsupported):
			not = append(not, p.name)
		default:
			cause, remedy := splitRemedy(err, p.remedy)
			c := warnCheck(name, p.name+" ("+p.what+") is not available: "+cause, remedy)
			c[0].Link = p.link
			out = append(out, c...)
		}
	}
	switch {
	case none == len(list):
		return skipCheck(name, "no desktop session is accessible from this process", "if there is one, start Hob in it: hob service install")
	case none > 0:
		_, remedy := splitRemedy(session.ErrNone, "start Hob in the desktop session: hob service install")
		out = append(out, warnCheck(name, "part of the desktop session is not accessible from here", remedy)...)
	}
	if len(out) > 0 {
		return out
	}
	if len(good) == 0 {
		return skipCheck(name, "this system has no "+strings.Join(not, ", ")+" for Hob", "")
	}
	said := strings.Join(good, ", ") + " available"
	if len(not) > 0 {
		said += "; not available on this system: " + strings.Join(not, ", ")
	}
	return okCheck(name, said)
}
