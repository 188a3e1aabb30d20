package apps

import (
	"context"

	"golang.org/x/sys/windows"
)

func (f *Finder) listApps(ctx context.Context) ([]App, error) {
	return startMenu(ctx, f.opt.Scripts)
}

// launchApp opens an application through the shell's application folder.
func (f *Finder) launchApp(_ context.Context, a App, what string) error {
	if what != "" {
		return ErrItem // an application in this folder cannot be started with an item
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
