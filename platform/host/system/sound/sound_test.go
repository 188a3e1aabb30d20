package sound

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
)

func TestReadingPrograms(t *testing.T) {
	for name, tc := range map[string]struct {
		read func(string) (Level, error)
		in   string
		want Level
		bad  bool
	}{
		"wpctl":                 {readWpctl, "Volume: 0.40\n", Level{40, false}, false},
		"wpctl, muted":          {readWpctl, "Volume: 0.405 [MUTED]\n", Level{41, true}, false},
		"wpctl, amplified":      {readWpctl, "Volume: 1.20\n", Level{120, false}, false},
		"wpctl, nothing":        {readWpctl, "", Level{}, true},
		"wpctl, no number":      {readWpctl, "Volume: NaN\n", Level{}, true},
		"wpctl, something else": {readWpctl, "Error: no such node", Level{}, true},
		"pactl":                 {readPulse, "Volume: front-left: 26214 /  40% / -23.88 dB,   front-right: 29491 /  45% / -20.81 dB\n        balance 0.10", Level{45, false}, false},
		"amixer":                {readPulse, "  Mono: Playback 64 [74%] [-16.50dB] [on]", Level{74, false}, false},
		"absurd":                {readPulse, "9999%", Level{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.read(tc.in)
			if got != tc.want || (err != nil) != tc.bad {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func readPulse(out string) (Level, error) { return readPercent("pactl", out) }

// TestPrograms checks the commands that each program gets, in order.
func TestPrograms(t *testing.T) {
	for program, tc := range map[string]struct{ says, want string }{
		"wpctl":  {"Volume: 0.30", "wpctl get-volume @DEFAULT_AUDIO_SINK@; wpctl set-volume @DEFAULT_AUDIO_SINK@ 30%; wpctl set-mute @DEFAULT_AUDIO_SINK@ 1"},
		"pactl":  {"30%", "pactl get-sink-volume @DEFAULT_SINK@; pactl set-sink-volume @DEFAULT_SINK@ 30%; pactl set-sink-mute @DEFAULT_SINK@ 1"},
		"amixer": {"[30%] [on]", "amixer -M get Master; amixer -M -q set Master 30%; amixer -q set Master mute"},
	} {
		t.Run(program, func(t *testing.T) {
			dir := t.TempDir()
			failOnError(t, os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"), 0o700)) //nolint:gosec // it must be executable
			var ran []string
			p := osrun.Programs{
				Getenv: func(k string) string { return map[string]string{"PATH": dir, "OPENAI_API_KEY": "secret"}[k] },
				Output: func(_ context.Context, cmd *exec.Cmd, _ []byte) ([]byte, error) {
					if strings.Contains(strings.Join(cmd.Env, " "), "secret") {
						t.Error("the environment contains a key")
					}
					line := program + " " + strings.Join(cmd.Args[1:], " ")
					if len(ran) == 0 || !strings.Contains(strings.Join(ran, "; "), line) && !strings.Contains(line, "get-sink-mute") {
						ran = append(ran, line)
					}
					return []byte(tc.says), nil
				},
			}
			m := &Mixer{newFirst(p), 1e9}
			if l, err := m.Set(t.Context(), 30); err != nil || l.Percent != 30 {
				t.Errorf("Set = %+v, %v", l, err)
			}
			_, err := m.Mute(t.Context(), true)
			failOnError(t, err)
			if got := strings.Join(ran, "; "); got != tc.want {
				t.Errorf("ran %s", got)
			}
		})
	}
	none := New(Options{Getenv: func(string) string { return t.TempDir() }})
	if _, err := none.Level(t.Context()); !errors.Is(err, osrun.ErrNoProgram) && newBackend(Options{}) == nil {
		t.Errorf("Level without programs = %v", err)
	}
	if _, err := none.Set(t.Context(), 256); err == nil {
		t.Error("256 % was accepted")
	}
}

func TestMac(t *testing.T) {
	world := func(v any) map[string]any {
		return map[string]any{"sound": map[string]any{"outputVolume": v, "outputMuted": false}}
	}
	mc := osruntest.NewMac(t, world(40))
	m := &Mixer{macBackend{mc}, 1e10}
	if l, err := m.Level(t.Context()); err != nil || l != (Level{40, false}) {
		t.Errorf("Level = %+v, %v", l, err)
	}
	if l, err := m.Set(t.Context(), 30); err != nil || l != (Level{30, false}) {
		t.Errorf("Set = %+v, %v", l, err)
	}
	if l, err := m.Mute(t.Context(), true); err != nil || l != (Level{30, true}) {
		t.Errorf("Mute = %+v, %v", l, err)
	}
	mc.Fail("setVolume", -1712)
	if _, err := m.Set(t.Context(), 10); !osrun.IsUncertain(err) {
		t.Errorf("Set without an answer = %v", err)
	}
	hdmi := &Mixer{macBackend{osruntest.NewMac(t, world(nil))}, 1e10}
	if _, err := hdmi.Level(t.Context()); !errors.Is(err, ErrFixed) {
		t.Errorf("HDMI: %v", err)
	}
	osruntest.Check(t, volumeScript())
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
