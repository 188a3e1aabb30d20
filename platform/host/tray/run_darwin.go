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

// init locks the main goroutine to the first thread of the process, because AppKit works only on
// that thread. The lock must be set before main starts.
func init() { runtime.LockOSThread() } //nolint:gochecknoinits // main is too late

// size is NSSize.
type size struct{ W, H float64 }

const (
	accessory  = 1  // NSApplicationActivationPolicyAccessory: no icon in the Dock
	anyWidth   = -1 // NSVariableStatusItemLength
	everyEvent = ^uint64(0)
	// pump is the interval at which the loop checks whether it should end.
	pump = 1.0 // seconds
)

// statusBar is the icon in the menu bar. Methods that use AppKit run on the main thread.
type statusBar struct {
	t      *Tray
	target objc.ID // receives clicks and update notifications
	item   objc.ID // the NSStatusItem

	mu   sync.Mutex
	next View
	keys map[int]string // keyed by item tag
	last int            // last tag; tags are never reused
}

// runIcon shows the icon. Main runs the part that needs the main thread.
func (t *Tray) runIcon(ctx context.Context) {
	if err := checkGraphicalSession(); err != nil {
		t.o.Log.Info("no tray", "why", err)
		<-ctx.Done()
		return
	}
	b := &statusBar{t: t, keys: map[int]string{}}
	ready, over := make(chan error, 1), make(chan struct{})
	select {
	case <-ctx.Done():
		return
	case t.lead <- func() { defer close(over); b.runMainLoop(ctx, ready) }:
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
			b.target.Send(selectorNamed("performSelectorOnMainThread:withObject:waitUntilDone:"), selectorNamed("hobRefresh:"), objc.ID(0), false)
		}
	}
}

func selectorNamed(name string) objc.SEL { return objc.RegisterName(name) }

func classNamed(name string) objc.ID { return objc.ID(objc.GetClass(name)) }

func newNSString(s string) objc.ID {
	return classNamed("NSString").Send(selectorNamed("stringWithUTF8String:"), s)
}

// runMainLoop runs on the main thread. It creates the icon and dispatches events until ctx ends.
func (b *statusBar) runMainLoop(ctx context.Context, ready chan<- error) {
	app, err := b.createStatusItem()
	ready <- err
	if err != nil {
		return
	}
	for ctx.Err() == nil {
		b.dispatchEvent(app)
	}
	classNamed("NSStatusBar").Send(selectorNamed("systemStatusBar")).Send(selectorNamed("removeStatusItem:"), b.item)
}

// dispatchEvent dispatches one event, or returns after a timeout.
func (b *statusBar) dispatchEvent(app objc.ID) {
	pool := classNamed("NSAutoreleasePool").Send(selectorNamed("alloc")).Send(selectorNamed("init"))
	defer pool.Send(selectorNamed("drain"))
	until := classNamed("NSDate").Send(selectorNamed("dateWithTimeIntervalSinceNow:"), pump)
	event := app.Send(selectorNamed("nextEventMatchingMask:untilDate:inMode:dequeue:"), everyEvent, until, newNSString("kCFRunLoopDefaultMode"), true)
	if event != 0 {
		app.Send(selectorNamed("sendEvent:"), event)
	}
}

func (b *statusBar) createStatusItem() (app objc.ID, err error) {
	if _, err := purego.Dlopen("/System/Library/Frameworks/AppKit.framework/AppKit", purego.RTLD_LAZY|purego.RTLD_GLOBAL); err != nil {
		return 0, err
	}
	pool := classNamed("NSAutoreleasePool").Send(selectorNamed("alloc")).Send(selectorNamed("init"))
	defer pool.Send(selectorNamed("drain"))
	c, err := objc.RegisterClass("HobTray", objc.GetClass("NSObject"), nil, nil, []objc.MethodDef{
		{Cmd: selectorNamed("hobClicked:"), Fn: func(_ objc.ID, _ objc.SEL, sender objc.ID) {
			b.handleClick(int(objc.Send[int64](sender, selectorNamed("tag"))))
		}},
		{Cmd: selectorNamed("hobRefresh:"), Fn: func(_ objc.ID, _ objc.SEL, _ objc.ID) { b.refreshView() }},
	})
	if err != nil {
		return 0, fmt.Errorf("tray: register the Objective-C class: %w", err)
	}
	b.target = objc.ID(c).Send(selectorNamed("alloc")).Send(selectorNamed("init"))
	app = classNamed("NSApplication").Send(selectorNamed("sharedApplication"))
	app.Send(selectorNamed("setActivationPolicy:"), int64(accessory))
	app.Send(selectorNamed("finishLaunching"))
	b.item = classNamed("NSStatusBar").Send(selectorNamed("systemStatusBar")).Send(selectorNamed("statusItemWithLength:"), float64(anyWidth))
	if b.item == 0 {
		return 0, fmt.Errorf("tray: macOS did not create a status item")
	}
	b.item.Send(selectorNamed("retain"))
	return app, nil
}

