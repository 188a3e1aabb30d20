package screen

import (
	"context"
	"image"

	robot "github.com/go-vgo/robotgo/win"
	"golang.org/x/sys/windows"
)

// seen states whether a black picture is an error: Windows returns one if access is denied.
const seen = true

func (c *Capturer) captureScreen(_ context.Context, part image.Rectangle) (image.Image, error) {
	if part.Empty() {
		return robot.CaptureImg()
	}
	if part = part.Intersect(virtualScreenBounds()); part.Empty() {
		return nil, ErrEmpty
	}
	return robot.CaptureImg(part.Min.X, part.Min.Y, part.Dx(), part.Dy())
}

// virtualScreenBounds returns the bounds of all screens together (GetSystemMetrics, SM_XVIRTUALSCREEN
// and the following values).
func virtualScreenBounds() image.Rectangle {
	metrics := windows.NewLazySystemDLL("user32.dll").NewProc("GetSystemMetrics")
	get := func(which uintptr) int {
		v, _, _ := metrics.Call(which)
		return int(int32(v)) //nolint:gosec // a C int
	}
	x, y := get(76), get(77)
	return image.Rect(x, y, x+get(78), y+get(79))
}
