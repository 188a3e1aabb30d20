package desktop

import (
	"context"
	"os/exec"

	"hob/platform/osrun"
)

// Available reports whether there may be a desktop for this process. What
// osascript shows belongs to the Script Editor and is dropped in silence until
// that is allowed to: the owner has to want it.
func Available(func(string) string) bool { return false }

func newShower(o Options, _ chan<- Event) shower { return bannerShower{o} }

type bannerShower struct{ opt Options }

func (b bannerShower) notify(ctx context.Context, n Note) error {
	ctx, cancel := context.WithTimeout(ctx, b.opt.Wait)
	defer cancel()
	in, err := ascii(newBanner(b.opt.App, n))
	if err != nil {
		return err
	}
	cmd := exec.Command("/usr/bin/osascript", "-l", "JavaScript", "-e", bannerScript) //nolint:noctx // its tree is ended whole by Output
	cmd.Env = []string{"LANG=en_US.UTF-8", "LC_ALL=en_US.UTF-8", "HOME=" + b.opt.Getenv("HOME")}
	out, err := osrun.Output(ctx, cmd, in)
	if err != nil {
		return unsure(ctx, err)
	}
	return readBanner(out)
}

// withdraw: a banner cannot be taken back.
func (bannerShower) withdraw(context.Context, string) error { return nil }

func (bannerShower) server(context.Context) (Server, error) {
	return Server{Name: "osascript (shown as Script Editor, if that may)"}, nil
}

func (bannerShower) close() {}
