package all

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	notes "hob/platform/host/desktop"
	"hob/platform/host/desktop/media"
	"hob/platform/host/system/power"
	"hob/platform/host/system/sound"
	"hob/tools"
	"hob/tools/desktop"
	mediatools "hob/tools/media"
	"hob/tools/toolstest"
)

// machine is a fake for players and sound. Its state is in files, so that the suite can compare it.
type machine struct{ dir string }

func (m machine) readNumber(ctx context.Context, name string) (int, error) {
	b, err := os.ReadFile(filepath.Join(m.dir, name))
	n, bad := strconv.Atoi(string(b))
	return n, errors.Join(err, bad, ctx.Err())
}

func (m machine) writeNumber(ctx context.Context, name string, n int) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return os.WriteFile(filepath.Join(m.dir, name), []byte(strconv.Itoa(n)), 0o600)
}

func (m machine) Players(ctx context.Context) ([]media.Player, error) {
	n, err := m.readNumber(ctx, "player")
	if err != nil {
		return nil, err
	}
	state := []media.State{media.Stopped, media.Paused, media.Playing}[n%10]
	return []media.Player{{ID: "vlc", Name: "VLC", State: state, Title: "Für Elise " + strconv.Itoa(n/10), Artist: "Beethoven", Volume: 50}}, nil
}

func (m machine) Do(ctx context.Context, r media.Request) error {
	n, err := m.readNumber(ctx, "player")
	if err != nil {
		return err
	}
	switch r.Action {
	case media.Play:
		n = n/10*10 + 2
	case media.Pause:
		n = n/10*10 + 1
	case media.Next:
		n += 10
	}
	return m.writeNumber(ctx, "player", n)
}

func (m machine) Level(ctx context.Context) (sound.Level, error) {
	n, err := m.readNumber(ctx, "volume")
	muted, err2 := m.readNumber(ctx, "muted")
	return sound.Level{Percent: n, Muted: muted == 1}, errors.Join(err, err2)
}

func (m machine) Set(ctx context.Context, percent int) (sound.Level, error) {
	if err := m.writeNumber(ctx, "volume", percent); err != nil {
		return sound.Level{}, err
	}
	return m.Level(ctx)
}

func (m machine) Mute(ctx context.Context, on bool) (sound.Level, error) {
	n := 0
	if on {
		n = 1
	}
	if err := m.writeNumber(ctx, "muted", n); err != nil {
		return sound.Level{}, err
	}
	return m.Level(ctx)
}

func (m machine) Read(ctx context.Context, _ []byte) (string, error) { return "Invoice 99", ctx.Err() }

func (m machine) Notify(ctx context.Context, n notes.Notification) error {
	if !strings.HasPrefix(n.Title, "Hob") {
		return errors.New("nobody knows whose note it is")
	}
	return ctx.Err()
}

func (m machine) Reveal(ctx context.Context, _ string) error { return ctx.Err() }

type macShortcuts struct{}

func (macShortcuts) List(ctx context.Context) ([]string, error) {
	return []string{"Morning"}, ctx.Err()
}

func (macShortcuts) Start(ctx context.Context, _, input string) (string, error) {
	return input, ctx.Err()
}

func (m machine) Say(ctx context.Context, _, _ string) error { return ctx.Err() }

func (m machine) Brightness(ctx context.Context) (int, error) { return m.readNumber(ctx, "bright") }

func (m machine) SetBrightness(ctx context.Context, percent int) (int, error) {
	return percent, m.writeNumber(ctx, "bright", percent)
}

func (m machine) Dark(ctx context.Context) (bool, error) {
	n, err := m.readNumber(ctx, "dark")
	return n == 1, err
}

func (m machine) SetDark(ctx context.Context, on bool) (bool, error) {
	n := 0
	if on {
		n = 1
	}
	return on, m.writeNumber(ctx, "dark", n)
}

