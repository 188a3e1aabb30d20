package tray

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"time"

	"fyne.io/systray"
	"golang.org/x/sys/windows"
)

// runIcon shows the icon. The library creates a hidden window and reads its messages on the
// same thread. After a restart of Explorer it shows the icon again.
func (t *Tray) runIcon(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	ready, ended := make(chan struct{}), make(chan struct{})
	thread := make(chan uint32, 1)
	wg.Go(func() {
		defer close(ended)
		runtime.LockOSThread() // the thread is never unlocked, because the window belongs to it
		thread <- windows.GetCurrentThreadId()
		systray.Run(func() { close(ready) }, nil)
	})
	select {
	case <-ctx.Done():
	case <-ready:
		(&menuView{t: t}).followViews(ctx)
	}
	systray.Quit()
	stopMessageLoop(<-thread, ended)
}

// stopMessageLoop ends the message loop of a thread. The library does this by closing its window.
// Without a window, for example if there is no desktop, the loop would run forever.
func stopMessageLoop(thread uint32, ended <-chan struct{}) {
	const quit = 0x0012 // WM_QUIT
	post := windows.NewLazySystemDLL("user32.dll").NewProc("PostThreadMessageW")
	for post.Find() == nil {
		_, _, _ = post.Call(uintptr(thread), quit, 0, 0) // fails until the thread has a message queue
		select {
		case <-ended:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func setIcon(s State, l Look) {
	systray.SetIcon(encodeICO(DrawIcon(s, l, 16), DrawIcon(s, l, 20), DrawIcon(s, l, 24), DrawIcon(s, l, 32), DrawIcon(s, l, 48)))
}

// escapeTitle doubles "&", which marks the access key in menus.
func escapeTitle(s string) string { return strings.ReplaceAll(s, "&", "&&") }
