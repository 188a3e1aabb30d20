// Package screen takes screenshots of the whole screen or a part of it. It stores nothing.
package screen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"time"
)

// Limits of a picture. Models accept pictures within these limits and do not benefit from larger
// pictures.
const (
	MaxBytes = 3_500_000
	MaxSide  = 2000 // pixels
)

// ErrBlack means that the system returned a black picture.
var ErrBlack = errors.New("screenshot is black: the screen is locked or off, or the system does not let Hob see it")

// ErrEmpty means that the requested part is outside the screen.
var ErrEmpty = errors.New("requested part is outside the screen")

// Options of New; the zero value is useful.
type Options struct {
	Getenv func(string) string
	Wait   time.Duration // default 10 s
}

// Capturer takes screenshots.
type Capturer struct{ opt Options }

// New returns a Capturer. It takes no picture yet.
func New(o Options) *Capturer {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Wait <= 0 {
		o.Wait = 10 * time.Second
	}
	return &Capturer{o}
}

// Capture returns a screenshot of a part of the screen. An empty rectangle selects the whole
// screen.
func (c *Capturer) Capture(ctx context.Context, part image.Rectangle) (image.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opt.Wait)
	defer cancel()
	img, err := c.captureScreen(ctx, part)
	if err == nil && seen && isBlack(img) {
		err = ErrBlack
	}
	if err != nil {
		return nil, fmt.Errorf("take a screenshot: %w", err)
	}
	return img, nil
}

// isBlack reports whether a picture is completely black. Some systems return a black picture
// instead of an error.
func isBlack(img image.Image) bool {
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if r, g, bl, _ := img.At(x, y).RGBA(); r|g|bl > 0 {
				return false
			}
		}
	}
	return true
}

// maxPoints limits the number of pixels of a picture from another program.
const maxPoints = 100_000_000

// decodeImageFile decodes a picture from another program.
func decodeImageFile(file string) (image.Image, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, _, err := image.DecodeConfig(f)
	if err != nil {
		return nil, fmt.Errorf("not a picture: %w", err)
	}
	if size.Width <= 0 || size.Height <= 0 || size.Width > maxPoints/size.Height {
		return nil, errors.New("picture is too large")
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	img, _, err := image.Decode(f)
	return img, err
}

// Encode encodes a picture as PNG, or as JPEG if the PNG is too large. It halves the picture until
// both limits are met.
func Encode(img image.Image) (data []byte, ext string, err error) {
	for img.Bounds().Dx() > MaxSide || img.Bounds().Dy() > MaxSide {
		img = halveImage(img)
	}
	for range 6 {
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			return nil, "", err
		}
		if b.Len() <= MaxBytes {
			return b.Bytes(), ".png", nil
		}
		b.Reset()
		if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 85}); err != nil {
			return nil, "", err
		}
		if b.Len() <= MaxBytes {
			return b.Bytes(), ".jpg", nil
		}
		img = halveImage(img)
	}
	return nil, "", errors.New("picture is too large")
}

// halveImage returns a picture of half the size. Each pixel is the mean of four pixels.
func halveImage(src image.Image) image.Image {
	b := src.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, max(1, b.Dx()/2), max(1, b.Dy()/2)))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			var sum [4]uint32
			for _, d := range [4]image.Point{{X: 0, Y: 0}, {X: 1, Y: 0}, {X: 0, Y: 1}, {X: 1, Y: 1}} {
				r, g, bl, a := src.At(min(b.Min.X+2*x+d.X, b.Max.X-1), min(b.Min.Y+2*y+d.Y, b.Max.Y-1)).RGBA()
				sum[0], sum[1], sum[2], sum[3] = sum[0]+r, sum[1]+g, sum[2]+bl, sum[3]+a
			}
			i := out.PixOffset(x, y)
			for n, v := range sum {
				out.Pix[i+n] = uint8(v / 4 >> 8) //nolint:gosec // the mean of 16 bits
			}
		}
	}
	return out
}
