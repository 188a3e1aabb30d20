package desktop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/godbus/dbus/v5"
)

// Names from the Desktop Notifications Specification 1.2, section 9.
const (
	notesName   = "org.freedesktop.Notifications"
	notesPath   = "/org/freedesktop/Notifications"
	notesPress  = notesName + ".ActionInvoked"
	notesClosed = notesName + ".NotificationClosed"
	busName     = "org.freedesktop.DBus"
	busPath     = "/org/freedesktop/DBus"
	busOwner    = busName + ".NameOwnerChanged"
)

func newShower(o Options, events chan<- Event) notificationBackend {
	return &dbusBackend{opt: o, events: events, dialing: make(chan struct{}, 1)}
}

// dbusBackend shows notifications over the session bus.
//
// Every client of that bus receives its signals and can send forged ones. The bus itself sets the
// sender of a signal. A press is accepted only if it comes from the connection that accepted the
// notification and contains the id that this connection returned.
type dbusBackend struct {
	opt     Options
	events  chan<- Event
	dialing chan struct{} // semaphore for connecting

	mu   sync.Mutex
	link *serverConn
}

// serverConn is a connection to the bus.
type serverConn struct {
	conn *dbus.Conn
	wg   sync.WaitGroup

	// order is locked while signals are handled, so that the signals in early are handled before
	// later ones.
	order sync.Mutex

	mu    sync.Mutex
	owner *serverOwner // the current server; nil if it is unknown or there is none
	shown map[string]shownNote
	// early contains signals received during a send. They may arrive before the answer that
	// contains their notification id.
	early   []*dbus.Signal
	sending int
}

// serverOwner is the bus connection of the notification server.
type serverOwner struct {
	unique string
	Server
	markup bool
}

// shownNote identifies a shown notification on its server.
type shownNote struct {
	server string // unique name
	id     uint32
}

const maxEarly = 16

// showNotification implements shower.
func (b *dbusBackend) showNotification(ctx context.Context, n Notification) error {
	ctx, cancel := context.WithTimeout(ctx, b.opt.Wait)
	defer cancel()
	for again := false; ; again = true {
		l, o, err := b.findServer(ctx)
		if err != nil {
			return err
		}
		id, err := l.sendNotify(ctx, o, b.opt.App, n)
		b.recordSent(l, o, n.ID, id)
		if err == nil {
			return nil
		}
		// a server that has exited has not accepted the notification
		if gone := isDBusError(err, "ServiceUnknown", "NameHasNoOwner") || errors.Is(err, dbus.ErrClosed); gone && !again && ctx.Err() == nil {
			l.forgetOwner(o)
			continue
		}
		if ctx.Err() != nil || isDBusError(err, "NoReply", "Disconnected", "Timeout") {
			return fmt.Errorf("desktop: notify: %w: %w", ErrUnsure, err)
		}
		if isDBusError(err, "InvalidArgs", "UnknownMethod", "AccessDenied", "InvalidSignature") {
			return fmt.Errorf("desktop: notify: %w: %w", ErrRefused, err)
		}
		return fmt.Errorf("desktop: show notification: %w", err)
	}
}

// sendNotify calls the server's Notify method.
func (l *serverConn) sendNotify(ctx context.Context, o *serverOwner, app string, n Notification) (id uint32, err error) {
	hints := map[string]dbus.Variant{"urgency": dbus.MakeVariant(byte(n.Urgency)), "desktop-entry": dbus.MakeVariant("hob")}
	if n.Transient {
		hints["transient"] = dbus.MakeVariant(true)
	}
	actions := []string{}
	if o.Actions {
		for _, a := range n.Actions {
			actions = append(actions, a.Key, a.Label)
		}
	}
	body := n.Body
	if o.markup {
		body = escapeMarkup(body)
	}
	var replaces uint32
	l.mu.Lock()
	l.sending++
	if s, there := l.shown[n.ID]; there && s.server == o.unique {
		replaces = s.id
	}
	l.mu.Unlock()
	err = callMethod(ctx, l.conn, o.unique, notesPath, notesName+".Notify",
		[]any{app, replaces, "dialog-information", n.Title, body, actions, hints, int32(-1)}, &id)
	return id, err
}

