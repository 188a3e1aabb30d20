package desktop

import (
	"context"

	"hob/platform/osrun"
)

// Available reports whether this process may have a desktop. On macOS it returns false:
// notifications of osascript belong to Script Editor and are silently dropped until the user
// allows them, so the user must opt in.
func Available(func(string) string) bool { return false }

func newShower(o Options, _ chan<- Event) shower { return bannerShower{o} }

type bannerShower struct{ opt Options }

func (b bannerShower) notify(ctx context.Context, n Note) error {
	return bannerError(b.opt.Scripts.Run(ctx, osrun.Call{Script: bannerScript(), In: newBanner(b.opt.App, n), Write: true, Wait: b.opt.Wait}, nil))
}

// withdraw does nothing: a banner cannot be withdrawn.
func (bannerShower) withdraw(context.Context, string) error { return nil }

func (bannerShower) server(context.Context) (Server, error) {
	return Server{Name: "osascript (shown as Script Editor, if it is allowed to)"}, nil
}

func (bannerShower) close() {}
