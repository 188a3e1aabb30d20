package desktop

import (
	"context"

	"hob/platform/host/osrun"
)

// Available reports whether this process may have a desktop.
func Available(getenv func(string) string) bool { return getenv("SESSIONNAME") != "Services" }

func newShower(o Options, _ chan<- Event) notificationBackend { return toastBackend{o} }

type toastBackend struct{ opt Options }

func (t toastBackend) showNotification(ctx context.Context, n Notification) error {
	r, err := newToast(t.opt.App, n)
	if err != nil {
		return err
	}
	return t.runToastScript(ctx, r)
}

func (t toastBackend) withdrawNotification(ctx context.Context, id string) error {
	return t.runToastScript(ctx, toastRequest{App: t.opt.App, AUMID: aumid, Tag: toastTag(id), Group: "hob", Withdraw: true})
}

func (t toastBackend) serverInfo(ctx context.Context) (Server, error) {
	err := t.runToastScript(ctx, toastRequest{App: t.opt.App, AUMID: aumid, Ask: true})
	return Server{Name: "Windows", Sure: err == nil}, err
}

// runToastScript runs the script. PowerShell 5.1 is part of Windows; newer versions do not support WinRT.
func (t toastBackend) runToastScript(ctx context.Context, r toastRequest) error {
	var a toastAnswer
	err := t.opt.Scripts.Run(ctx, osrun.Call{Script: toastScript(), In: r, Write: !r.Ask, Wait: 4 * t.opt.Wait}, &a) // a cold start takes seconds
	return toastError(a, err)
}

func (toastBackend) close() {}