// handleClick handles a click on the item with a tag.
func (b *statusBar) handleClick(tag int) {
	b.mu.Lock()
	key := b.keys[tag]
	b.mu.Unlock()
	if key != "" {
		b.t.forwardClick(key)
	}
}

// refreshView shows the newest view: icon, tooltip, and a rebuilt menu.
func (b *statusBar) refreshView() {
	b.mu.Lock()
	v, old := b.next, b.keys
	b.keys = map[int]string{}
	b.mu.Unlock()
	if reflect.DeepEqual(v, b.t.last) {
		b.keepOpenMenu(old)
		return
	}
	pool := classNamed("NSAutoreleasePool").Send(selectorNamed("alloc")).Send(selectorNamed("init"))
	defer pool.Send(selectorNamed("drain"))
	button := b.item.Send(selectorNamed("button"))
	if v.State != b.t.last.State {
		png := encodePNG(DrawIcon(v.State, Light, iconPixels))
		data := classNamed("NSData").Send(selectorNamed("dataWithBytes:length:"), &png[0], uint64(len(png)))
		image := classNamed("NSImage").Send(selectorNamed("alloc")).Send(selectorNamed("initWithData:"), data).Send(selectorNamed("autorelease"))
		image.Send(selectorNamed("setSize:"), size{iconPixels / 2, iconPixels / 2})
		image.Send(selectorNamed("setTemplate:"), true) // macOS colors it to match the menu bar
		button.Send(selectorNamed("setImage:"), image)
	}
	button.Send(selectorNamed("setToolTip:"), newNSString(v.Tooltip))
	b.item.Send(selectorNamed("setMenu:"), b.buildMenu(v.Items))
	b.t.last = v
	b.keepOpenMenu(old)
}

// maxTags is the number of newer tags after which the tags of a menu that is still open expire.
const maxTags = 5000

// keepOpenMenu preserves the tags of an open menu, so that clicks on its items still work while the
// same items are shown.
func (b *statusBar) keepOpenMenu(old map[int]string) {
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

func (b *statusBar) buildMenu(items []Item) objc.ID {
	m := classNamed("NSMenu").Send(selectorNamed("alloc")).Send(selectorNamed("init")).Send(selectorNamed("autorelease"))
	m.Send(selectorNamed("setAutoenablesItems:"), false)
	for _, it := range items {
		if it.Separator {
			m.Send(selectorNamed("addItem:"), classNamed("NSMenuItem").Send(selectorNamed("separatorItem")))
			continue
		}
		m.Send(selectorNamed("addItem:"), b.buildMenuItem(it))
	}
	return m
}

func (b *statusBar) buildMenuItem(it Item) objc.ID {
	n := classNamed("NSMenuItem").Send(selectorNamed("alloc")).Send(selectorNamed("initWithTitle:action:keyEquivalent:"), newNSString(it.Title), selectorNamed("hobClicked:"), newNSString("")).Send(selectorNamed("autorelease"))
	n.Send(selectorNamed("setTarget:"), b.target)
	n.Send(selectorNamed("setEnabled:"), it.Key != "" || len(it.Items) > 0)
	if it.Checked {
		n.Send(selectorNamed("setState:"), int64(1))
	}
	if len(it.Items) > 0 {
		n.Send(selectorNamed("setSubmenu:"), b.buildMenu(it.Items))
	}
	if it.Key != "" {
		b.mu.Lock()
		b.last++
		b.keys[b.last] = it.Key
		n.Send(selectorNamed("setTag:"), int64(b.last))
		b.mu.Unlock()
	}
	return n
}