// recordSent completes a send. It records the id of the accepted notification (0 if none was
// accepted) and handles the signals that arrived before the answer.
func (b *dbusBackend) recordSent(l *serverConn, o *serverOwner, note string, id uint32) {
	l.order.Lock()
	defer l.order.Unlock()
	l.mu.Lock()
	if id != 0 {
		at := shownNote{o.unique, id}
		maps.DeleteFunc(l.shown, func(_ string, s shownNote) bool { return s == at }) // the new notification replaces the one that has this id
		l.shown[note] = at
	}
	l.sending--
	early := l.early
	l.early = nil // matchSignal stores signals of other sends again
	l.mu.Unlock()
	for _, s := range early {
		b.handleSignal(l, s)
	}
}

// withdrawNotification implements shower.
func (b *dbusBackend) withdrawNotification(ctx context.Context, id string) error {
	b.mu.Lock()
	l := b.link
	b.mu.Unlock()
	if l == nil {
		return nil
	}
	l.mu.Lock()
	s, there := l.shown[id]
	l.mu.Unlock()
	if !there {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, b.opt.Wait)
	defer cancel()
	err := callMethod(ctx, l.conn, s.server, notesPath, notesName+".CloseNotification", []any{s.id})
	if isDBusError(err, "ServiceUnknown", "NameHasNoOwner") || errors.Is(err, dbus.ErrClosed) {
		return nil // the notification ended with its server
	}
	return err
}

// serverInfo implements shower.
func (b *dbusBackend) serverInfo(ctx context.Context) (Server, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opt.Wait)
	defer cancel()
	_, o, err := b.findServer(ctx)
	if err != nil {
		return Server{}, err
	}
	return o.Server, nil
}

// findServer returns the connection to the bus and the current notification server.
func (b *dbusBackend) findServer(ctx context.Context) (*serverConn, *serverOwner, error) {
	l, err := b.connectBus(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("desktop: %w", err)
	}
	l.mu.Lock()
	o := l.owner
	l.mu.Unlock()
	if o != nil {
		return l, o, nil
	}
	if o, err = l.findOwner(ctx, b.opt.Trust); err != nil {
		return nil, nil, fmt.Errorf("desktop: %w", err)
	}
	l.mu.Lock()
	l.owner = o
	l.mu.Unlock()
	return l, o, nil
}

// findOwner queries the bus for the server. The bus starts one if necessary.
func (l *serverConn) findOwner(ctx context.Context, trust func(int) error) (*serverOwner, error) {
	o := &serverOwner{}
	name := func() error {
		return callMethod(ctx, l.conn, busName, busPath, busName+".GetNameOwner", []any{notesName}, &o.unique)
	}
	err := name()
	if isDBusError(err, "NameHasNoOwner") {
		var started uint32
		err = callMethod(ctx, l.conn, busName, busPath, busName+".StartServiceByName", []any{notesName, uint32(0)}, &started)
		if err == nil {
			err = name()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: there is no notification server (%w); start one, such as dunst or mako", ErrNoServer, err)
	}
	var pid uint32
	err = callMethod(ctx, l.conn, busName, busPath, busName+".GetConnectionUnixProcessID", []any{o.unique}, &pid)
	known := err == nil && pid > 0
	if known && trust != nil {
		if err := trust(int(pid)); err != nil {
			return nil, fmt.Errorf("%w: the notification server (process %d) is not trusted: %w", ErrNoServer, pid, err)
		}
	}
	var caps []string
	if err := callMethod(ctx, l.conn, o.unique, notesPath, notesName+".GetCapabilities", nil, &caps); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	var vendor, version, spec string
	if err := callMethod(ctx, l.conn, o.unique, notesPath, notesName+".GetServerInformation", nil, &o.Name, &vendor, &version, &spec); err != nil {
		o.Name = "a notification server" // the server may report no name
	}
	o.Sure, o.markup = true, slices.Contains(caps, "body-markup")
	o.Actions = slices.Contains(caps, "actions") && (known || trust == nil)
	return o, nil
}

// forgetOwner makes the next notification look up the server again.
func (l *serverConn) forgetOwner(o *serverOwner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owner == o {
		l.owner = nil
	}
}

// connectBus returns the existing connection or opens one.
func (b *dbusBackend) connectBus(ctx context.Context) (*serverConn, error) {
	select {
	case b.dialing <- struct{}{}:
		defer func() { <-b.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	b.mu.Lock()
	l := b.link
	b.mu.Unlock()
	if l != nil && l.conn.Connected() {
		return l, nil
	}
	address, err := sessionBus(b.opt.Getenv)
	if err != nil {
		return nil, err
	}
	conn, err := dialBus(context.Background(), address) //nolint:contextcheck // the connection outlives the notification; close ends it
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSession, err)
	}
	signals := make(chan *dbus.Signal, 64)
	conn.Signal(signals)
	for _, match := range [][]dbus.MatchOption{
		{dbus.WithMatchSender(notesName), dbus.WithMatchInterface(notesName), dbus.WithMatchObjectPath(notesPath)},
		{dbus.WithMatchSender(busName), dbus.WithMatchInterface(busName), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, notesName)},
	} {
		if err := conn.AddMatchSignalContext(ctx, match...); err != nil {
			return nil, errors.Join(fmt.Errorf("subscribe to signals on the session bus: %w", err), conn.Close())
		}
	}
	l = &serverConn{conn: conn, shown: map[string]shownNote{}}
	b.mu.Lock()
	b.link = l
	b.mu.Unlock()
	l.wg.Go(func() { b.handleSignals(l, signals) })
	return l, nil
}

