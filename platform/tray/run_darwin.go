//go:build darwin && !cgo

package tray

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"sync"

	"github.com/ebitengine/purego"
	"github.com/ebitengine/purego/objc"
)

// init locks the main goroutine to the first thread of the process, because AppKit works
// only there. It must happen before main.
func init() { runtime.LockOSThread() } //nolint:gochecknoinits // there is no later time

// size is NSSize.
type size struct{ W, H float64 }

const (
	accessory  = 1  // NSApplicationActivationPolicyAccessory: no icon in the Dock
	anyWidth   = -1 // NSVariableStatusItemLength
	everyEvent = ^uint64(0)
	// pump is the interval at which the loop checks whether it should end.
	pump = 1.0 // seconds
)

// bar is the icon in the menu bar. Methods that use AppKit run on the main thread.
type bar struct {
	t      *Tray
	target objc.ID // receives clicks and update notifications
	item   objc.ID // the NSStatusItem

	mu   sync.Mutex
	next View
	keys map[int]string // by item tag
	last int            // last tag; tags are never reused
}

// run shows the icon; Main runs the part on the main thread.
func (t *Tray) run(ctx context.Context) {
	if err := graphical(); err != nil {
		t.o.Log.Info("no tray", "why", err)
		<-ctx.Done()
		return
	}
	b := &bar{t: t, keys: map[int]string{}}
	ready, over := make(chan error, 1), make(chan struct{})
	select {
	case <-ctx.Done():
		return
	case t.lead <- func() { defer close(over); b.loop(ctx, ready) }:
	}
	if err := <-ready; err != nil {
		t.o.Log.Warn("no tray", "why", err)
		<-ctx.Done()
		return
	}
	for {
		select {
		case <-ctx.Done():
			<-over
			return
		case v := <-t.views:
			b.mu.Lock()
			b.next = v
			b.mu.Unlock()
			b.target.Send(sel("performSelectorOnMainThread:withObject:waitUntilDone:"), sel("hobRefresh:"), objc.ID(0), false)
		}
	}
}

func sel(name string) objc.SEL { return objc.RegisterName(name) }

func class(name string) objc.ID { return objc.ID(objc.GetClass(name)) }

func text(s string) objc.ID { return class("NSString").Send(sel("stringWithUTF8String:"), s) }

// loop runs on the main thread. It creates the icon and dispatches events until ctx ends.
func (b *bar) loop(ctx context.Context, ready chan<- error) {
	app, err := b.begin()
	ready <- err
	if err != nil {
		return
	}
	for ctx.Err() == nil {
		b.turn(app)
	}
	class("NSStatusBar").Send(sel("systemStatusBar")).Send(sel("removeStatusItem:"), b.item)
}

// turn dispatches one event, or returns after a timeout.
func (b *bar) turn(app objc.ID) {
	pool := class("NSAutoreleasePool").Send(sel("alloc")).Send(sel("init"))
	defer pool.Send(sel("drain"))
	until := class("NSDate").Send(sel("dateWithTimeIntervalSinceNow:"), pump)
	event := app.Send(sel("nextEventMatchingMask:untilDate:inMode:dequeue:"), everyEvent, until, text("kCFRunLoopDefaultMode"), true)
	if event != 0 {
		app.Send(sel("sendEvent:"), event)
	}
}

func (b *bar) begin() (app objc.ID, err error) {
	if _, err := purego.Dlopen("/System/Library/Frameworks/AppKit.framework/AppKit", purego.RTLD_LAZY|purego.RTLD_GLOBAL); err != nil {
		return 0, err
	}
	pool := class("NSAutoreleasePool").Send(sel("alloc")).Send(sel("init"))
	defer pool.Send(sel("drain"))
	c, err := objc.RegisterClass("HobTray", objc.GetClass("NSObject"), nil, nil, []objc.MethodDef{
		{Cmd: sel("hobClicked:"), Fn: func(_ objc.ID, _ objc.SEL, sender objc.ID) { b.pressed(int(objc.Send[int64](sender, sel("tag")))) }},
		{Cmd: sel("hobRefresh:"), Fn: func(_ objc.ID, _ objc.SEL, _ objc.ID) { b.refresh() }},
	})
	if err != nil {
		return 0, fmt.Errorf("tray: %w", err)
	}
	b.target = objc.ID(c).Send(sel("alloc")).Send(sel("init"))
	app = class("NSApplication").Send(sel("sharedApplication"))
	app.Send(sel("setActivationPolicy:"), int64(accessory))
	app.Send(sel("finishLaunching"))
	b.item = class("NSStatusBar").Send(sel("systemStatusBar")).Send(sel("statusItemWithLength:"), float64(anyWidth))
	if b.item == 0 {
		return 0, fmt.Errorf("tray: macOS did not create a status item")
	}
	b.item.Send(sel("retain"))
	return app, nil
}

