// Package page contains the tests of the chat page: they drive the page in a real Chromium against
// a complete Hob in this process. The package contains only tests. The tests are skipped without
// Chromium, except with CI=true.
package page

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is the time limit for each wait, which suits a busy machine.
const patience = 60 * time.Second

// findChromium returns the path of the browser. It skips the test if there is none, or fails it with
// CI=true.
func findChromium(t *testing.T) string {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}
	switch runtime.GOOS {
	case "darwin":
		names = append(names, "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium")
	case "windows":
		names = append(names, filepath.Join(os.Getenv("ProgramFiles"), "Google", "Chrome", "Application", "chrome.exe"))
	}
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path
		}
	}
	const missing = "no Chromium or Chrome was found, with which the chat page is tested; install it (Debian: apt-get install chromium)"
	if os.Getenv("CI") == "true" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// browser is one Chromium, in which every test has its own windows.
type browser struct{ ctx context.Context }

func launchBrowser(t *testing.T) *browser {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(findChromium(t)), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1000, 700),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium does not support its sandbox for root
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ = chromedp.NewContext(ctx) // ended by Cancel below
	t.Cleanup(func() {
		end, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := chromedp.Cancel(end); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the browser ended badly: %v", err)
		}
		stop()
	})
	failOnError(t, chromedp.Do(ctx))
	return &browser{ctx: ctx}
}

// window is one window with its own cookies. When its test ends, the page must not have logged any
// error.
type window struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex
	complaints []string
}

func (b *browser) openWindow(t *testing.T) *window {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	w := &window{t: t, ctx: ctx}
	failOnError(t, chromedp.Do(ctx))
	failOnError(t, chromedp.Listen(ctx, w.recordComplaint))
	t.Cleanup(func() {
		for _, c := range w.takeComplaints() {
			t.Errorf("console message: %s", c)
		}
		cancel()
	})
	return w
}

// recordComplaint records warnings, errors, exceptions and violations of the page's content security policy.
func (w *window) recordComplaint(event any) {
	var text string
	switch e := event.(type) {
	case *cdpruntime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			text = fmt.Sprintf("%s: %s", e.Type, e.Args[0].Value)
		}
	case *cdpruntime.EventExceptionThrown:
		text = (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error()
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			text = fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	}
	if text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complaints = append(w.complaints, text)
}

func (w *window) takeComplaints() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.complaints
	w.complaints = nil
	return c
}

// runSteps runs steps. An update of the page may replace an element between its lookup and the input to it;
// such a step has done nothing and runs again.
func (w *window) runSteps(steps ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	for _, s := range steps {
		err := chromedp.Do(ctx, s)
		for err != nil && strings.Contains(err.Error(), "Could not find node") {
			err = chromedp.Do(ctx, s)
		}
		if err != nil {
			w.t.Fatalf("%v\nthe page shows:\n%s", err, w.shownText())
		}
	}
}

// clickElement clicks the element of a selector.
func (w *window) clickElement(selector string) {
	w.t.Helper()
	w.waitUntil(fmt.Sprintf("document.querySelector(%q)?.checkVisibility()", selector))
	w.runSteps(chromedp.Click(chromedp.CSS(selector)))
}

// waitUntil waits until an expression is true.
func (w *window) waitUntil(expression string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if ok {
			return
		}
		select {
		case <-tick.C: // a page that is loading may return errors
		case <-ctx.Done():
			w.t.Fatalf("timed out (%v): %s\npage:\n%s", err, expression, w.shownText())
		}
	}
}

// getValue returns the value of an expression.
func getValue[T any](w *window, expression string) T {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		w.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

func (w *window) shownText() string {
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(text)
}

// setScheme sets the user's preference for "light" or "dark".
func setScheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	})
}

// enterKey presses Enter as a keyboard does, with one event that contains the character and that
// the page can cancel. (kb.Enter sends the character separately.)
func enterKey(modifiers ...kb.Modifier) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		p := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13}
		for _, m := range modifiers {
			p.Modifiers |= int64(m)
		}
		if _, err := cdp.Call(ctx, tab, input.DispatchKeyEvent, p); err != nil {
			return err
		}
		p.Type, p.Text = input.DispatchKeyEventTypeKeyUp, ""
		_, err := cdp.Call(ctx, tab, input.DispatchKeyEvent, p)
		return err
	})
}

// savePicture stores a screenshot of the window in the folder PICTURES, for manual review.
func (w *window) savePicture(name string) {
	w.t.Helper()
	dir := os.Getenv("PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
	failOnError(w.t, err)
	failOnError(w.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600))
}
