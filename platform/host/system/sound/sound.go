// Package sound reads and changes the volume of this machine's default output. On Linux it uses the
// command-line programs of PipeWire, PulseAudio or ALSA, on macOS Standard Additions, and on
// Windows IAudioEndpointVolume.
package sound

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/text/lazyregexp"
)

// Level is the volume of an output.
type Level struct {
	Percent int  `json:"percent"` // 0 to 100; more if the system amplifies
	Muted   bool `json:"muted"`
}

// ErrFixed means that the output has no adjustable volume, for example over HDMI.
var ErrFixed = errors.New("the output device controls its own volume; set it on the device")

// Options of a Mixer; the zero value is useful.
type Options struct {
	// Getenv is os.Getenv unless a test replaces it.
	Getenv func(string) string
	// Scripts runs osascript; nil creates a runner.
	Scripts osrun.Runner
	// Wait is the timeout of each program (default 5 s).
	Wait time.Duration
}

// Mixer is the default output of this machine. It is stateless.
type Mixer struct {
	back backend
	wait time.Duration
}

type backend interface {
	readLevel(ctx context.Context) (Level, error)
	setPercent(ctx context.Context, percent int) error
	setMuted(ctx context.Context, on bool) error
}

// New returns a Mixer. It starts no program.
func New(o Options) *Mixer {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Wait <= 0 {
		o.Wait = 5 * time.Second
	}
	if o.Scripts == nil {
		o.Scripts = osrun.NewScripts(osrun.Options{Getenv: o.Getenv})
	}
	return &Mixer{newBackend(o), o.Wait}
}

// Level returns the current volume.
func (m *Mixer) Level(ctx context.Context) (Level, error) {
	ctx, cancel := context.WithTimeout(ctx, m.wait)
	defer cancel()
	return m.back.readLevel(ctx)
}

// Set sets the volume in percent, 0 to 100, and returns the resulting volume.
func (m *Mixer) Set(ctx context.Context, percent int) (Level, error) {
	if percent < 0 || percent > 100 {
		return Level{}, fmt.Errorf("invalid volume %d; use 0 to 100", percent)
	}
	return m.changeLevel(ctx, func(ctx context.Context) error { return m.back.setPercent(ctx, percent) })
}

// Mute mutes or unmutes the output.
func (m *Mixer) Mute(ctx context.Context, on bool) (Level, error) {
	return m.changeLevel(ctx, func(ctx context.Context) error { return m.back.setMuted(ctx, on) })
}

// changeLevel changes the volume once and reads it back.
func (m *Mixer) changeLevel(ctx context.Context, do func(context.Context) error) (Level, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*m.wait)
	defer cancel()
	if err := do(ctx); err != nil {
		return Level{}, err
	}
	return m.back.readLevel(ctx)
}

// wpctl uses PipeWire's program (WirePlumber, man wpctl).
type wpctl struct{ run osrun.Programs }

const wpSink = "@DEFAULT_AUDIO_SINK@"

func (w wpctl) readLevel(ctx context.Context) (Level, error) {
	out, err := w.run.Run(ctx, nil, "wpctl", "get-volume", wpSink)
	if err != nil {
		return Level{}, err
	}
	return readWpctl(string(out))
}

// readWpctl parses "Volume: 0.40 [MUTED]".
func readWpctl(out string) (Level, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(out), "Volume:")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return Level{}, fmt.Errorf("no volume in output of wpctl: %.80q", out)
	}
	v, err := strconv.ParseFloat(fields[0], 64)
	if err != nil || v < 0 || v > 100 || v != v {
		return Level{}, fmt.Errorf("no volume in output of wpctl: %.80q", out)
	}
	return Level{Percent: int(math.Round(v * 100)), Muted: strings.Contains(rest, "[MUTED]")}, nil
}

func (w wpctl) setPercent(ctx context.Context, percent int) error {
	_, err := w.run.Run(ctx, nil, "wpctl", "set-volume", wpSink, fmt.Sprintf("%d%%", percent))
	return err
}

func (w wpctl) setMuted(ctx context.Context, on bool) error {
	_, err := w.run.Run(ctx, nil, "wpctl", "set-mute", wpSink, muteDigit(on))
	return err
}

