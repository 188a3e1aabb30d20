package apps

import (
	"context"
	"os/exec"
	"path/filepath"

	"hob/platform/host/osrun"
)

func (f *Finder) listApps(context.Context) ([]App, error) {
	var out []App
	for _, dir := range []string{"/Applications", "/Applications/Utilities", "/System/Applications", "/System/Applications/Utilities", filepath.Join(f.opt.Getenv("HOME"), "Applications")} {
		out = append(out, listBundles(dir)...)
	}
	return append(out, App{ID: "com.apple.finder", Name: "Finder", File: "/System/Library/CoreServices/Finder.app", Shared: true, words: []string{"finder"}, Opens: Addresses}), nil
}

// launchApp passes the bundle to open(1). The bundle is an absolute path, so open(1) cannot
// interpret it as an option.
func (f *Finder) launchApp(ctx context.Context, a App, item string) error {
	args := []string{"-a", a.File}
	if item != "" { // an absolute path or an address, neither of which is an option
		args = append(args, item)
	}
	cmd := exec.Command("/usr/bin/open", args...) //nolint:noctx // Output ends the whole process tree
	cmd.Env = []string{"HOME=" + f.opt.Getenv("HOME"), "LANG=en_US.UTF-8", "PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
	if f.opt.Marker != "" {
		cmd.Env = append(cmd.Env, f.opt.Marker+"=app")
	}
	_, err := osrun.Output(ctx, cmd, nil)
	if ctx.Err() != nil {
		return ErrUnsure
	}
	return err
}
