package a11y

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/session"
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

const rolePassword = 40 // value of AtspiRole

// atspiConn is a connection to the accessibility bus.
type atspiConn struct{ conn *dbus.Conn }

type objectRef struct {
	Name string
	Path dbus.ObjectPath
}

func (r *Reader) openLink(ctx context.Context) (*atspiConn, error) {
	e := session.DetectSession(ctx, r.opt.Getenv)
	if e.Bus == "" {
		return nil, fmt.Errorf("%w (no D-Bus session bus); start Hob within the desktop session", session.ErrNone)
	}
	desk, err := session.Dial(ctx, e.Bus)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", session.ErrNone, err)
	}
	defer desk.Close() //nolint:errcheck // no data can be lost
	var address string
	if err := session.Call(ctx, desk, "org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus.GetAddress", nil, &address); err != nil {
		return nil, fmt.Errorf("%w: %w; install at-spi2-core", ErrNone, err)
	}
	// Programs check this property only at startup, so programs that are already running may not
	// respond.
	_ = session.Call(ctx, desk, "org.a11y.Bus", "/org/a11y/bus", "org.freedesktop.DBus.Properties.Set", []any{"org.a11y.Status", "IsEnabled", dbus.MakeVariant(true)})
	conn, err := session.Dial(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return &atspiConn{conn}, nil
}

// checkReady queries the registry, which lists the windows.
func (r *Reader) checkReady(ctx context.Context) error {
	l, err := r.openLink(ctx)
	if err != nil {
		return err
	}
	defer l.conn.Close() //nolint:errcheck // no data can be lost
	if _, err := session.Property[int32](ctx, l.conn, registry, root, accessible, "ChildCount"); err != nil {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	return nil
}

const wait = 8 * time.Second

// nodeWait is the time limit for one element, so that a program that hangs is skipped.
const nodeWait = 300 * time.Millisecond

func (l *atspiConn) callObject(ctx context.Context, at objectRef, method string, args []any, out ...any) error {
	ctx, cancel := context.WithTimeout(ctx, nodeWait)
	defer cancel()
	return session.Call(ctx, l.conn, at.Name, at.Path, method, args, out...)
}

func (l *atspiConn) childRefs(ctx context.Context, at objectRef) (out []objectRef) {
	_ = l.callObject(ctx, at, accessible+".GetChildren", nil, &out) // on error, the element is treated as having no children
	return out[:min(len(out), maxKids)]
}

func (l *atspiConn) textProperty(ctx context.Context, at objectRef, iface, name string) string {
	ctx, cancel := context.WithTimeout(ctx, nodeWait)
	defer cancel()
	s, _ := session.Property[string](ctx, l.conn, at.Name, at.Path, iface, name)
	return truncateText(s)
}

func (l *atspiConn) hasState(ctx context.Context, at objectRef, bit int) bool {
	var state []uint32
	if l.callObject(ctx, at, accessible+".GetState", nil, &state) != nil || len(state) <= bit/32 {
		return false
	}
	return state[bit/32]&(1<<(bit%32)) != 0
}

func (r *Reader) readElements(ctx context.Context, words string) (list []Node, more bool, err error) {
	l, err := r.openLink(ctx)
	if err != nil {
		return nil, false, err
	}
	defer l.conn.Close() //nolint:errcheck // no data can be lost
	var apps []objectRef
	if err := session.Call(ctx, l.conn, registry, root, accessible+".GetChildren", nil, &apps); err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrNone, err)
	}
	words = strings.ToLower(strings.TrimSpace(words))
	for _, a := range apps {
		name := l.textProperty(ctx, a, accessible, "Name")
		pid := l.processID(ctx, a)
		for _, w := range l.childRefs(ctx, a) {
			title := l.textProperty(ctx, w, accessible, "Name")
			switch {
			case words == "" && !l.hasState(ctx, w, stateActive):
				continue
			case words != "" && !strings.Contains(strings.ToLower(title+" "+name), words):
				continue
			}
			walk := walker{l: l, node: Node{App: name, PID: pid, Window: title}}
			walk.list = list
			walk.walkElement(ctx, w, 0)
			list, more = walk.list, more || walk.more
		}
	}
	return list, more || ctx.Err() != nil, nil
}

