package screen

import (
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/desktoptest"
)

func TestCapture_Wayland(t *testing.T) {
	if _, err := exec.LookPath("grim"); err != nil {
		t.Skip("grim is not installed")
	}
	s := desktoptest.NewWayland(t)
	s.Run(t, "swaybg", "-c", "#10a0f0")
	c := New(Options{Getenv: s.Getenv})
	want := color.RGBA{0x10, 0xa0, 0xf0, 0xff}
	var img image.Image
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var err error
		if img, err = c.Capture(t.Context(), image.Rectangle{}); err != nil || img.Bounds().Dx() != 800 || img.Bounds().Dy() != 600 {
			t.Fatalf("Capture = %v %v", img, err)
		}
		if color.RGBAModel.Convert(img.At(400, 300)) == want {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the pixel is %v", img.At(400, 300))
		}
	}
	if img, err := c.Capture(t.Context(), image.Rect(10, 20, 40, 60)); err != nil || img.Bounds().Dx() != 30 || img.Bounds().Dy() != 40 || color.RGBAModel.Convert(img.At(5, 5)) != want {
		t.Errorf("a part: %v %v", img, err)
	}
	if img, err := c.Capture(t.Context(), image.Rect(5000, 0, 5010, 10)); err == nil {
		t.Errorf("Capture outside of the screen = %v", img.Bounds())
	}
}

// portalOf simulates a screenshot portal that answers with a code and a file.
type portalOf struct {
	conn *dbus.Conn
	mu   sync.Mutex
	code uint32
	uri  string
	mute bool
}

func (p *portalOf) Screenshot(m dbus.Message, _ string, options map[string]dbus.Variant) (dbus.ObjectPath, *dbus.Error) {
	sender := strings.ReplaceAll(strings.TrimPrefix(m.Headers[dbus.FieldSender].Value().(string), ":"), ".", "_")
	path := dbus.ObjectPath(portalPath + "/request/" + sender + "/" + options["handle_token"].Value().(string))
	if options["interactive"].Value() != false {
		return path, dbus.MakeFailedError(errors.New("it would ask each time"))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mute { // the first answer comes from another client
		_ = p.conn.Emit(path+"x", request+".Response", uint32(0), map[string]dbus.Variant{"uri": dbus.MakeVariant("file:///etc/passwd")})
		_ = p.conn.Emit(path, request+".Response", p.code, map[string]dbus.Variant{"uri": dbus.MakeVariant(p.uri)})
	}
	return path, nil
}

// setAnswer changes the answer of the portal.
func (p *portalOf) setAnswer(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func TestCapture_Portal(t *testing.T) {
	bus := desktoptest.NewBus(t)
	t.Setenv("PATH", t.TempDir()) // no grim
	dir := t.TempDir()
	picture := filepath.Join(dir, "a shot.png")
	paint := func() {
		img := image.NewRGBA(image.Rect(0, 0, 50, 40))
		img.SetRGBA(12, 13, color.RGBA{R: 1, A: 0xff})
		f, err := os.Create(picture)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := png.Encode(f, img); err != nil {
			t.Fatal(err)
		}
	}
	getenv := func(k string) string {
		if k == "WAYLAND_DISPLAY" {
			return "wayland-none"
		}
		return bus.Getenv(k)
	}
	c := New(Options{Getenv: getenv, Wait: 5 * time.Second})
	if _, err := c.Capture(t.Context(), image.Rectangle{}); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "xdg-desktop-portal") || !strings.Contains(err.Error(), "grim") {
		t.Errorf("Capture without grim and portal = %v", err)
	}
	p := &portalOf{conn: bus.Conn(t), uri: "file://" + strings.ReplaceAll(picture, " ", "%20")}
	if err := p.conn.Export(p, portalPath, "org.freedesktop.portal.Screenshot"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.conn.RequestName(portalName, 0); err != nil {
		t.Fatal(err)
	}
	paint()
	img, err := c.Capture(t.Context(), image.Rect(10, 10, 20, 500))
	if err != nil || img.Bounds() != image.Rect(0, 0, 10, 30) || img.At(2, 3) != (color.RGBA{R: 1, A: 0xff}) {
		t.Fatalf("Capture = %v %v", img, err)
	}
	if _, err := os.Stat(picture); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the portal's picture was not removed: %v", err)
	}
	paint()
	if _, err := c.Capture(t.Context(), image.Rect(100, 0, 110, 10)); !errors.Is(err, ErrEmpty) {
		t.Errorf("Capture outside of the screen = %v", err)
	}
	paint()
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(picture, old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Capture(t.Context(), image.Rectangle{}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(picture); err != nil {
		t.Errorf("an existing picture was removed: %v", err)
	}
	for code, want := range map[uint32]string{1: "you denied", 2: "permission-set screenshot"} {
		p.setAnswer(func() { p.code = code })
		if _, err := c.Capture(t.Context(), image.Rectangle{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: Capture = %v", code, err)
		}
	}
	p.setAnswer(func() { p.code = 0 })
	for _, uri := range []string{"http://x/y.png", "file://other/x.png", "relative.png", "file:///etc/hostname", "file:///nowhere.png"} {
		p.setAnswer(func() { p.uri = uri })
		if img, err := c.Capture(t.Context(), image.Rectangle{}); err == nil {
			t.Errorf("%s: %v", uri, img.Bounds())
		}
	}
	p.setAnswer(func() { p.mute = true })
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.Capture(short, image.Rectangle{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silent portal: %v", err)
	}
}
