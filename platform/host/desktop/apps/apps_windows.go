package apps

import (
	"context"

	"golang.org/x/sys/windows"
)

func (f *Finder) listApps(ctx context.Context) ([]App, error) {
	return startMenu(ctx, f.opt.Scripts)
}

// launchApp opens an item of the shell's folder of applications.
func (f *Finder) launchApp(_ context.Context, a App, what string) error {
	if what != "" {
		return ErrItem // the application folder cannot pass an item
	}
	verb, err := windows.UTF16PtrFromString("open")
	if err != nil {
		return err
	}
	item, err := windows.UTF16PtrFromString(`shell:AppsFolder\` + a.ID)
	if err != nil {
		return err
	}
	return windows.ShellExecute(0, verb, item, nil, nil, windows.SW_SHOWNORMAL)
}
