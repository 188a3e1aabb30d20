package doctor

import (
	"context"
	"errors"
	"image"
	"runtime"
	"strings"
	"sync"
	"time"

	"hob/platform/desktop/clipboard"
	"hob/platform/desktop/screen"
	"hob/platform/desktop/session"
	"hob/platform/desktop/tree"
	"hob/platform/desktop/window"
	"hob/platform/permission"
)

// sessionWait bounds the answer of one part of the desktop.
const sessionWait = 4 * time.Second

// part is something of the desktop that tools reach.
type part struct {
	name, what string // what tools do with it
	remedy     string
	link       string
	ask        func(context.Context) error
}

// parts asks for each as its tool would, and throws the answer away. Nothing is
// typed, clicked, copied or kept.
func (e Env) parts() []part {
	camera := screen.New(screen.Options{Getenv: e.getenv, Wait: sessionWait})
	windows := window.New(window.Options{Getenv: e.getenv, Wait: sessionWait})
	reader := tree.New(tree.Options{Getenv: e.getenv, Wait: sessionWait})
	var link string
	if runtime.GOOS == "darwin" {
		link = permission.ScreenPane
	}
	return []part{
		{"windows", "list of open windows", "see docs/desktop.md", "", func(ctx context.Context) error { _, err := windows.List(ctx); return err }},
		{"screenshots", "screenshots of the screen", "see docs/desktop.md", link, func(ctx context.Context) error {
			_, err := camera.Take(ctx, image.Rect(0, 0, 1, 1))
			return err
		}},
		{"accessibility", "content and buttons of windows", "install at-spi2-core, and log in again", "", reader.Ready},
		{"clipboard", "clipboard content", "see docs/desktop.md", "", func(ctx context.Context) error {
			board := clipboard.New(clipboard.Options{Getenv: e.getenv, Scripts: e.Scripts, Wait: sessionWait})
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
	list := e.parts()
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
			cause, remedy := split(err, p.remedy)
			c := warn(name, p.name+" ("+p.what+") is not available: "+cause, remedy)
			c[0].Link = p.link
			out = append(out, c...)
		}
	}
	switch {
	case none == len(list):
		return skip(name, "no desktop session is accessible from this process", "if there is one, start Hob in it: hob service install")
	case none > 0:
		_, remedy := split(session.ErrNone, "start Hob in the desktop session: hob service install")
		out = append(out, warn(name, "part of the desktop session is not accessible from here", remedy)...)
	}
	if len(out) > 0 {
		return out
	}
	if len(good) == 0 {
		return skip(name, "this system has no "+strings.Join(not, ", ")+" for Hob", "")
	}
	said := strings.Join(good, ", ") + " available"
	if len(not) > 0 {
		said += "; not available on this system: " + strings.Join(not, ", ")
	}
	return ok(name, said)
}