func muteDigit(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// pactl uses PulseAudio's program (man pactl).
type pactl struct{ run osrun.Programs }

const paSink = "@DEFAULT_SINK@"

var percentPattern = lazyregexp.New(`(\d{1,4})%`)

func (p pactl) readLevel(ctx context.Context) (Level, error) {
	out, err := p.run.Run(ctx, nil, "pactl", "get-sink-volume", paSink)
	if err != nil {
		return Level{}, err
	}
	muted, err := p.run.Run(ctx, nil, "pactl", "get-sink-mute", paSink)
	if err != nil {
		return Level{}, err
	}
	l, err := readPercent("pactl", string(out))
	l.Muted = strings.Contains(string(muted), "yes")
	return l, err
}

// readPercent returns the loudest channel in a program's output.
func readPercent(program, out string) (Level, error) {
	l := Level{Percent: -1}
	for _, m := range percentPattern.FindAllStringSubmatch(out, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil && n <= 1000 {
			l.Percent = max(l.Percent, n)
		}
	}
	if l.Percent < 0 {
		return Level{}, fmt.Errorf("no volume in output of %s: %.80q", program, out)
	}
	return l, nil
}

func (p pactl) setPercent(ctx context.Context, percent int) error {
	_, err := p.run.Run(ctx, nil, "pactl", "set-sink-volume", paSink, fmt.Sprintf("%d%%", percent))
	return err
}

func (p pactl) setMuted(ctx context.Context, on bool) error {
	_, err := p.run.Run(ctx, nil, "pactl", "set-sink-mute", paSink, muteDigit(on))
	return err
}

// amixer uses ALSA's program (man amixer), for machines without a sound server.
type amixer struct{ run osrun.Programs }

func (a amixer) readLevel(ctx context.Context) (Level, error) {
	out, err := a.run.Run(ctx, nil, "amixer", "-M", "get", "Master")
	if err != nil {
		return Level{}, err
	}
	l, err := readPercent("amixer", string(out))
	l.Muted = strings.Contains(string(out), "[off]") && !strings.Contains(string(out), "[on]")
	return l, err
}

func (a amixer) setPercent(ctx context.Context, percent int) error {
	_, err := a.run.Run(ctx, nil, "amixer", "-M", "-q", "set", "Master", fmt.Sprintf("%d%%", percent))
	return err
}

func (a amixer) setMuted(ctx context.Context, on bool) error {
	word := "unmute"
	if on {
		word = "mute"
	}
	_, err := a.run.Run(ctx, nil, "amixer", "-q", "set", "Master", word)
	return err
}

// firstBackend tries the installed programs one after another, because a program fails if its sound
// server is not running.
type firstBackend struct {
	run osrun.Programs
	all []namedBackend
}

type namedBackend struct {
	program string
	backend
}

func newFirst(p osrun.Programs) firstBackend {
	return firstBackend{p, []namedBackend{{"wpctl", wpctl{p}}, {"pactl", pactl{p}}, {"amixer", amixer{p}}}}
}

// findBackend returns the first backend that responds, and its volume.
func (f firstBackend) findBackend(ctx context.Context) (backend, Level, error) {
	errs := []error{}
	for _, b := range f.all {
		if f.run.Find(b.program) == "" {
			continue
		}
		l, err := b.readLevel(ctx)
		if err == nil {
			return b.backend, l, nil
		}
		if errs = append(errs, err); ctx.Err() != nil {
			break
		}
	}
	if len(errs) == 0 {
		return nil, Level{}, fmt.Errorf("read the volume: %w; install wireplumber, pulseaudio-utils or alsa-utils", osrun.ErrNoProgram)
	}
	return nil, Level{}, fmt.Errorf("read the volume: no sound server responds: %w", errors.Join(errs...))
}

func (f firstBackend) readLevel(ctx context.Context) (Level, error) {
	_, l, err := f.findBackend(ctx)
	return l, err
}

func (f firstBackend) setPercent(ctx context.Context, percent int) error {
	b, _, err := f.findBackend(ctx)
	if err != nil {
		return err
	}
	return b.setPercent(ctx, percent)
}

func (f firstBackend) setMuted(ctx context.Context, on bool) error {
	b, _, err := f.findBackend(ctx)
	if err != nil {
		return err
	}
	return b.setMuted(ctx, on)
}

//go:embed volume.js
var volumeText string

func volumeScript() osrun.Script { return osrun.NewScript("system/sound/volume.js", volumeText) }

// macBackend uses the output of macOS.
type macBackend struct{ scripts osrun.Runner }

type volumeRequest struct {
	Percent *int  `json:"percent,omitempty"`
	Mute    *bool `json:"mute,omitempty"`
}

func (m macBackend) runVolumeScript(ctx context.Context, r volumeRequest) (Level, error) {
	var a struct {
		Percent *float64 `json:"percent"`
		Muted   bool     `json:"muted"`
	}
	err := m.scripts.Run(ctx, osrun.Call{Script: volumeScript(), In: r, Write: r != volumeRequest{}}, &a)
	switch {
	case err != nil:
		return Level{}, err
	case a.Percent == nil:
		return Level{}, ErrFixed
	}
	return Level{Percent: int(math.Round(*a.Percent)), Muted: a.Muted}, nil
}

func (m macBackend) readLevel(ctx context.Context) (Level, error) {
	return m.runVolumeScript(ctx, volumeRequest{})
}

func (m macBackend) setPercent(ctx context.Context, percent int) error {
	_, err := m.runVolumeScript(ctx, volumeRequest{Percent: &percent})
	return err
}

func (m macBackend) setMuted(ctx context.Context, on bool) error {
	_, err := m.runVolumeScript(ctx, volumeRequest{Mute: &on})
	return err
}
