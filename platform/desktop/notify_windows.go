package desktop

import (
	"context"

	"hob/platform/osrun"
)

// Available reports whether this process may have a desktop.
func Available(getenv func(string) string) bool { return getenv("SESSIONNAME") != "Services" }

func newShower(o Options, _ chan<- Event) shower { return toastShower{o} }

type toastShower struct{ opt Options }

func (t toastShower) notify(ctx context.Context, n Note) error {
	r, err := newToast(t.opt.App, n)
	if err != nil {
		return err
	}
	return t.ask(ctx, r)
}

func (t toastShower) withdraw(ctx context.Context, id string) error {
	return t.ask(ctx, toastRequest{App: t.opt.App, AUMID: aumid, Tag: tag(id), Group: "hob", Withdraw: true})
}

func (t toastShower) server(ctx context.Context) (Server, error) {
	err := t.ask(ctx, toastRequest{App: t.opt.App, AUMID: aumid, Ask: true})
	return Server{Name: "Windows", Sure: err == nil}, err
}

// ask runs the script. PowerShell 5.1 is part of Windows; newer versions do not support WinRT.
func (t toastShower) ask(ctx context.Context, r toastRequest) error {
	var a toastAnswer
	err := t.opt.Scripts.Run(ctx, osrun.Call{Script: toastScript(), In: r, Write: !r.Ask, Wait: 4 * t.opt.Wait}, &a) // a cold start takes seconds
	return toastError(a, err)
}

func (toastShower) close() {}
