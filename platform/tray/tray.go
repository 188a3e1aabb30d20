package tray

import (
	"context"
	"log/slog"
	"os"
	"sync"
)

// Options of New; the zero value is useful.
type Options struct {
	// On is told of each click on an item that has a key, one after another.
	On func(ctx context.Context, key string)
	// Look is how icons are drawn, "" is Colour; macOS has its own way.
	Look Look
	// Name is shown where the icon alone is not enough; "" is "Hob".
	Name string
	Log  *slog.Logger
	// Trust is asked about the process that clicks, where the desktop tells which it
	// is; an error keeps the click from being heard. nil trusts every one.
	Trust func(pid int) error
	// Getenv is os.Getenv unless a test has its own.
	Getenv func(string) string
}

// Tray is the icon and its menu. A process has one at a time.
type Tray struct {
	o      Options
	views  chan View // the newest one
	clicks chan string
	// lead is what the main thread does; see Main.
	lead chan func()

	mu sync.Mutex // of sending to views

	last   View  // the one that is shown
	serial int32 // the last id of an item; none is used twice
}

// New makes a tray. Nothing is shown before Run.
func New(o Options) *Tray {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Look == "" {
		o.Look = Colour
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

// Show replaces what is shown. It never waits.
func (t *Tray) Show(v View) {
	v = v.cleaned()
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.views: // nobody has taken the one before
	default:
	}
	t.views <- v
}

// Run shows the icon for as long as ctx lives, wherever and whenever there is
// something that takes it.
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
	t.run(ctx)
}

// Main does what has to be done on the process's main thread until ended is
// closed; the caller is the goroutine of func main. Where nothing has to be, it
// only waits.
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

// clicked hands on a click. Whoever clicks faster than things are done is not heard.
func (t *Tray) clicked(key string) {
	select {
	case t.clicks <- key:
	default:
	}
}
