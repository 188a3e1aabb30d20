package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"image"
	"slices"
	"time"

	"hob/autonomy/guard"
	"hob/knowledge/refine"
	notes "hob/platform/desktop"
	"hob/platform/desktop/apps"
	"hob/platform/desktop/clipboard"
	"hob/platform/desktop/input"
	"hob/platform/desktop/screen"
	"hob/platform/desktop/session"
	"hob/platform/desktop/tree"
	"hob/platform/desktop/window"
	"hob/platform/system"
	"hob/tools"
	"hob/tools/desktop"
)

// openScreen returns the dependencies of the desktop tools. The key lives as long as this
// process: an approval of clipboard content is not valid in the next one.
func (d *Daemon) openScreen() (desktop.Deps, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return desktop.Deps{}, err
	}
	if !d.opt.Screen || d.opt.Play != nil {
		return desktop.Deps{Clipboard: noScreen{}, Apps: noScreen{}, Windows: noWindows{}, Hands: noHands{}, Tree: noTree{}, Camera: noScreen{}, Notes: noNotes{}, Keep: d.keepPicture, Reach: d.openable, Asking: d.asking, Driven: d.driven, Key: key}, nil
	}
	pictures, err := d.pictures()
	if err != nil {
		return desktop.Deps{}, err
	}
	var describe func(context.Context, []byte) (string, error)
	if pictures != nil {
		describe = func(ctx context.Context, picture []byte) (string, error) {
			text, err := pictures.Describe(ctx, picture)
			if errors.Is(err, refine.ErrNoVision) {
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
		Tree: tree.New(tree.Options{Getenv: env, Scripts: d.scripts}), Camera: screen.New(screen.Options{Getenv: env}), Keep: d.keepPicture, Reach: d.openable, Describe: describe, Asking: d.asking, Driven: d.driven, Key: key,
	}, nil
}

// asking reports whether a question of Hob's is open: while one is, nothing is
// typed or clicked, since that could answer it.
func (d *Daemon) asking(ctx context.Context) (bool, error) {
	open, err := d.guard.Approvals(ctx, guard.Pending, "", "", 1000)
	return slices.ContainsFunc(open, func(a guard.Approval) bool { return time.Now().Before(a.ExpiresAt) }), err
}

// openable resolves the path of a file that an application is to open or show, as the tools for
// files do: a folder that is not allowed and a protected place are out of it.
func (d *Daemon) openable(path string) (string, error) {
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
func (d *Daemon) closeScreen() {
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

func (noScreen) Take(context.Context, image.Rectangle) (image.Image, error) {
	return nil, session.ErrNone
}

type noWindows struct{}

func (noWindows) List(context.Context) ([]window.Window, error) { return nil, session.ErrNone }

type noHands struct{}

func (noHands) Type(context.Context, window.Window, string, input.Check) error {
	return session.ErrNone
}

func (noHands) Press(context.Context, window.Window, []string, input.Check) error {
	return session.ErrNone
}

func (noHands) Click(context.Context, window.Window, int, int, string, bool, input.Check) error {
	return session.ErrNone
}

func (noHands) Focus(context.Context, window.Window, input.Check) error { return session.ErrNone }

type noTree struct{}

func (noTree) Read(context.Context, string) ([]tree.Node, bool, error) {
	return nil, false, session.ErrNone
}

func (noTree) Do(context.Context, tree.Node) error { return session.ErrNone }

func (noTree) Fill(context.Context, tree.Node, string) error { return session.ErrNone }
