//go:build linux

package desktoptest

import (
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

// Player is a media player on a bus, implemented from the Media Player Remote Interfacing
// Specification 2.2.
type Player struct {
	props *prop.Properties
	conn  *dbus.Conn

	mu      sync.Mutex
	pressed []string
	refuses string
}

const (
	playerPath = dbus.ObjectPath("/org/mpris/MediaPlayer2")
	playerFace = "org.mpris.MediaPlayer2.Player"
)

// NewPlayer claims a name below org.mpris.MediaPlayer2 on the bus.
func NewPlayer(t testing.TB, b *Bus, name, identity, state string, meta map[string]any) *Player {
	t.Helper()
	p := &Player{conn: b.Conn(t)}
	told := map[string]dbus.Variant{}
	for k, v := range meta {
		told[k] = dbus.MakeVariant(v)
	}
	var err error
	p.props, err = prop.Export(p.conn, playerPath, prop.Map{
		"org.mpris.MediaPlayer2": {"Identity": {Value: identity}},
		playerFace: {
			"PlaybackStatus": {Value: state}, "Metadata": {Value: told}, "Position": {Value: int64(62_000_000)}, "CanControl": {Value: true},
			"Volume": {Value: 0.5, Writable: true},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.conn.ExportWithMap(playerMethods{p}, map[string]string{"SeekBy": "Seek"}, playerPath, playerFace); err != nil {
		t.Fatal(err)
	}
	reply, err := p.conn.RequestName("org.mpris.MediaPlayer2."+name, dbus.NameFlagDoNotQueue)
	if err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("claim the bus name of a player: %v %v", reply, err)
	}
	return p
}

// Stop disconnects from the bus.
func (p *Player) Stop() { _ = p.conn.Close() }

// Refuse makes all actions fail with a D-Bus error.
func (p *Player) Refuse(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = name
}

// Pressed returns the methods that were called.
func (p *Player) Pressed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.pressed...)
}

// Volume returns the player's volume.
func (p *Player) Volume() float64 {
	v, err := p.props.Get(playerFace, "Volume")
	if err != nil {
		return -1
	}
	f, _ := v.Value().(float64)
	return f
}

func (p *Player) recordPress(method, state, title string) *dbus.Error {
	p.mu.Lock()
	p.pressed = append(p.pressed, method)
	refuses := p.refuses
	p.mu.Unlock()
	if refuses != "" {
		return dbus.NewError(refuses, []any{"no"})
	}
	if state != "" {
		p.props.SetMust(playerFace, "PlaybackStatus", state)
	}
	if title != "" {
		p.props.SetMust(playerFace, "Metadata", map[string]dbus.Variant{"xesam:title": dbus.MakeVariant(title)})
	}
	return nil
}

// playerMethods contains the methods of the specification.
type playerMethods struct{ p *Player }

// Play implements MPRIS, like the methods below.
func (v playerMethods) Play() *dbus.Error  { return v.p.recordPress("Play", "Playing", "") }
func (v playerMethods) Pause() *dbus.Error { return v.p.recordPress("Pause", "Paused", "") }
func (v playerMethods) Stop() *dbus.Error  { return v.p.recordPress("Stop", "Stopped", "") }
func (v playerMethods) Next() *dbus.Error  { return v.p.recordPress("Next", "", "The next one") }
func (v playerMethods) Previous() *dbus.Error {
	return v.p.recordPress("Previous", "", "The one before")
}

// PlayPause toggles between playing and paused.
func (v playerMethods) PlayPause() *dbus.Error {
	state := "Playing"
	if v.p.props.GetMust(playerFace, "PlaybackStatus") == "Playing" {
		state = "Paused"
	}
	return v.p.recordPress("PlayPause", state, "")
}

// SeekBy seeks by a number of microseconds. It is exported as Seek, a name that go vet reserves for
// io.Seeker.
func (v playerMethods) SeekBy(by int64) *dbus.Error {
	at, _ := v.p.props.GetMust(playerFace, "Position").(int64)
	v.p.props.SetMust(playerFace, "Position", at+by)
	return v.p.recordPress("Seek", "", "")
}
