package media

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
)

// macPlayers returns an osruntest.Mac with the players Music and Spotify, whose names
// are from the dictionaries of these apps.
func macPlayers(music, spotify string) map[string]any {
	dict := map[string]any{
		"Application": map[string]any{
			"properties": []string{"playerState", "playerPosition", "soundVolume"}, "elements": map[string]any{}, "objects": map[string]any{"currentTrack": "Track"},
			"sets": map[string]any{
				"play": map[string]any{"playerState": "playing"}, "pause": map[string]any{"playerState": "paused"}, "stop": map[string]any{"playerState": "stopped"},
				"playpause": map[string]any{"playerState": "toggled"}, "nextTrack": map[string]any{"was": "next"}, "previousTrack": map[string]any{"was": "previous"},
			},
		},
		"Track": map[string]any{"properties": []string{"name", "artist", "album", "duration"}, "elements": map[string]any{}},
	}
	app := func(state string, length float64) map[string]any {
		root := map[string]any{"playerState": state, "playerPosition": 61.5, "soundVolume": 40}
		if state != "stopped" {
			root["currentTrack"] = map[string]any{"__class": "Track", "name": "Für Elise", "artist": "Beethoven", "album": nil, "duration": length}
		}
		return map[string]any{"running": state != "", "dict": dict, "root": root}
	}
	apps := map[string]any{}
	if music != "absent" {
		apps["com.apple.Music"] = app(music, 180)
	}
	if spotify != "absent" {
		apps["com.spotify.client"] = app(spotify, 180_000)
	}
	return map[string]any{"apps": apps}
}

