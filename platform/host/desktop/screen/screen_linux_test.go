package screen

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hob/platform/host/desktop/desktoptest"
	"hob/platform/host/desktop/session"
)

func TestCapture_X11(t *testing.T) {
	display := desktoptest.Display(t)
	getenv := func(k string) string { return map[string]string{"DISPLAY": display}[k] }
	c := New(Options{Getenv: getenv})
	paint := func(name string) {
		program, err := exec.LookPath("xsetroot")
		if err != nil {
			t.Skip("xsetroot is not installed")
		}
		cmd := exec.CommandContext(t.Context(), program, "-solid", name)
		cmd.Env = []string{"DISPLAY=" + display}
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
	}
	paint("#10a0f0")
	img, err := c.Capture(t.Context(), image.Rectangle{})
	if err != nil || img.Bounds().Dx() != 800 || img.Bounds().Dy() != 600 {
		t.Fatalf("Capture = %v %v", img, err)
	}
	for _, p := range []image.Point{{X: 0, Y: 0}, {X: 799, Y: 599}, {X: 400, Y: 257}} {
		if got := img.At(p.X, p.Y); got != (color.RGBA{0x10, 0xa0, 0xf0, 0xff}) {
			t.Errorf("%v is %v", p, got)
		}
	}
	data, ext, err := Encode(img)
	if err != nil || ext != ".png" {
		t.Fatal(ext, err)
	}
	if back, err := png.Decode(bytes.NewReader(data)); err != nil || back.Bounds().Dx() != 800 {
		t.Errorf("%v", err)
	}
	if img, err = c.Capture(t.Context(), image.Rect(790, 590, 900, 900)); err != nil || img.Bounds().Dx() != 10 || img.Bounds().Dy() != 10 {
		t.Errorf("a part: %v %v", img.Bounds(), err)
	}
	if _, err = c.Capture(t.Context(), image.Rect(2000, 0, 2100, 10)); !errors.Is(err, ErrEmpty) {
		t.Errorf("Capture outside of the screen = %v", err)
	}
	if _, err = New(Options{Getenv: func(string) string { return "" }}).Capture(t.Context(), image.Rectangle{}); !errors.Is(err, session.ErrNone) {
		t.Errorf("Capture without a display = %v", err)
	}
}

// TestBounds checks that a picture that does not compress well is scaled down until it is within
// the limits.
func TestBounds(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 3000, 1500))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
	}
	data, _, err := Encode(img)
	if err != nil || len(data) > MaxBytes {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	got, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || max(got.Width, got.Height) > MaxSide {
		t.Errorf("DecodeConfig = %+v %v", got, err)
	}
}

func TestIsBlack(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 5, 5))
	if !isBlack(img) {
		t.Error("a black picture was not detected")
	}
	img.SetRGBA(4, 4, color.RGBA{B: 1, A: 0xff})
	if isBlack(img) {
		t.Error("a picture with one colored pixel is reported as black")
	}
	file := filepath.Join(t.TempDir(), "x.png")
	for name, data := range map[string][]byte{"no picture": []byte("<svg>"), "a bomb": encodeHugePicture(t)} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if img, err := decodeImageFile(file); err == nil {
			t.Errorf("%s: %v", name, img.Bounds())
		}
	}
}

// encodeHugePicture returns a small picture that claims a size of 60,000 x 60,000 pixels.
func encodeHugePicture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	raw := b.Bytes()
	binary.BigEndian.PutUint32(raw[16:], 60_000)
	binary.BigEndian.PutUint32(raw[20:], 60_000)
	binary.BigEndian.PutUint32(raw[29:], crc32.ChecksumIEEE(raw[12:29]))
	return raw
}
