package tree

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"hob/platform/desktop/session"
)

// Names from AT-SPI2 (gitlab.gnome.org/GNOME/at-spi2-core, xml/).
const (
	registry   = "org.a11y.atspi.Registry"
	root       = "/org/a11y/atspi/accessible/root"
	accessible = "org.a11y.atspi.Accessible"
	action     = "org.a11y.atspi.Action"
	editable   = "org.a11y.atspi.EditableText"
)

// States of an element: bits of AtspiStateType.
const (
	stateActive   = 1
	stateEditable = 7
	stateShowing  = 25
)

const rolePassword = 40 // AtspiRole

// link is a connection to the accessibility bus.
type link struct{ conn *dbus.Conn }

type ref struct {
	Name string
	Path dbus.ObjectPath
}

func (r *Reader) open(ctx context.Context) (*link, error) {
	e := session.Look(ctx, r.opt.Getenv)
	if e.Bus == "" {
		return nil, fmt.Errorf("%w (no D-Bus session bus); start Hob within the desktop session", session.ErrNone)
	}
	desk, err := session.Dial(ctx, e.Bus)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", session.ErrNone, err)
	}
	defer desk.Close() //nolint:errcheck // nothing was to be kept
	var address string
	if err := session.Call(ctx, desk, "org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus.GetAddress", nil, &address); err != nil {
		return nil, fmt.Errorf("%w; install at-spi2-core: %w", ErrNone, err)
	}
	// Programs check this at startup: running programs may not respond.
	_ = session.Call(ctx, desk, "org.a11y.Bus", "/org/a11y/bus", "org.freedesktop.DBus.Properties.Set", []any{"org.a11y.Status", "IsEnabled", dbus.MakeVariant(true)})
	conn, err := session.Dial(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return &link{conn}, nil
}

// ready queries the registry, which lists the windows.
func (r *Reader) ready(ctx context.Context) error {
	l, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer l.conn.Close() //nolint:errcheck // nothing was to be kept
	if _, err := session.Property[int32](ctx, l.conn, registry, root, accessible, "ChildCount"); err != nil {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	return nil
}

const wait = 8 * time.Second

// nodeWait is the timeout for one element: a program that hangs is skipped.
const nodeWait = 300 * time.Millisecond

func (l *link) call(ctx context.Context, at ref, method string, args []any, out ...any) error {
	ctx, cancel := context.WithTimeout(ctx, nodeWait)
	defer cancel()
	return session.Call(ctx, l.conn, at.Name, at.Path, method, args, out...)
}

func (l *link) kids(ctx context.Context, at ref) (out []ref) {
	_ = l.call(ctx, at, accessible+".GetChildren", nil, &out) // on an error there are none
	return out[:min(len(out), maxKids)]
}

func (l *link) text(ctx context.Context, at ref, iface, name string) string {
	ctx, cancel := context.WithTimeout(ctx, nodeWait)
	defer cancel()
	s, _ := session.Property[string](ctx, l.conn, at.Name, at.Path, iface, name)
	return cut(s)
}

func (l *link) has(ctx context.Context, at ref, bit int) bool {
	var state []uint32
	if l.call(ctx, at, accessible+".GetState", nil, &state) != nil || len(state) <= bit/32 {
		return false
	}
	return state[bit/32]&(1<<(bit%32)) != 0
}

func (r *Reader) read(ctx context.Context, words string) (list []Node, more bool, err error) {
	l, err := r.open(ctx)
	if err != nil {
		return nil, false, err
	}
	defer l.conn.Close() //nolint:errcheck // nothing was to be kept
	var apps []ref
	if err := session.Call(ctx, l.conn, registry, root, accessible+".GetChildren", nil, &apps); err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrNone, err)
	}
	words = strings.ToLower(strings.TrimSpace(words))
	for _, a := range apps {
		name := l.text(ctx, a, accessible, "Name")
		pid := l.pid(ctx, a)
		for _, w := range l.kids(ctx, a) {
			title := l.text(ctx, w, accessible, "Name")
			switch {
			case words == "" && !l.has(ctx, w, stateActive):
				continue
			case words != "" && !strings.Contains(strings.ToLower(title+" "+name), words):
				continue
			}
			walk := walker{l: l, node: Node{App: name, PID: pid, Window: title}}
			walk.list = list
			walk.walk(ctx, w, 0)
			list, more = walk.list, more || walk.more
		}
	}
	return list, more || ctx.Err() != nil, nil
}

