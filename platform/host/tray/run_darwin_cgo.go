//go:build darwin && cgo

package tray

import (
	"context"

	"fyne.io/systray"
)

// run shows the icon in the menu bar. AppKit requires the main thread; Main provides it.
func (t *Tray) run(ctx context.Context) {
	if err := graphical(); err != nil {
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
		(&shown{t: t}).follow(ctx)
	}
	systray.Quit()
	<-over
}

// setIcon sets a template image, which macOS colors like the menu bar.
func setIcon(s State, _ Look) {
	icon := encodePNG(Picture(s, Light, iconPixels))
	systray.SetTemplateIcon(icon, icon)
}

func escape(s string) string { return s }