func machineDeps(t *testing.T, dir string, screen *desktop.Deps) mediatools.Deps {
	t.Helper()
	m := machine{dir}
	for name, n := range map[string]int{"player": 2, "volume": 40, "muted": 0, "bright": 70, "dark": 0} {
		if err := m.writeNumber(context.WithoutCancel(t.Context()), name, n); err != nil {
			t.Fatal(err)
		}
	}
	screen.Battery = func(ctx context.Context) (power.Battery, error) {
		return power.Battery{Present: true, Percent: 80, State: power.Discharging, Left: 5400e9}, ctx.Err()
	}
	screen.Display = m
	screen.Focus = func(ctx context.Context) (notes.Focus, string, error) { return notes.FocusOn, "dunst", ctx.Err() }
	screen.Notes, screen.FileManager, screen.Shortcuts = m, m, macShortcuts{}
	screen.Reach = func(path string) (string, error) {
		if path != "a.txt" {
			return "", tools.Errorf(tools.NotFound, "there is no %s", path)
		}
		return "/home/me/a.txt", nil
	}
	picture := func(ctx context.Context, _ string) ([]byte, error) { return nil, ctx.Err() }
	return mediatools.Deps{Player: m, Mixer: m, Voice: m, Reader: m, Picture: picture}
}

func mediaCases() []toolstest.Case {
	return []toolstest.Case{
		{Step: newStep("get_current_track", `{}`), Want: "Playing: Für Elise 0 by Beethoven (VLC)", Outside: true},
		{Step: newStep("get_current_track", `{}`), Before: []toolstest.Step{newStep("music_control", `{"action":"pause"}`)}, Want: "Nothing is playing. Paused:\n- Für Elise 0", Outside: true},
		{Step: newStep("music_control", `{"action":"pause"}`), Want: "Paused.", Undone: "Restored the state"},
		{Step: newStep("music_control", `{"action":"next","player":"vlc"}`), Want: "Skipped to the next track."},
		{Step: newStep("music_control", `{"action":"resume"}`), Want: "It is playing."},
		{Step: newStep("get_focus", `{}`), Want: "Do-not-disturb is on (dunst)."},
		{Step: newStep("send_notification", `{"title":"Tea","message":"It has drawn."}`), Want: "Showed the notification."},
		{Step: newStep("reveal_file", `{"path":"a.txt"}`), Want: "Showed the item in the file manager."},
		{Step: newStep("list_shortcuts", `{}`), Want: "- Morning", Outside: true},
		{Step: newStep("run_shortcut", `{"name":"Morning","input":"to Ada"}`), Want: "Its output:\nto Ada", Outside: true},
		{Step: newStep("run_shortcut", `{"name":"Morning"}`), Want: "no output"},
		{Step: newStep("read_image_text", `{"path":"a.png"}`), Want: "Invoice 99", Outside: true},
		{Step: newStep("speak", `{"text":"Dinner is ready"}`), Want: "Read the text aloud."},
		{Step: newStep("get_volume", `{}`), Want: "The volume is 40%."},
		{Step: newStep("set_volume", `{"level":30}`), Want: "The volume is 30%.", Undone: "Restored: the volume is 40%."},
		{Step: newStep("set_volume", `{"by":-15}`), Want: "The volume is 25%.", Undone: "the volume is 40%"},
		{Step: newStep("set_volume", `{"mute":true}`), Want: "The sound is muted (its volume is 40%).", Undone: "Restored"},
		{Step: newStep("get_battery_status", `{}`), Want: "The battery is at 80%, discharging, about 1 h 30 min left."},
		{Step: newStep("get_display", `{}`), Want: "The screen's brightness is 70%.\nThe desktop uses light mode."},
		{Step: newStep("set_brightness", `{"level":20}`), Want: "The screen's brightness is 20%.", Undone: "Restored the previous setting"},
		{Step: newStep("toggle_dark_mode", `{}`), Want: "The desktop uses dark mode.", Undone: "Restored the previous setting"},
		{Step: newStep("toggle_dark_mode", `{"enabled":false}`), Want: "The desktop uses light mode."},
	}
}