func (l *link) pid(ctx context.Context, a ref) int {
	var pid uint32
	if session.Call(ctx, l.conn, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.GetConnectionUnixProcessID", []any{a.Name}, &pid) != nil {
		return 0
	}
	return int(pid)
}

type walker struct {
	l    *link
	node Node
	list []Node
	more bool
}

func (w *walker) walk(ctx context.Context, at ref, depth int) {
	if len(w.list) >= MaxNodes || depth > maxDepth || ctx.Err() != nil {
		w.more = true
		return
	}
	if depth > 0 && !w.l.has(ctx, at, stateShowing) {
		return
	}
	w.list = append(w.list, w.l.node(ctx, at, w.node, depth))
	for _, k := range w.l.kids(ctx, at) {
		w.walk(ctx, k, depth+1)
	}
}

func (l *link) node(ctx context.Context, at ref, n Node, depth int) Node {
	n.Ref, n.Depth, n.Name = at.Name+" "+string(at.Path), depth, l.text(ctx, at, accessible, "Name")
	_ = l.call(ctx, at, accessible+".GetRoleName", nil, &n.Role)
	var role uint32
	_ = l.call(ctx, at, accessible+".GetRole", nil, &role)
	n.Secret = role == rolePassword
	if !n.Secret {
		_ = l.call(ctx, at, "org.a11y.atspi.Text.GetText", []any{int32(0), int32(maxText)}, &n.Text)
		if n.Text = cut(n.Text); n.Text == n.Name {
			n.Text = ""
		}
	}
	_ = l.call(ctx, at, action+".GetName", []any{int32(0)}, &n.Does)
	n.Takes = !n.Secret && l.has(ctx, at, stateEditable)
	return n
}

// again finds an element that was read before.
func (r *Reader) again(ctx context.Context, n Node) (*link, ref, Node, error) {
	l, err := r.open(ctx)
	if err != nil {
		return nil, ref{}, Node{}, err
	}
	name, path, ok := strings.Cut(n.Ref, " ")
	at := ref{name, dbus.ObjectPath(path)}
	if ok && at.Path.IsValid() {
		now := l.node(ctx, at, Node{}, 0)
		if now.Role != "" && now.Role == n.Role && now.Name == n.Name && l.pid(ctx, at) == n.PID {
			return l, at, now, nil
		}
	}
	return nil, ref{}, Node{}, errors.Join(ErrGone, ctx.Err(), l.conn.Close())
}

func (r *Reader) do(ctx context.Context, n Node) error {
	l, at, now, err := r.again(ctx, n)
	if err != nil {
		return err
	}
	defer l.conn.Close() //nolint:errcheck // nothing was to be kept
	if now.Does == "" {
		return ErrGone
	}
	return l.does(ctx, at, action+".DoAction", int32(0))
}

func (r *Reader) fill(ctx context.Context, n Node, text string) error {
	l, at, now, err := r.again(ctx, n)
	if err != nil {
		return err
	}
	defer l.conn.Close() //nolint:errcheck // nothing was to be kept
	if !now.Takes {
		return ErrGone
	}
	return l.does(ctx, at, editable+".SetTextContents", text)
}

func (l *link) does(ctx context.Context, at ref, method string, arg any) error {
	var done bool
	if err := session.Call(ctx, l.conn, at.Name, at.Path, method, []any{arg}, &done); err != nil {
		return err
	}
	if !done {
		return errors.New("the program did not perform the action")
	}
	return nil
}
