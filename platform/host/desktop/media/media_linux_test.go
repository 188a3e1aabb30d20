package media

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"

	"hob/platform/host/desktop/desktoptest"
	"hob/platform/host/desktop/session"
)

func TestMPRIS(t *testing.T) {
	bus := desktoptest.NewBus(t)
	d := New(Options{Getenv: bus.Getenv})
	if list, err := d.Players(t.Context()); len(list) != 0 || err != nil {
		t.Fatalf("without players: %v, %v", list, err)
	}
	desktoptest.NewPlayer(t, bus, "vlc", "VLC\u202emedia", "Paused", map[string]any{"xesam:url": "file:///music/a%20song.ogg", "mpris:length": "long"})
	spotify := desktoptest.NewPlayer(t, bus, "spotify.instance7", "Spotify", "Playing", map[string]any{
		"xesam:title": "Für Elise\n", "xesam:artist": []string{"Beethoven", "Lang Lang"}, "xesam:album": "Best", "mpris:length": uint64(180_000_000),
	})
	desktoptest.NewPlayer(t, bus, "playerctld", "twin", "Playing", nil)
	list, err := d.Players(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Player{
		{ID: "spotify.instance7", Name: "Spotify", State: Playing, Title: "Für Elise", Artist: "Beethoven, Lang Lang", Album: "Best", Length: 3 * time.Minute, Position: 62 * time.Second, Volume: 50},
		{ID: "vlc", Name: "VLCmedia", State: Paused, Title: "a%20song.ogg", Position: 62 * time.Second, Volume: 50},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	for _, a := range Actions() {
		if err := d.Do(t.Context(), Request{Player: "spotify.instance7", Action: a, By: -5 * time.Second, Level: 30}); err != nil {
			t.Errorf("%s: Do = %v, want nil", a, err)
		}
	}
	if got := strings.Join(spotify.Pressed(), " "); got != "Play Pause PlayPause Next Previous Stop Seek" {
		t.Errorf("pressed: %s", got)
	}
	if v := spotify.Volume(); v != 0.3 {
		t.Errorf("volume %v", v)
	}
}

// TestMPRISErrors checks that an error says whether the action may have been performed, and that no
// action is sent twice.
func TestMPRISErrors(t *testing.T) {
	bus := desktoptest.NewBus(t)
	d := New(Options{Getenv: bus.Getenv})
	p := desktoptest.NewPlayer(t, bus, "vlc", "VLC", "Playing", nil)
	for name, want := range map[string]error{
		"org.freedesktop.DBus.Error.UnknownMethod": ErrUnable, "org.freedesktop.DBus.Error.NoReply": ErrUnsure, "org.freedesktop.DBus.Error.ServiceUnknown": ErrGone,
	} {
		p.Refuse(name)
		before := len(p.Pressed())
		if err := d.Do(t.Context(), Request{Player: "vlc", Action: Next}); !errors.Is(err, want) || len(p.Pressed()) != before+1 {
			t.Errorf("%s: %v, pressed %v", name, err, p.Pressed())
		}
	}
	if err := d.Do(t.Context(), Request{Player: "gone", Action: Next}); !errors.Is(err, ErrGone) {
		t.Errorf("missing player: %v", err)
	}
	if err := d.Do(t.Context(), Request{Player: "vlc", Action: "explode"}); !errors.Is(err, ErrUnable) {
		t.Errorf("invalid action: %v", err)
	}
	none := New(Options{Getenv: func(string) string { return "" }})
	if _, err := none.Players(t.Context()); !errors.Is(err, session.ErrNone) {
		t.Errorf("without a session: %v", err)
	}
}

// TestMPRISSilent checks that a player that does not respond is reported as an error, and that the
// other players are still listed.
func TestMPRISSilent(t *testing.T) {
	bus := desktoptest.NewBus(t)
	d := New(Options{Getenv: bus.Getenv, Wait: 300 * time.Millisecond})
	conn := bus.Conn(t)
	release := make(chan struct{})
	defer close(release)
	failOnError(t, conn.ExportMethodTable(map[string]any{"GetAll": func(string) (map[string]dbus.Variant, *dbus.Error) { <-release; return nil, nil }}, mprisPath, "org.freedesktop.DBus.Properties"))
	_, err := conn.RequestName(mpris+"hung", 0)
	failOnError(t, err)
	if list, err := d.Players(t.Context()); len(list) != 0 || err == nil || !strings.Contains(err.Error(), "hung") {
		t.Errorf("Players = %v, %v", list, err)
	}
	desktoptest.NewPlayer(t, bus, "vlc", "VLC", "Playing", nil)
	if list, err := d.Players(t.Context()); len(list) != 1 || err == nil {
		t.Errorf("Players = %v, %v", list, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Players(ended); err == nil {
		t.Error("a canceled query returned no error")
	}
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
