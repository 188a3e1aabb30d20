//go:build !linux && !windows && !darwin

package screen

import (
	"context"
	"errors"
	"image"
)

// seen states whether a black picture is an error: on these systems it only means that the screen is black.
const seen = false

func (c *Capturer) captureScreen(context.Context, image.Rectangle) (image.Image, error) {
	return nil, errors.ErrUnsupported
}
