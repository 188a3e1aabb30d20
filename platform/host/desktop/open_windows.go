package desktop

import (
	"context"
	"fmt"

	"golang.org/x/sys/windows"
)

// Open shows an address in the user's browser, through the shell.
func (n *NotificationClient) Open(_ context.Context, address string) error {
	verb, err := windows.UTF16PtrFromString("open")
	if err != nil {
		return err
	}
	item, err := windows.UTF16PtrFromString(address)
	if err != nil {
		return err
	}
	if err := windows.ShellExecute(0, verb, item, nil, nil, windows.SW_SHOWNORMAL); err != nil {
		return fmt.Errorf("desktop: open the browser: %w", err)
	}
	return nil
}
