package screen

import (
	"context"
	"errors"
	"fmt"
	"image"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"

	"hob/platform/host/desktop/session"
	"hob/platform/host/desktop/window"
)

// seen states whether a black picture is an error: on Linux it only means that the screen is black.
const seen = false

// strip is the number of rows per request. It is limited because answers of an X server are limited
// in size.
const strip = 256

func (c *Capturer) captureScreen(ctx context.Context, part image.Rectangle) (image.Image, error) {
	e := session.DetectSession(ctx, c.opt.Getenv)
	if e.Wayland != "" {
		return onWayland(ctx, e, part)
	}
	x, err := window.Display(ctx, e)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	s := x.Info.DefaultScreen(x.X)
	all := image.Rect(0, 0, int(s.WidthInPixels), int(s.HeightInPixels))
	if part.Empty() {
		part = all
	}
	if part = part.Intersect(all); part.Empty() {
		return nil, ErrEmpty
	}
	if s.RootDepth != 24 && s.RootDepth != 32 {
		return nil, fmt.Errorf("screen depth of %d bits is not supported: %w", s.RootDepth, errors.ErrUnsupported)
	}
	out := image.NewRGBA(image.Rect(0, 0, part.Dx(), part.Dy()))
	for y := 0; y < part.Dy(); y += strip {
		n := min(strip, part.Dy()-y)
		r, err := xproto.GetImage(x.X, xproto.ImageFormatZPixmap, xproto.Drawable(x.Root), int16(part.Min.X), int16(part.Min.Y+y), uint16(part.Dx()), uint16(n), ^uint32(0)).Reply() //nolint:gosec // within the screen
		if err != nil {
			return nil, err
		}
		if len(r.Data) < 4*part.Dx()*n {
			return nil, errors.New("the X server returned too few pixels")
		}
		for i := range part.Dx() * n {
			v := xgb.Get32(r.Data[4*i:])
			o := out.PixOffset(i%part.Dx(), y+i/part.Dx())
			out.Pix[o], out.Pix[o+1], out.Pix[o+2], out.Pix[o+3] = byte(v>>16), byte(v>>8), byte(v), 0xff //nolint:gosec // keeps the low byte
		}
	}
	return out, nil
}
