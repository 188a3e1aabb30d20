//go:build !linux && !windows && !darwin

package screen

import (
	"context"
	"errors"
	"image"
)

// seen is false because a black picture means that the screen is black.
const seen = false

func (c *Capturer) captureScreen(context.Context, image.Rectangle) (image.Image, error) {
	return nil, errors.ErrUnsupported
}
