package media

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/session"
)

// Names from the Media Player Remote Interfacing Specification 2.2
// (specifications.freedesktop.org/mpris-spec).
const (
	mpris       = "org.mpris.MediaPlayer2."
	mprisPath   = dbus.ObjectPath("/org/mpris/MediaPlayer2")
	mprisRoot   = "org.mpris.MediaPlayer2"
	mprisPlayer = "org.mpris.MediaPlayer2.Player"
	// mprisTwin is the bus name of playerctld, a helper that exposes the last used player a second
	// time.
	mprisTwin = mpris + "playerctld"
)

func newBackend(o Options) backend { return &mprisBackend{o} }

type mprisBackend struct{ opt Options }

// dialBus connects to the bus. It gives up when ctx ends.
func (b *mprisBackend) dialBus(ctx context.Context) (*dbus.Conn, error) {
	address, err := session.Bus(b.opt.Getenv)
	if err != nil {
		return nil, err
	}
	conn, err := session.Dial(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", session.ErrNone, err)
	}
	return conn, nil
}

func (b *mprisBackend) listPlayers(ctx context.Context) ([]Player, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*b.opt.Wait)
	defer cancel()
	conn, err := b.dialBus(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // closing loses no data
	names, err := listPlayerNames(ctx, conn)
	if err != nil {
		return nil, err
	}
	found, errs := make([]*Player, len(names)), make([]error, len(names))
	var work sync.WaitGroup
	for i, name := range names {
		work.Go(func() { found[i], errs[i] = b.readPlayer(ctx, conn, name) })
	}
	work.Wait()
	var out []Player
	for _, p := range found {
		if p != nil {
			out = append(out, *p)
		}
	}
	return out, errors.Join(errs...)
}

// listPlayerNames returns the names of the players on the bus.
func listPlayerNames(ctx context.Context, conn *dbus.Conn) ([]string, error) {
	var all, names []string
	if err := session.Call(ctx, conn, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.ListNames", nil, &all); err != nil {
		return nil, err
	}
	for _, n := range all {
		if strings.HasPrefix(n, mpris) && len(names) < maxPlayers {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	if len(names) > 1 {
		names = slices.DeleteFunc(names, func(n string) bool { return n == mprisTwin })
	}
	return names, nil
}

// readPlayer queries a player. It returns nil without an error if the player has exited.
func (b *mprisBackend) readPlayer(ctx context.Context, conn *dbus.Conn, name string) (*Player, error) {
	ctx, cancel := context.WithTimeout(ctx, b.opt.Wait)
	defer cancel()
	var props map[string]dbus.Variant
	err := callPlayer(ctx, conn, name, "org.freedesktop.DBus.Properties.GetAll", []any{mprisPlayer}, &props)
	switch {
	case errors.Is(err, ErrGone):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("player %s did not respond: %w", strings.TrimPrefix(name, mpris), err)
	}
	p := &Player{ID: strings.TrimPrefix(name, mpris), State: stateOf(variantText(props["PlaybackStatus"])), Position: variantMicros(props["Position"]), Volume: -1}
	if v, ok := variantNumber(props["Volume"]); ok {
		p.Volume = int(v*100 + 0.5)
	}
	if meta, ok := props["Metadata"].Value().(map[string]dbus.Variant); ok {
		p.Title, p.Artist, p.Album, p.Length = variantText(meta["xesam:title"]), variantText(meta["xesam:artist"]), variantText(meta["xesam:album"]), variantMicros(meta["mpris:length"])
		if p.Title == "" { // title of a file without metadata
			p.Title = lastPart(variantText(meta["xesam:url"]))
		}
	}
	if v, err := session.Property[string](ctx, conn, name, mprisPath, mprisRoot, "Identity"); err == nil {
		p.Name = v
	}
	return p, nil
}

// lastPart returns the file name of an address.
func lastPart(address string) string {
	return address[strings.LastIndexByte(address, '/')+1:]
}

// variantText returns the text of a value that players send as a string or as a list.
func variantText(v dbus.Variant) string {
	switch v := v.Value().(type) {
	case string:
		return v
	case []string:
		return strings.Join(v[:min(8, len(v))], ", ")
	case []any:
		var parts []string
		for _, x := range v[:min(8, len(v))] {
			if s, ok := x.(string); ok {
				parts = append(parts, s)
			}
		}
		return strings.Join(parts, ", ")
	}
	return ""
}

// variantNumber converts a number of any type.
func variantNumber(v dbus.Variant) (float64, bool) {
	switch v := v.Value().(type) {
	case float64:
		return v, v == v
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case int32:
		return float64(v), true
	case uint32:
		return float64(v), true
	}
	return 0, false
}

// variantMicros converts a time in microseconds.
func variantMicros(v dbus.Variant) time.Duration {
	n, ok := variantNumber(v)
	if !ok || n < 0 || n > 1e12 {
		return 0
	}
	return time.Duration(n) * time.Microsecond
}

// actionMethods maps the actions without arguments to their methods.
var actionMethods = map[Action]string{Play: "Play", Pause: "Pause", Toggle: "PlayPause", Next: "Next", Previous: "Previous", Stop: "Stop"}

func (b *mprisBackend) sendRequest(ctx context.Context, r Request) error {
	ctx, cancel := context.WithTimeout(ctx, 2*b.opt.Wait)
	defer cancel()
	conn, err := b.dialBus(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // closing loses no data
	name := mpris + r.Player
	names, err := listPlayerNames(ctx, conn)
	if err != nil {
		return err
	}
	if !slices.Contains(names, name) { // do not start a player
		return ErrGone
	}
	switch r.Action {
	case Seek:
		return callPlayer(ctx, conn, name, mprisPlayer+".Seek", []any{r.By.Microseconds()})
	case Volume:
		return callPlayer(ctx, conn, name, "org.freedesktop.DBus.Properties.Set", []any{mprisPlayer, "Volume", dbus.MakeVariant(float64(r.Level) / 100)})
	}
	return callPlayer(ctx, conn, name, mprisPlayer+"."+actionMethods[r.Action], nil)
}

// callPlayer calls a method of a player and does not start it.
func callPlayer(ctx context.Context, conn *dbus.Conn, name, method string, args []any, out ...any) error {
	err := conn.Object(name, mprisPath).CallWithContext(ctx, method, dbus.FlagNoAutoStart, args...).Store(out...)
	switch {
	case err == nil:
		return nil
	case session.IsDBusError(err, "ServiceUnknown", "NameHasNoOwner"):
		return fmt.Errorf("%w: %w", ErrGone, err)
	case session.IsDBusError(err, "UnknownMethod", "UnknownInterface", "UnknownProperty", "UnknownObject", "NotSupported", "PropertyReadOnly", "InvalidArgs"):
		return fmt.Errorf("%w: %w", ErrUnable, err)
	case ctx.Err() != nil, session.IsDBusError(err, "NoReply", "Disconnected", "Timeout"), errors.Is(err, dbus.ErrClosed):
		return fmt.Errorf("%w: %w", ErrUnsure, err)
	}
	return err
}
