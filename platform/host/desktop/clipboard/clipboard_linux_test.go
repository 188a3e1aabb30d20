package clipboard

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"hob/platform/host/desktop/desktoptest"
	"hob/platform/host/desktop/session"
)

// patience is the time limit of one access. It allows for a busy machine, because the X server and
// the programs transfer a long text in many small pieces.
const patience = time.Minute

// openClipboard returns the clipboard of a private display. With library, this process's environment
// names the display, as atotto/clipboard requires.
func openClipboard(t *testing.T, library bool) (*Clipboard, func(key string) string) {
	t.Helper()
	display := desktoptest.Display(t)
	getenv := func(key string) string {
		switch key {
		case "DISPLAY":
			return display
		case "HOME":
			return "/nowhere"
		}
		return ""
	}
	if library {
		if _, err := exec.LookPath("xclip"); err != nil {
			t.Skip("xclip is not installed")
		}
		t.Setenv("DISPLAY", display)
		t.Setenv("WAYLAND_DISPLAY", "")
	} else {
		t.Setenv("DISPLAY", "")
	}
	b := New(Options{Getenv: getenv, Wait: patience})
	t.Cleanup(b.Close)
	return b, getenv
}

// runXclip copies or pastes text with the program xclip.
func runXclip(t *testing.T, getenv func(string) string, in string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("xclip")
	if err != nil {
		t.Skip("xclip is not installed")
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"-selection", "clipboard"}, args...)...)
	cmd.Env = []string{"DISPLAY=" + getenv("DISPLAY")}
	if in != "" {
		cmd.Stdin = strings.NewReader(in)
		if err := cmd.Run(); err != nil { // xclip leaves a process behind that provides the text
			t.Fatal(err)
		}
		return ""
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// readUntil reads the clipboard until its content fits, because xclip exits before its text is
// available.
func readUntil(t *testing.T, b *Clipboard, fits func(Content) bool) {
	t.Helper()
	for end := time.Now().Add(2 * patience); ; time.Sleep(2 * time.Millisecond) {
		c, err := b.Read(t.Context())
		if err == nil && fits(c) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("read %.60q cut %v hidden %v formats %q: %v", c.Text, c.Cut, c.Hidden, c.Formats, err)
		}
	}
}

const strange = "Grüße, 世界 👋\n\t\"quoted\" `x` $(y) \\ end"

func TestX11_ReadsAndWrites(t *testing.T) {
	for name, library := range map[string]bool{"through the library": true, "by itself": false} {
		t.Run(name, func(t *testing.T) {
			b, env := openClipboard(t, library)
			if c, err := b.Read(t.Context()); err != nil || c.Text != "" || c.Formats != nil {
				t.Fatalf("an empty clipboard: %+v, %v", c, err)
			}
			runXclip(t, env, strange)
			readUntil(t, b, func(c Content) bool { return c.Text == strange && !c.Hidden })
			for _, text := range []string{"first", strange, strings.Repeat("long ", 30_000)} {
				if err := b.Write(t.Context(), text); err != nil {
					t.Fatal(err)
				}
				if got := runXclip(t, env, "", "-out"); got != text {
					t.Errorf("another program gets %.50q (%d bytes)", got, len(got))
				}
			}
			if library {
				long := strings.Repeat("longer ", 60_000)
				if err := b.Write(t.Context(), long); err != nil || runXclip(t, env, "", "-out") != long {
					t.Errorf("a text longer than one message: %v", err)
				}
			}
			runXclip(t, env, "newer")
			readUntil(t, b, func(c Content) bool { return c.Text == "newer" })
		})
	}
}

// Copying starts no helper program that provides the text: it would keep running as a child of this
// process, and clicks in the windows of such a program do not count as the user's.
func TestX11_CopyStartsNoProgram(t *testing.T) {
	b, env := openClipboard(t, true)
	if err := b.Write(t.Context(), "mine"); err != nil {
		t.Fatal(err)
	}
	b.Close()
	other := New(Options{Getenv: env, Wait: patience})
	readUntil(t, other, func(c Content) bool { return c.Text == "" })
}

// A long text from another program arrives in pieces.
func TestX11_LongTextOfAnotherProgram(t *testing.T) {
	b, env := openClipboard(t, false)
	long := strings.Repeat("0123456789", 70_000)
	runXclip(t, env, long)
	readUntil(t, b, func(c Content) bool { return c.Text == long && !c.Cut })
	runXclip(t, env, strings.Repeat("ü", MaxText))
	readUntil(t, b, func(c Content) bool { return len(c.Text) <= MaxText && c.Cut })
}