func (l *atspiConn) processID(ctx context.Context, a objectRef) int {
	var pid uint32
	if session.Call(ctx, l.conn, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.GetConnectionUnixProcessID", []any{a.Name}, &pid) != nil {
		return 0
	}
	return int(pid)
}

type walker struct {
	l    *atspiConn
	node Node
	list []Node
	more bool
}

func (w *walker) walkElement(ctx context.Context, at objectRef, depth int) {
	if len(w.list) >= MaxNodes || depth > maxDepth || ctx.Err() != nil {
		w.more = true
		return
	}
	if depth > 0 && !w.l.hasState(ctx, at, stateShowing) {
		return
	}
	w.list = append(w.list, w.l.readNode(ctx, at, w.node, depth))
	for _, k := range w.l.childRefs(ctx, at) {
		w.walkElement(ctx, k, depth+1)
	}
}

func (l *atspiConn) readNode(ctx context.Context, at objectRef, n Node, depth int) Node {
	n.Ref, n.Depth, n.Name = at.Name+" "+string(at.Path), depth, l.textProperty(ctx, at, accessible, "Name")
	_ = l.callObject(ctx, at, accessible+".GetRoleName", nil, &n.Role)
	var role uint32
	_ = l.callObject(ctx, at, accessible+".GetRole", nil, &role)
	n.Secret = role == rolePassword
	if !n.Secret {
		_ = l.callObject(ctx, at, "org.a11y.atspi.Text.GetText", []any{int32(0), int32(maxText)}, &n.Text)
		if n.Text = truncateText(n.Text); n.Text == n.Name {
			n.Text = ""
		}
	}
	_ = l.callObject(ctx, at, action+".GetName", []any{int32(0)}, &n.Does)
	n.Takes = !n.Secret && l.hasState(ctx, at, stateEditable)
	return n
}

// findAgain finds an element that was read earlier.
func (r *Reader) findAgain(ctx context.Context, n Node) (*atspiConn, objectRef, Node, error) {
	l, err := r.openLink(ctx)
	if err != nil {
		return nil, objectRef{}, Node{}, err
	}
	name, path, ok := strings.Cut(n.Ref, " ")
	at := objectRef{name, dbus.ObjectPath(path)}
	if ok && at.Path.IsValid() {
		now := l.readNode(ctx, at, Node{}, 0)
		if now.Role != "" && now.Role == n.Role && now.Name == n.Name && l.processID(ctx, at) == n.PID {
			return l, at, now, nil
		}
	}
	return nil, objectRef{}, Node{}, errors.Join(ErrGone, ctx.Err(), l.conn.Close())
}

func (r *Reader) performAction(ctx context.Context, n Node) error {
	l, at, now, err := r.findAgain(ctx, n)
	if err != nil {
		return err
	}
	defer l.conn.Close() //nolint:errcheck // no data can be lost
	if now.Does == "" {
		return ErrGone
	}
	return l.callAction(ctx, at, action+".DoAction", int32(0))
}

func (r *Reader) setText(ctx context.Context, n Node, text string) error {
	l, at, now, err := r.findAgain(ctx, n)
	if err != nil {
		return err
	}
	defer l.conn.Close() //nolint:errcheck // no data can be lost
	if !now.Takes {
		return ErrGone
	}
	return l.callAction(ctx, at, editable+".SetTextContents", text)
}

func (l *atspiConn) callAction(ctx context.Context, at objectRef, method string, arg any) error {
	var done bool
	if err := session.Call(ctx, l.conn, at.Name, at.Path, method, []any{arg}, &done); err != nil {
		return err
	}
	if !done {
		return errors.New("the program did not perform the action")
	}
	return nil
}
