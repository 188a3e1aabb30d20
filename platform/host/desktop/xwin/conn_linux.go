package xwin

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/screensaver"
	"github.com/jezek/xgb/xproto"

	"hob/platform/host/desktop/session"
)

// Conn is a connection to the X server.
type Conn struct {
	X    *xgb.Conn
	Root xproto.Window
	Info *xproto.SetupInfo
	net  net.Conn
	stop func() bool

	mu    sync.Mutex
	atoms map[string]xproto.Atom
}

// silenceLog stops xgb from writing to this process's stderr.
var silenceLog = sync.OnceFunc(func() { xgb.Logger = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) }) //nolint:gochecknoglobals // changes a global variable of xgb

// Dial connects to the display of a session. It gives up when ctx ends. The caller must call Close.
func Dial(ctx context.Context, e session.Env) (*Conn, error) {
	if e.Display == "" {
		return nil, fmt.Errorf("%w: DISPLAY is not set; start Hob within the desktop session", session.ErrNone)
	}
	number, err := session.Display(e.Display)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", session.ErrNone, err)
	}
	silenceLog()
	path := "/tmp/.X11-unix/X" + number
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		nc, err = d.DialContext(ctx, "unix", "@"+path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: connect to the display %s: %w", session.ErrNone, e.Display, err)
	}
	c := &Conn{net: nc, atoms: map[string]xproto.Atom{}}
	c.stop = context.AfterFunc(ctx, func() { _ = nc.Close() })
	if err := c.connectSetup(session.Cookie(e.Authority, e.Home, number)); err != nil {
		c.stop()
		return nil, errors.Join(fmt.Errorf("connect to the display %s: %w", e.Display, contextCause(ctx, err)), nc.Close())
	}
	return c, nil
}

func (c *Conn) connectSetup(cookie []byte) (err error) {
	if len(cookie) == 16 {
		c.X, err = xgb.NewConnNetWithCookieHex(c.net, hex.EncodeToString(cookie))
	} else {
		c.X, err = xgb.NewConnNet(c.net)
	}
	if err != nil {
		return err
	}
	c.Info = xproto.Setup(c.X)
	if c.Info == nil || len(c.Info.Roots) == 0 {
		return errors.New("the X display has no screen")
	}
	c.Root = c.Info.DefaultScreen(c.X).Root
	return nil
}

// contextCause returns ctx's error if ctx ended the connection.
func contextCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Close ends the connection.
func (c *Conn) Close() {
	c.stop()
	c.X.Close()
	_ = c.net.Close()
}

// Atom returns the atom of a name.
func (c *Conn) Atom(name string) (xproto.Atom, error) {
	c.mu.Lock()
	a, ok := c.atoms[name]
	c.mu.Unlock()
	if ok {
		return a, nil
	}
	r, err := xproto.InternAtom(c.X, false, uint16(len(name)), name).Reply() //nolint:gosec // Hob's names are short
	if err != nil {
		return 0, fmt.Errorf("atom %s: %w", name, err)
	}
	c.mu.Lock()
	c.atoms[name] = r.Atom
	c.mu.Unlock()
	return r.Atom, nil
}

// atomName returns the name of an atom, "" if unknown.
func (c *Conn) atomName(a xproto.Atom) string {
	r, err := xproto.GetAtomName(c.X, a).Reply()
	if err != nil {
		return ""
	}
	return r.Name
}

// maxProperty limits the size of a property, in bytes.
const maxProperty = 1 << 20

// windowProperty returns a property of a window, nil if it has none.
func (c *Conn) windowProperty(w xproto.Window, name string) []byte {
	a, err := c.Atom(name)
	if err != nil {
		return nil
	}
	r, err := xproto.GetProperty(c.X, false, w, a, xproto.GetPropertyTypeAny, 0, maxProperty/4).Reply()
	if err != nil {
		return nil
	}
	return r.Value
}

// numberProperty returns a property of 32-bit numbers.
func (c *Conn) numberProperty(w xproto.Window, name string) []uint32 {
	b := c.windowProperty(w, name)
	out := make([]uint32, 0, len(b)/4)
	for ; len(b) >= 4; b = b[4:] {
		out = append(out, xgb.Get32(b))
	}
	return out
}

// programOf returns the program of a process, "" if unknown.
func programOf(pid int) string {
	if pid <= 0 {
		return ""
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return ""
	}
	return path
}

const saver = "MIT-SCREEN-SAVER"

// Idle returns the time since the last input (MIT-SCREEN-SAVER 1.1). It looks up the extension
// itself, because xgb's Init writes to maps that all connections read.
func (c *Conn) Idle() (time.Duration, error) {
	e, err := xproto.QueryExtension(c.X, uint16(len(saver)), saver).Reply()
	if err != nil {
		return 0, err
	}
	if !e.Present {
		return 0, errors.New("the X server has no " + saver + " extension")
	}
	c.X.ExtLock.Lock()
	c.X.Extensions[saver] = e.MajorOpcode
	c.X.ExtLock.Unlock()
	r, err := screensaver.QueryInfo(c.X, xproto.Drawable(c.Root)).Reply()
	if err != nil {
		return 0, err
	}
	return time.Duration(r.MsSinceUserInput) * time.Millisecond, nil
}
