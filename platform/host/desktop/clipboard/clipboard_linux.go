package clipboard

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/atotto/clipboard"

	"hob/platform/host/desktop/session"
	"hob/platform/host/desktop/xwin"
	"hob/platform/host/osrun"
)

// passwordHint is the format that password managers add (KeePassXC, KWallet, Bitwarden).
const passwordHint = "x-kde-passwordManagerHint"

func newBackend(o Options) backend { return &osClipboard{opt: o} }

type osClipboard struct {
	opt Options

	mu    sync.Mutex
	drop  context.CancelFunc // stops offering the text of this process
	ended <-chan struct{}
}

// detectSession returns the session and, if wl-clipboard must be used, its programs.
func (d *osClipboard) detectSession(ctx context.Context) (session.Env, *wlClipboard, error) {
	e := session.DetectSession(ctx, d.opt.Getenv)
	switch {
	case e.None():
		return e, nil, fmt.Errorf("%w: %w (neither DISPLAY nor WAYLAND_DISPLAY is set); start Hob within the desktop session", ErrNone, session.ErrNone)
	case e.Wayland == "":
		return e, nil, nil
	}
	w, err := newWayland(e)
	switch {
	case err == nil:
		return e, w, nil
	case e.Display == "":
		return e, nil, err
	}
	return e, nil, nil // use the X display of Xwayland
}

// canUseLibrary reports whether atotto/clipboard uses the same session and one of the programs that
// it needs is installed. Under Wayland these programs may hang forever.
func canUseLibrary(e session.Env) bool {
	if !e.Inherited || e.Wayland != "" || clipboard.Unsupported {
		return false
	}
	for _, p := range []string{"xclip", "xsel"} {
		if _, err := exec.LookPath(p); err == nil {
			return true
		}
	}
	return false
}

func (d *osClipboard) readClipboard(ctx context.Context) (Content, error) {
	e, w, err := d.detectSession(ctx)
	if err != nil {
		return Content{}, err
	}
	if w != nil {
		return w.readSelection(ctx)
	}
	x, err := xwin.Dial(ctx, e)
	if err != nil {
		return Content{}, fmt.Errorf("%w: %w", ErrNone, err)
	}
	defer x.Close()
	board, err := x.Clipboard()
	if err != nil {
		return Content{}, err
	}
	if owned, err := board.Owned(); err != nil || !owned {
		return Content{}, err
	}
	formats, err := board.Formats(ctx)
	if err != nil {
		return Content{}, markSilent(err)
	}
	c := Content{Hidden: slices.Contains(formats, passwordHint)}
	form := pickTextFormat(formats)
	if form == "" {
		c.Formats = readableFormats(formats)
		return c, nil
	}
	raw, err := board.Get(ctx, form)
	c.Text = string(raw)
	return c, markSilent(err)
}

func markSilent(err error) error {
	if errors.Is(err, xwin.ErrSilent) {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// pickTextFormat returns the best of the offered text formats, or "" if there is none. It returns
// UTF8_STRING if formats is empty.
func pickTextFormat(formats []string) string {
	if len(formats) == 0 {
		return "UTF8_STRING"
	}
	for _, want := range []string{"UTF8_STRING", "text/plain;charset=utf-8", "text/plain", "STRING", "TEXT"} {
		if slices.Contains(formats, want) {
			return want
		}
	}
	return ""
}

// readableFormats returns up to 8 formats with MIME type names. Users do not understand other
// names.
func readableFormats(formats []string) (out []string) {
	for _, f := range formats {
		if strings.Contains(f, "/") && len(out) < 8 {
			out = append(out, f)
		}
	}
	return out
}

func (d *osClipboard) writeText(ctx context.Context, text string) error {
	e, w, err := d.detectSession(ctx)
	if err != nil {
		return err
	}
	switch {
	case w != nil:
		return w.writeSelection(ctx, text)
	case len(text) > xwin.MaxOffer && canUseLibrary(e): // the helper program continues to run as a child of this process
		return libraryWrite(ctx, text)
	}
	return d.offerText(ctx, e, text)
}

// offerText offers text from this process, in place of the text that this process offered before.
func (d *osClipboard) offerText(ctx context.Context, e session.Env, text string) error {
	life, drop := context.WithCancel(context.WithoutCancel(ctx))
	dialing := context.AfterFunc(ctx, drop)
	x, err := xwin.Dial(life, e)
	if err != nil {
		drop()
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	ended, err := x.Offer(life, text)
	if err != nil || !dialing() {
		x.Close()
		drop()
		return errors.Join(err, ctx.Err())
	}
	d.mu.Lock()
	before, gone := d.drop, d.ended
	d.drop, d.ended = drop, ended
	d.mu.Unlock()
	if before != nil {
		before()
		<-gone
	}
	return nil
}

func (d *osClipboard) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.drop != nil {
		d.drop()
		<-d.ended
		d.drop = nil
	}
}

// wlClipboard runs the programs of wl-clipboard with a timeout. Without the protocol
// ext-data-control, they wait for a keyboard focus that they never get.
type wlClipboard struct {
	copy, paste string
	env         []string
}

const waylandWait = 2 * time.Second

func newWayland(e session.Env) (*wlClipboard, error) {
	w := wlClipboard{env: []string{"WAYLAND_DISPLAY=" + e.Wayland, "XDG_RUNTIME_DIR=" + e.RuntimeDir, "HOME=" + e.Home, "LC_ALL=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin"}}
	var err error
	if w.copy, err = exec.LookPath("wl-copy"); err == nil {
		w.paste, err = exec.LookPath("wl-paste")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: Wayland requires wl-copy and wl-paste; install the package wl-clipboard", ErrNone)
	}
	return &w, nil
}

func (w *wlClipboard) runProgram(ctx context.Context, in []byte, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, waylandWait)
	defer cancel()
	cmd := exec.Command(program, args...) //nolint:noctx // Output ends the whole process tree
	cmd.Env = w.env
	out, err := osrun.Output(ctx, cmd, in)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: this compositor lets only the focused window read the clipboard", ErrBusy)
	}
	return out, err
}

func (w *wlClipboard) readSelection(ctx context.Context) (Content, error) {
	list, err := w.runProgram(ctx, nil, w.paste, "--list-types")
	if f, ok := errors.AsType[*osrun.Failure](err); ok && (strings.Contains(f.Said, "Nothing is copied") || strings.Contains(f.Said, "No selection")) {
		return Content{}, nil
	}
	if err != nil {
		return Content{}, err
	}
	formats := strings.Fields(string(list))
	c := Content{Hidden: slices.Contains(formats, passwordHint)}
	if pickTextFormat(formats) == "" {
		c.Formats = readableFormats(formats)
		return c, nil
	}
	out, err := w.runProgram(ctx, nil, w.paste, "--no-newline", "--type", "text")
	c.Text = string(out)
	return c, err
}

// writeSelection starts a process of wl-copy that provides the text and continues to run. That
// process leaves its process group, so it does not end with its parent.
func (w *wlClipboard) writeSelection(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, waylandWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.copy, "--type", "text/plain;charset=utf-8")
	cmd.Env, cmd.Stdin, cmd.WaitDelay = w.env, strings.NewReader(text), time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: this compositor lets only the focused window write to the clipboard", ErrBusy)
		}
		return fmt.Errorf("wl-copy: %w", err)
	}
	return nil
}
