//go:build darwin && cgo

package tray

import (
	"context"

	"fyne.io/systray"
)

// runIcon shows the icon in the menu bar. AppKit requires the main thread, on which Main runs.
func (t *Tray) runIcon(ctx context.Context) {
	if err := checkGraphicalSession(); err != nil {
		t.o.Log.Info("no tray", "why", err)
		<-ctx.Done()
		return
	}
	ready, over := make(chan struct{}), make(chan struct{})
	select {
	case <-ctx.Done():
		return
	case t.lead <- func() { defer close(over); systray.Run(func() { close(ready) }, nil) }:
	}
	select {
	case <-ctx.Done():
	case <-ready:
		(&menuView{t: t}).followViews(ctx)
	}
	systray.Quit()
	<-over
}

// setIcon sets a template image, which macOS colors like the menu bar.
func setIcon(s State, _ Look) {
	icon := encodePNG(DrawIcon(s, Light, iconPixels))
	systray.SetTemplateIcon(icon, icon)
}

// escapeTitle returns s, because titles of macOS menus have no access keys.
func escapeTitle(s string) string { return s }
