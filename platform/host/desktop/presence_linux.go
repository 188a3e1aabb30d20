package desktop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/session"
)

const (
	loginName    = session.Login
	loginSession = loginName + ".Session"
)

// detectPresence queries, in this order: the desktop's idle monitor, the screen saver extension of X, and
// logind, which only knows what the desktop reports to it.
func detectPresence(ctx context.Context, o Options) (p Presence, err error) {
	var causes []error
	if err := lookSession(ctx, o, &p); err != nil {
		causes = append(causes, err)
	}
	if !p.IdleKnown {
		if idle, err := screenIdle(ctx, o.Getenv); err != nil {
			causes = append(causes, err)
		} else {
			p.Idle, p.IdleKnown, p.By = idle, true, "X"
		}
	}
	if !p.IdleKnown || !p.LockKnown {
		if err := lookLogin(ctx, o, &p); err != nil {
			causes = append(causes, err)
		}
	}
	if !p.IdleKnown && !(p.LockKnown && p.Locked) {
		return p, fmt.Errorf("desktop: %w: %w", ErrUnseen, errors.Join(causes...))
	}
	return p, nil
}

// lookSession queries the session bus.
func lookSession(ctx context.Context, o Options, p *Presence) error {
	address, err := sessionBus(o.Getenv)
	if err != nil {
		return err
	}
	conn, err := dialBus(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // closing loses no data
	ask := func(dest, path, method string, out any) bool {
		call := conn.Object(dest, dbus.ObjectPath(path)).CallWithContext(ctx, method, dbus.FlagNoAutoStart) // do not start a service to query it
		return call.Store(out) == nil
	}
	var ms uint64
	if ask("org.gnome.Mutter.IdleMonitor", "/org/gnome/Mutter/IdleMonitor/Core", "org.gnome.Mutter.IdleMonitor.GetIdletime", &ms) && ms < uint64(maxIdle.Milliseconds()) {
		p.Idle, p.IdleKnown, p.By = time.Duration(ms)*time.Millisecond, true, "Mutter"
	}
	for _, s := range [][2]string{{"org.gnome.ScreenSaver", "/org/gnome/ScreenSaver"}, {"org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver"}, {"org.freedesktop.ScreenSaver", "/ScreenSaver"}} {
		var active bool
		if ask(s[0], s[1], s[0]+".GetActive", &active) {
			p.Locked, p.LockKnown = active, true
			break
		}
	}
	if p.IdleKnown {
		return nil
	}
	// the unit is milliseconds in KWin and seconds elsewhere, so use only KWin's value
	var n uint32
	var kde bool
	if callMethod(ctx, conn, busName, busPath, busName+".NameHasOwner", []any{"org.kde.KWin"}, &kde) == nil && kde &&
		ask("org.freedesktop.ScreenSaver", "/ScreenSaver", "org.freedesktop.ScreenSaver.GetSessionIdleTime", &n) {
		p.Idle, p.IdleKnown, p.By = time.Duration(n)*time.Millisecond, true, "KWin"
	}
	return nil
}

// lookLogin queries logind for the session of this user's display.
func lookLogin(ctx context.Context, o Options, p *Presence) error {
	conn, err := dialBus(ctx, session.SystemBus(o.Getenv))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // closing loses no data
	path, err := session.Seat(ctx, conn)
	if err != nil {
		return err
	}
	if locked, err := readProperty[bool](ctx, conn, loginName, path, loginSession, "LockedHint"); err == nil && (!p.LockKnown || locked) {
		p.Locked, p.LockKnown = locked, true
	}
	if p.IdleKnown {
		return nil
	}
	idle, err := readProperty[bool](ctx, conn, loginName, path, loginSession, "IdleHint")
	if err != nil {
		return err
	}
	if !idle { // a desktop that reports nothing to logind cannot be distinguished from this state
		return errors.New("logind does not report the session as idle, but many desktops never report idle sessions to logind")
	}
	since, err := readProperty[uint64](ctx, conn, loginName, path, loginSession, "IdleSinceHint")
	if err != nil || since > math.MaxInt64 {
		return errors.Join(errors.New("logind does not report since when the session has been idle"), err)
	}
	p.Idle, p.IdleKnown, p.By = max(0, time.Since(time.UnixMicro(int64(since)))), true, "logind"
	return nil
}