// handleSignals handles the signals of a connection until it closes.
func (b *dbusBackend) handleSignals(l *serverConn, signals <-chan *dbus.Signal) {
	for s := range signals {
		l.order.Lock()
		b.handleSignal(l, s)
		l.order.Unlock()
	}
	l.closeNotifications(b, "")
}

// closeNotifications reports that the notifications of a server, or of all servers if server is "",
// are gone.
func (l *serverConn) closeNotifications(b *dbusBackend, server string) {
	var lost []string
	l.mu.Lock()
	for note, s := range l.shown {
		if server == "" || s.server == server {
			lost = append(lost, note)
			delete(l.shown, note)
		}
	}
	l.mu.Unlock()
	slices.Sort(lost)
	for _, note := range lost {
		b.sendEvent(l, Event{Note: note, Closed: Gone})
	}
}

// handleSignal handles a press, a closed notification, or the start or end of a server.
func (b *dbusBackend) handleSignal(l *serverConn, s *dbus.Signal) {
	switch s.Name {
	case busOwner:
		var name, before, after string
		if s.Sender != busName || dbus.Store(s.Body, &name, &before, &after) != nil || name != notesName {
			return
		}
		l.mu.Lock()
		if l.owner != nil && l.owner.unique != after {
			l.owner = nil
		}
		l.mu.Unlock()
		if before != "" {
			l.closeNotifications(b, before)
		}
	case notesPress:
		var id uint32
		var key string
		if dbus.Store(s.Body, &id, &key) != nil || key == "" {
			return
		}
		if note, ok := l.matchSignal(s, id, false); ok {
			b.sendEvent(l, Event{Note: note, Pressed: key})
		}
	case notesClosed:
		var id, reason uint32
		if dbus.Store(s.Body, &id, &reason) != nil {
			return
		}
		if note, ok := l.matchSignal(s, id, true); ok {
			why := Gone
			if r := Reason(min(reason, 255)); r >= Expired && r <= Withdrawn {
				why = r
			}
			b.sendEvent(l, Event{Note: note, Closed: why})
		}
	}
}

// matchSignal returns the notification to which a signal belongs. It ignores signals from senders
// other than the server that accepted the notification.
func (l *serverConn) matchSignal(s *dbus.Signal, id uint32, over bool) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for note, at := range l.shown {
		if at.id == id && at.server == s.Sender {
			if over {
				delete(l.shown, note)
			}
			return note, true
		}
	}
	if l.sending > 0 && len(l.early) < maxEarly && l.owner != nil && l.owner.unique == s.Sender {
		l.early = append(l.early, s)
	}
	return "", false
}

// sendEvent sends an event to Run. If the connection ends, it does not wait for Run to receive the
// event.
func (b *dbusBackend) sendEvent(l *serverConn, e Event) {
	select {
	case b.events <- e:
		return
	default:
	}
	select {
	case b.events <- e:
	case <-l.conn.Context().Done():
	}
}

// close implements shower.
func (b *dbusBackend) close() {
	b.mu.Lock()
	l := b.link
	b.link = nil
	b.mu.Unlock()
	if l == nil {
		return
	}
	_ = l.conn.Close() // no caller needs its error
	l.wg.Wait()
}