// pressed handles a click on the item with a tag.
func (b *bar) pressed(tag int) {
	b.mu.Lock()
	key := b.keys[tag]
	b.mu.Unlock()
	if key != "" {
		b.t.clicked(key)
	}
}

// refresh shows the newest view: icon, tooltip, and a rebuilt menu.
func (b *bar) refresh() {
	b.mu.Lock()
	v, old := b.next, b.keys
	b.keys = map[int]string{}
	b.mu.Unlock()
	if reflect.DeepEqual(v, b.t.last) {
		b.keep(old)
		return
	}
	pool := class("NSAutoreleasePool").Send(sel("alloc")).Send(sel("init"))
	defer pool.Send(sel("drain"))
	button := b.item.Send(sel("button"))
	if v.State != b.t.last.State {
		png := encodePNG(Picture(v.State, Light, iconPixels))
		data := class("NSData").Send(sel("dataWithBytes:length:"), &png[0], uint64(len(png)))
		image := class("NSImage").Send(sel("alloc")).Send(sel("initWithData:"), data).Send(sel("autorelease"))
		image.Send(sel("setSize:"), size{iconPixels / 2, iconPixels / 2})
		image.Send(sel("setTemplate:"), true) // macOS colours it as the menu bar is
		button.Send(sel("setImage:"), image)
	}
	button.Send(sel("setToolTip:"), text(v.Tooltip))
	b.item.Send(sel("setMenu:"), b.menu(v.Items))
	b.t.last = v
	b.keep(old)
}

// maxTags limits how old a tag may be, for menus that have been open for a long time.
const maxTags = 5000

// keep preserves the tags of an open menu: clicks on its items still work while the same
// items are shown.
func (b *bar) keep(old map[int]string) {
	now := map[string]bool{}
	keysOf(b.t.last.Items, now)
	b.mu.Lock()
	defer b.mu.Unlock()
	for tag, key := range old {
		if now[key] && tag > b.last-maxTags {
			b.keys[tag] = key
		}
	}
}

func keysOf(items []Item, into map[string]bool) {
	for _, it := range items {
		into[it.Key] = true
		keysOf(it.Items, into)
	}
}

func (b *bar) menu(items []Item) objc.ID {
	m := class("NSMenu").Send(sel("alloc")).Send(sel("init")).Send(sel("autorelease"))
	m.Send(sel("setAutoenablesItems:"), false)
	for _, it := range items {
		if it.Separator {
			m.Send(sel("addItem:"), class("NSMenuItem").Send(sel("separatorItem")))
			continue
		}
		m.Send(sel("addItem:"), b.line(it))
	}
	return m
}

func (b *bar) line(it Item) objc.ID {
	n := class("NSMenuItem").Send(sel("alloc")).Send(sel("initWithTitle:action:keyEquivalent:"), text(it.Title), sel("hobClicked:"), text("")).Send(sel("autorelease"))
	n.Send(sel("setTarget:"), b.target)
	n.Send(sel("setEnabled:"), it.Key != "" || len(it.Items) > 0)
	if it.Checked {
		n.Send(sel("setState:"), int64(1))
	}
	if len(it.Items) > 0 {
		n.Send(sel("setSubmenu:"), b.menu(it.Items))
	}
	if it.Key != "" {
		b.mu.Lock()
		b.last++
		b.keys[b.last] = it.Key
		n.Send(sel("setTag:"), int64(b.last))
		b.mu.Unlock()
	}
	return n
}
