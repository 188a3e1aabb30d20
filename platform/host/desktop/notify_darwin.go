package desktop

import (
	"context"

	"hob/platform/host/osrun"
)

// Available reports whether this process may have a desktop. On macOS it returns false:
// notifications of osascript belong to Script Editor and are silently dropped until the user
// allows them, so the user must opt in.
func Available(func(string) string) bool { return false }

func newShower(o Options, _ chan<- Event) notificationBackend { return bannerBackend{o} }

type bannerBackend struct{ opt Options }

func (b bannerBackend) showNotification(ctx context.Context, n Notification) error {
	return bannerError(b.opt.Scripts.Run(ctx, osrun.Call{Script: bannerScript(), In: newBanner(b.opt.App, n), Write: true, Wait: b.opt.Wait}, nil))
}

// withdrawNotification does nothing: a banner cannot be withdrawn.
func (bannerBackend) withdrawNotification(context.Context, string) error { return nil }

func (bannerBackend) serverInfo(context.Context) (Server, error) {
	return Server{Name: "osascript (shown as Script Editor, if it is allowed to)"}, nil
}

func (bannerBackend) close() {}