func TestX11_ContentThatIsNotText(t *testing.T) {
	b, env := openClipboard(t, false)
	runXclip(t, env, "\x89PNG", "-target", "image/png")
	readUntil(t, b, func(c Content) bool { return c.Text == "" && len(c.Formats) == 1 && c.Formats[0] == "image/png" })
}

// A password manager offers a mark in addition to the text. xclip offers only one format, so in
// this test the clipboard contains only the mark.
func TestX11_DetectsPasswords(t *testing.T) {
	b, env := openClipboard(t, false)
	runXclip(t, env, "secret", "-target", passwordHint)
	readUntil(t, b, func(c Content) bool { return c.Hidden })
}

// On a real compositor, Read returns text that another program copied, and another program can
// paste text from Write.
func TestWayland(t *testing.T) {
	for _, p := range []string{"wl-copy", "wl-paste"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip(p + " is not installed")
		}
	}
	s := desktoptest.NewWayland(t)
	b := New(Options{Getenv: s.Getenv, Wait: patience})
	t.Cleanup(b.Close)
	if c, err := b.Read(t.Context()); err != nil || c.Text != "" {
		t.Errorf("Read of an empty clipboard = %+v %v", c, err)
	}
	for _, text := range []string{"-n --help; $(x)", "é ü 漢 €\nsecond line\n"} {
		if err := b.Write(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		if c, err := b.Read(t.Context()); err != nil || c.Text != text || c.Hidden {
			t.Errorf("%q: Read = %+v %v", text, c, err)
		}
	}
	s.Run(t, "wl-copy", "--foreground", "--type", passwordHint, "secret")
	for end := time.Now().Add(2 * patience); ; time.Sleep(10 * time.Millisecond) {
		c, err := b.Read(t.Context())
		if err == nil && c.Hidden && c.Text == "" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the password was not detected: %+v %v", c, err)
		}
	}
}

func TestNew_WithoutADesktop(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"no display":           {},
		"a remote display":     {"DISPLAY": "other:10.0"},
		"a display that ended": {"DISPLAY": ":64999"},
	} {
		t.Run(name, func(t *testing.T) {
			b := New(Options{Getenv: func(k string) string { return env[k] }})
			if _, err := b.Read(t.Context()); !errors.Is(err, ErrNone) {
				t.Errorf("read: %v", err)
			}
			if err := b.Write(t.Context(), "x"); !errors.Is(err, ErrNone) {
				t.Errorf("write: %v", err)
			}
		})
	}
}

// If the display starts after the service, only the service manager knows it.
func TestX11_DisplayOfALaterSession(t *testing.T) {
	_, env := openClipboard(t, false)
	bus := desktoptest.NewBus(t)
	desktoptest.NewManager(t, bus, "DISPLAY="+env("DISPLAY"), "LANG=C")
	b := New(Options{Getenv: bus.Getenv})
	t.Cleanup(b.Close)
	if err := b.Write(t.Context(), "late"); err != nil {
		t.Fatal(err)
	}
	if got := runXclip(t, env, "", "-out"); got != "late" {
		t.Errorf("pasted %q", got)
	}
}

// A program that owns the clipboard and does not respond must not block Hob.
func TestX11_OwnerThatDoesNotRespond(t *testing.T) {
	b, env := openClipboard(t, false)
	b.opt.Wait = 300 * time.Millisecond
	program, err := exec.LookPath("xclip")
	if err != nil {
		t.Skip("xclip is not installed")
	}
	cmd := exec.CommandContext(t.Context(), program, "-selection", "clipboard", "-quiet")
	cmd.Env, cmd.Stdin = []string{"DISPLAY=" + env("DISPLAY")}, strings.NewReader("held")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	readUntil(t, b, func(c Content) bool { return c.Text == "held" })
	stopProcess(t, cmd.Process)
	if _, err := b.Read(t.Context()); !errors.Is(err, ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
	if errors.Is(err, session.ErrNone) {
		t.Error("the error says that there is no desktop")
	}
}

func TestWrite_RejectsInvalidText(t *testing.T) {
	b, _ := openClipboard(t, false)
	for name, text := range map[string]string{"a NUL": "a\x00b", "broken UTF-8": "a\xff", "too long": strings.Repeat("a", MaxText+1)} {
		if err := b.Write(t.Context(), text); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
}

func stopProcess(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Signal(stopSignal); err != nil {
		t.Fatal(err)
	}
}
