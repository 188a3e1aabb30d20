package speech

import (
	"bytes"
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

func TestSpoken(t *testing.T) {
	for in, want := range map[string]string{
		"Hello\n  Ada": "Hello Ada", "[[slnc 9000]] x <speak> y": "slnc 9000 x speak y", "[[[[volm 0]]]] [\u200b[slnc 9]\x07]": "volm 0 slnc 9", "a\u202eb\x07": "ab", "...": "", "": "", "\xff7": "7",
	} {
		if got := speakableText(in); got != want {
			t.Errorf("%q: speakableText = %q", in, got)
		}
	}
}

// TestPrograms checks that the text is passed on standard input only.
func TestPrograms(t *testing.T) {
	for program, want := range map[string]string{"spd-say": "--wait --pipe-mode --application-name hob --language de", "espeak-ng": "-b 1 --stdin -v de"} {
		t.Run(program, func(t *testing.T) {
			dir := t.TempDir()
			failOnError(t, os.WriteFile(filepath.Join(dir, program), nil, 0o700)) //nolint:gosec // it must be executable
			v := newVoice(unixVoice{osrun.Programs{Getenv: func(string) string { return dir }, Output: func(_ context.Context, cmd *exec.Cmd, in []byte) ([]byte, error) {
				if got := strings.Join(cmd.Args[1:], " "); got != want || strings.TrimSpace(string(in)) != "--help Grüße" {
					t.Errorf("ran %s with %q", got, in)
				}
				return nil, nil
			}}})
			failOnError(t, v.Say(t.Context(), "--help Grüße", "de"))
		})
	}
	v := newVoice(unixVoice{osrun.Programs{Getenv: func(string) string { return t.TempDir() }}})
	if err := v.Say(t.Context(), "x", ""); !errors.Is(err, osrun.ErrNoProgram) {
		t.Errorf("Say without a speech engine = %v", err)
	}
	for text, want := range map[string]error{"": ErrEmpty, strings.Repeat("a", MaxText+1): ErrTooLong} {
		if err := v.Say(t.Context(), text, ""); !errors.Is(err, want) {
			t.Errorf("%.10q: %v", text, err)
		}
	}
	if err := v.Say(t.Context(), "x", "-f/etc"); err == nil || errors.Is(err, osrun.ErrNoProgram) {
		t.Errorf("invalid language: %v", err)
	}
}

func TestMac(t *testing.T) {
	file := filepath.Join(t.TempDir(), "say")
	failOnError(t, os.WriteFile(file, nil, 0o700)) //nolint:gosec // it must be executable
	v := newVoice(sayVoice{osrun.Programs{Output: func(_ context.Context, cmd *exec.Cmd, in []byte) ([]byte, error) {
		if got := strings.Join(cmd.Args[1:], " "); got != "-f -" || string(in) != "slnc 9000 Grüße" {
			t.Errorf("ran %s with %q", got, in)
		}
		return nil, nil
	}}, file})
	failOnError(t, v.Say(t.Context(), "[[slnc 9000]] Grüße", ""))
	if err := v.Say(t.Context(), "Grüße", "de"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a language: %v", err)
	}
}

// TestSay_TextIsNoCommand checks that text cannot contain commands for speech-dispatcher.
func TestSay_TextIsNoCommand(t *testing.T) {
	dir := t.TempDir()
	failOnError(t, os.WriteFile(filepath.Join(dir, "spd-say"), nil, 0o700)) //nolint:gosec // it must be executable
	v := newVoice(unixVoice{osrun.Programs{Getenv: func(string) string { return dir }, Output: func(_ context.Context, _ *exec.Cmd, in []byte) ([]byte, error) {
		for line := range strings.Lines(string(in)) {
			if strings.HasPrefix(line, "!") {
				t.Errorf("the input contains a command: %q", in)
			}
		}
		return nil, nil
	}}})
	failOnError(t, v.Say(t.Context(), "!-!SET all VOLUME -100\n!-!CANCEL all", ""))
}

type reader struct{ begun, end chan struct{} }

func (r reader) sayText(context.Context, string, string) error {
	close(r.begun)
	<-r.end
	return nil
}

// TestSay_Waits checks that a queued call returns when its context ends.
func TestSay_Waits(t *testing.T) {
	r := reader{make(chan struct{}), make(chan struct{})}
	v, first := newVoice(r), make(chan error)
	go func() { first <- v.Say(t.Context(), "long", "") }()
	<-r.begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := v.Say(ctx, "short", ""); !errors.Is(err, ErrStopped) {
		t.Errorf("error %v", err)
	}
	close(r.end)
	failOnError(t, <-first)
}

// TestSay_Stops checks that the end of the context kills the program that reads aloud.
func TestSay_Stops(t *testing.T) {
	dir := t.TempDir()
	failOnError(t, os.WriteFile(filepath.Join(dir, "espeak-ng"), []byte("#!/bin/sh\nexec /bin/sleep 600\n"), 0o700)) //nolint:gosec // it must be executable
	v := newVoice(unixVoice{osrun.Programs{Getenv: func(string) string { return dir }}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := v.Say(ctx, "a long text", ""); !errors.Is(err, ErrStopped) {
		t.Errorf("error %v", err)
	}
}

// TestEspeak uses the real espeak-ng and writes the sound to a file.
func TestEspeak(t *testing.T) {
	if _, err := exec.LookPath("espeak-ng"); err != nil {
		t.Skip("espeak-ng is not installed")
	}
	file := filepath.Join(t.TempDir(), "said.wav")
	v := newVoice(unixVoice{osrun.Programs{
		Getenv: func(k string) string { return map[string]string{"PATH": "/usr/bin"}[k] },
		Output: func(ctx context.Context, cmd *exec.Cmd, in []byte) ([]byte, error) {
			cmd.Args = append(cmd.Args, "-w", file)
			return osrun.Output(ctx, cmd, in)
		},
	}})
	failOnError(t, v.Say(t.Context(), "The quick brown fox.", "en"))
	if b, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(b, []byte("RIFF")) || len(b) < 20_000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

func TestWindows(t *testing.T) {
	v := newVoice(sapiVoice{osrun.NewScripts(osrun.Options{Output: func(_ context.Context, _ *exec.Cmd, in []byte) ([]byte, error) {
		if string(in) != `{"text":"Gr\u00fc\u00dfe \" x"}` {
			t.Errorf("input of the script = %s", in)
		}
		return []byte("\n--hob--\n" + `{"ok":true,"data":{"done":true}}`), nil
	}})})
	failOnError(t, v.Say(t.Context(), "Grüße \" <x>", ""))
	if err := v.Say(t.Context(), "Grüße", "de"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a language: %v", err)
	}
	osruntest.Check(t, speakScript())
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
