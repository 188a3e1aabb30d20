// Package tray shows an icon with a menu: in the StatusNotifierItem host of a Linux panel, the
// notification area of Windows, or the menu bar of macOS. Tray applies no policy. Menu builds Hob's
// menu from the state that an Assistant reports, and forwards clicks to the Assistant.
//
// On Linux the icon is a StatusNotifierItem with a dbusmenu on a separate D-Bus connection. On
// Windows, and on macOS with cgo, it uses fyne.io/systray (on Linux that library allows one icon
// per process and panics when the session bus ends). Without cgo it calls macOS through the
// Objective-C runtime. If there is no desktop or no panel that shows icons, the tray waits for one
// and never fails.
package tray

import (
	"context"
	"log/slog"
	"os"
	"sync"
)

// Options of New; the zero value is useful.
type Options struct {
	// On is called for each click on an item with a key, one at a time.
	On func(ctx context.Context, key string)
	// Look is the style of the icon, "" is Color; macOS ignores it.
	Look Look
	// Name is the title of the icon; "" is "Hob".
	Name string
	Log  *slog.Logger
	// Trust verifies the process that clicks, if the desktop reports it. An error rejects the
	// click. If Trust is nil, all processes are accepted.
	Trust func(pid int) error
	// Getenv is os.Getenv unless a test replaces it.
	Getenv func(string) string
}

// Tray is the icon and its menu. A process has one at a time.
type Tray struct {
	o      Options
	views  chan View // holds the newest view
	clicks chan string
	// lead passes functions to the main thread; see Main.
	lead chan func()

	mu sync.Mutex // serializes sends to views

	last   View  // the shown view
	serial int32 // last item id; ids are never reused
}

// New returns a tray. Run shows it.
func New(o Options) *Tray {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Look == "" {
		o.Look = Color
	}
	if o.Name == "" {
		o.Name = "Hob"
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.On == nil {
		o.On = func(context.Context, string) {}
	}
	return &Tray{o: o, views: make(chan View, 1), clicks: make(chan string, 16), lead: make(chan func())}
}

// Show replaces the shown view. It never blocks.
func (t *Tray) Show(v View) {
	v = v.sanitized()
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.views: // drop the previous view, which was not shown yet
	default:
	}
	t.views <- v
}

// Run shows the icon while a panel is available. It returns when ctx ends.
func (t *Tray) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case key := <-t.clicks:
				t.o.On(ctx, key)
			}
		}
	})
	t.runIcon(ctx)
}

// Main runs the part of the tray that needs the main thread, until ended is closed. The goroutine
// of func main must call it. On systems without such a part it only waits.
func (t *Tray) Main(ended <-chan struct{}) {
	for {
		select {
		case <-ended:
			return
		case do := <-t.lead:
			do()
		}
	}
}

// forwardClick queues a click for On. It drops clicks when the queue is full.
func (t *Tray) forwardClick(key string) {
	select {
	case t.clicks <- key:
	default:
	}
}

// Panel describes the program that shows icons.
type Panel struct {
	Host bool // a panel runs and accepts icons
	Item bool // the panel shows the icon of the given process
	Menu bool // the icon's menu responds
}
