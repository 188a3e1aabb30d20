package desktop

import (
	"context"

	"hob/platform/osrun"
)

// Available reports whether there may be a desktop for this process. What
// osascript shows belongs to the Script Editor and is dropped in silence until
// that is allowed to: the owner has to want it.
func Available(func(string) string) bool { return false }

func newShower(o Options, _ chan<- Event) shower { return bannerShower{o} }

type bannerShower struct{ opt Options }

func (b bannerShower) notify(ctx context.Context, n Note) error {
	return bannerError(b.opt.Scripts.Run(ctx, osrun.Call{Script: bannerScript(), In: newBanner(b.opt.App, n), Write: true, Wait: b.opt.Wait}, nil))
}

// withdraw: a banner cannot be taken back.
func (bannerShower) withdraw(context.Context, string) error { return nil }

func (bannerShower) server(context.Context) (Server, error) {
	return Server{Name: "osascript (shown as Script Editor, if that may)"}, nil
}

func (bannerShower) close() {}
