package app

import (
	"context"
	"crypto/rand"
	"errors"
	"image"
	"slices"
	"time"

	"hob/autonomy/guard"
	"hob/knowledge/rerank"
	notes "hob/platform/host/desktop"
	"hob/platform/host/desktop/a11y"
	"hob/platform/host/desktop/apps"
	"hob/platform/host/desktop/clipboard"
	"hob/platform/host/desktop/input"
	"hob/platform/host/desktop/screen"
	"hob/platform/host/desktop/session"
	"hob/platform/host/desktop/window"
	"hob/platform/host/system"
	"hob/tools"
	"hob/tools/desktop"
)

// openScreen returns the dependencies of the desktop tools. The key lives as long as this
// process: an approval of clipboard content is not valid in the next one.
func (d *App) openScreen() (desktop.Deps, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return desktop.Deps{}, err
	}
	if !d.opt.Screen || d.opt.Play != nil {
		return desktop.Deps{Clipboard: noScreen{}, Apps: noScreen{}, Windows: noWindows{}, Hands: noInput{}, Tree: noAccessibility{}, Camera: noScreen{}, Notes: noNotes{}, Keep: d.keepPicture, Reach: d.resolveOpenable, Asking: d.hasOpenQuestion, Driven: d.browserPID, Key: key}, nil
	}
	pictures, err := d.pictureDescriber()
	if err != nil {
		return desktop.Deps{}, err
	}
	var describe func(context.Context, []byte) (string, error)
	if pictures != nil {
		describe = func(ctx context.Context, picture []byte) (string, error) {
			text, err := pictures.Describe(ctx, picture)
			if errors.Is(err, rerank.ErrNoVision) {
				err = tools.CleanErr(err)
			}
			return text, err
		}
	}
	env := d.opt.Session
	d.clipboard = clipboard.New(clipboard.Options{Getenv: env})
	d.shown = &shownNotes{note: notes.New(notes.Options{App: d.opt.Config.Agent.Name, Trust: buttons{d}.Trusted, Getenv: env})}
	return desktop.Deps{
		Notes: d.shown, Clipboard: d.clipboard, Apps: apps.New(apps.Options{Getenv: env, Marker: system.Marker}), Windows: window.New(window.Options{Getenv: env}), Hands: input.New(input.Options{Getenv: env, Scripts: d.scripts}),
		Tree: a11y.New(a11y.Options{Getenv: env, Scripts: d.scripts}), Camera: screen.New(screen.Options{Getenv: env}), Keep: d.keepPicture, Reach: d.resolveOpenable, Describe: describe, Asking: d.hasOpenQuestion, Driven: d.browserPID, Key: key,
	}, nil
}

// hasOpenQuestion reports whether a question of Hob's is open: while one is, nothing is
// typed or clicked, since that could answer it.
func (d *App) hasOpenQuestion(ctx context.Context) (bool, error) {
	open, err := d.guard.Approvals(ctx, guard.Pending, "", "", 1000)
	return slices.ContainsFunc(open, func(a guard.Approval) bool { return time.Now().Before(a.ExpiresAt) }), err
}

// resolveOpenable resolves the path of a file that an application is to open or show, as the tools for
// files do: a folder that is not allowed and a protected place are out of it.
func (d *App) resolveOpenable(path string) (string, error) {
	p, err := d.files.Inspect(path)
	if err != nil {
		return "", err
	}
	if !p.Exists {
		return "", tools.Errorf(tools.NotFound, "there is no %s", d.files.Show(p.Path))
	}
	return p.Path, nil
}

// closeScreen releases the desktop resources.
func (d *App) closeScreen() {
	if d.clipboard != nil {
		d.clipboard.Close()
	}
	if d.shown != nil {
		d.shown.Close()
	}
}

// noScreen is a machine without a desktop.
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