func TestMac(t *testing.T) {
	track := Player{State: Playing, Title: "Für Elise", Artist: "Beethoven", Length: 3 * time.Minute, Position: 61500 * time.Millisecond, Volume: 40}
	music, spotify := track, track
	music.ID, music.Name, spotify.ID, spotify.Name = "com.apple.Music", "Music", "com.spotify.client", "Spotify"
	stopped := Player{ID: "com.apple.Music", Name: "Music", State: Stopped, Position: 61500 * time.Millisecond, Volume: 40}
	for name, tc := range map[string]struct {
		music, spotify string
		fail           int
		want           []Player
		kind           osrun.Kind
	}{
		"both play":               {music: "playing", spotify: "playing", want: []Player{music, spotify}},
		"one is not installed":    {music: "playing", spotify: "absent", want: []Player{music}},
		"neither runs":            {music: "", spotify: ""},
		"neither is installed":    {music: "absent", spotify: "absent"},
		"stopped, without a song": {music: "stopped", spotify: "absent", want: []Player{stopped}},
		"not allowed":             {music: "playing", spotify: "absent", fail: -1743, kind: osrun.Denied},
		"no answer":               {music: "playing", spotify: "absent", fail: -1712, kind: osrun.Timeout},
		"the player ended first":  {music: "playing", spotify: "absent", fail: -609},
	} {
		t.Run(name, func(t *testing.T) {
			m := osruntest.NewMac(t, macPlayers(tc.music, tc.spotify))
			if tc.fail != 0 {
				m.Fail("get app.playerState", tc.fail)
			}
			d := PlayerControl{macBackend{m}}
			got, err := d.Players(t.Context())
			if tc.kind != "" {
				joined, _ := err.(interface{ Unwrap() []error })
				if joined == nil || osrun.KindOf(joined.Unwrap()[0]) != tc.kind || strings.Contains(err.Error(), "Fehler") {
					t.Errorf("error %v", err)
				}
			} else if err != nil {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if len(m.Opened()) > 0 {
				t.Errorf("opened %v", m.Opened())
			}
			if e := m.Events(); len(e) > 14 {
				t.Errorf("%d Apple events", len(e))
			}
		})
	}
}

func TestMacButtons(t *testing.T) {
	for _, tc := range []struct {
		action     Action
		see, state string
	}{
		{Play, "playerState", `"playing"`},
		{Pause, "playerState", `"paused"`},
		{Toggle, "playerState", `"toggled"`},
		{Next, "was", `"next"`},
		{Previous, "was", `"previous"`},
		{Stop, "playerState", `"stopped"`},
		{Seek, "playerPosition", "0"},
		{Volume, "soundVolume", "30"},
	} {
		m := osruntest.NewMac(t, macPlayers("playing", "absent"))
		d := PlayerControl{macBackend{m}}
		if err := d.Do(t.Context(), Request{Player: "com.apple.Music", Action: tc.action, By: -90 * time.Second, Level: 30}); err != nil {
			t.Errorf("%s: Do = %v, want nil", tc.action, err)
		}
		if got := m.EvalWorld(`world.apps["com.apple.Music"].root.` + tc.see); got != tc.state {
			t.Errorf("%s: %s is %s", tc.action, tc.see, got)
		}
	}
	m := osruntest.NewMac(t, macPlayers("playing", "playing"))
	d := PlayerControl{macBackend{m}}
	if err := d.Do(t.Context(), Request{Player: "com.spotify.client", Action: Stop}); !errors.Is(err, ErrUnable) {
		t.Errorf("Do(Stop) with Spotify = %v", err)
	}
	m.Fail("nextTrack", -1712)
	if err := d.Do(t.Context(), Request{Player: "com.apple.Music", Action: Next}); !errors.Is(err, ErrUnsure) {
		t.Errorf("Do without an answer = %v", err)
	}
	if n := strings.Count(strings.Join(m.Events(), "\n"), "nextTrack"); n != 1 {
		t.Errorf("pressed %d times", n)
	}
	if err := d.Do(t.Context(), Request{Player: "com.example.other", Action: Next}); !errors.Is(err, ErrGone) {
		t.Errorf("Do with another app = %v", err)
	}
}

// TestWindows checks the input and output of smtc.ps1.
func TestWindows(t *testing.T) {
	var asked []string
	answer := `{"ok":true,"data":{"players":[{"id":"Spotify.exe","name":"Spotify.exe","state":"playing","title":"F\u00fcr Elise","artist":"Beethoven","album":"","length":180,"position":62.5,"volume":null}]}}`
	w := windowsBackend{osrun.NewScripts(osrun.Options{Output: func(_ context.Context, _ *exec.Cmd, in []byte) ([]byte, error) {
		asked = append(asked, string(in))
		return []byte("a profile says hello\r\n--hob--\r\n" + answer), nil
	}})}
	d := PlayerControl{w}
	list, err := d.Players(t.Context())
	fatalPlain(t, err)
	want := []Player{{ID: "Spotify.exe", Name: "Spotify.exe", State: Playing, Title: "Für Elise", Artist: "Beethoven", Length: 3 * time.Minute, Position: 62500 * time.Millisecond, Volume: -1}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	answer = `{"ok":true,"data":{"taken":true}}`
	fatalPlain(t, d.Do(t.Context(), Request{Player: `Grüße" ; rm`, Action: Seek, By: -5 * time.Second}))
	answer = `{"ok":false,"kind":"unsupported","message":"the player does not do that now"}`
	if err := d.Do(t.Context(), Request{Player: "x", Action: Next}); !errors.Is(err, ErrUnable) {
		t.Errorf("error %v", err)
	}
	answer = `{"ok":false,"number":-2146233083,"message":"the player did not answer","began":true}`
	if err := d.Do(t.Context(), Request{Player: "x", Action: Next}); !errors.Is(err, ErrUnsure) {
		t.Errorf("error %v", err)
	}
	if err := d.Do(t.Context(), Request{Player: "x", Action: Volume}); !errors.Is(err, ErrUnable) {
		t.Errorf("error %v", err)
	}
	golden := []string{`{"level":0}`, `{"id":"Gr\u00fc\u00dfe\" ; rm","action":"seek","by":-5,"level":0}`, `{"id":"x","action":"next","level":0}`, `{"id":"x","action":"next","level":0}`}
	if diff := cmp.Diff(golden, asked); diff != "" {
		t.Error(diff)
	}
	for _, line := range asked {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func TestScripts(t *testing.T) { osruntest.Check(t, musicScript(), smtcScript()) }

func fatalPlain(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
