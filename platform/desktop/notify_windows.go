package desktop

import (
	"context"
	"os/exec"
	"path/filepath"

	"hob/platform/osrun"
)

// Available reports whether there may be a desktop for this process.
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

// ask runs the script. PowerShell 5.1 is a part of Windows; a newer one does not
// know WinRT any more.
func (t toastShower) ask(ctx context.Context, r toastRequest) error {
	ctx, cancel := context.WithTimeout(ctx, 4*t.opt.Wait) // a cold start takes seconds
	defer cancel()
	in, err := ascii(r)
	if err != nil {
		return err
	}
	program := filepath.Join(t.opt.Getenv("SystemRoot"), "System32", "WindowsPowerShell", "v1.0", "powershell.exe")
	cmd := exec.Command(program, toastArgs()...) //nolint:noctx // its tree is ended whole by Output
	out, err := osrun.Output(ctx, cmd, in)
	if err != nil {
		return unsure(ctx, err)
	}
	return readToast(out)
}

func (toastShower) close() {}
