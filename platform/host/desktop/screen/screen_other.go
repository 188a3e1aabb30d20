//go:build !linux && !windows && !darwin

package screen

import (
	"context"
	"errors"
	"image"
)

// seen returns false: a black picture shows a black screen.
const seen = false

func (c *Capturer) captureScreen(context.Context, image.Rectangle) (image.Image, error) {
	return nil, errors.ErrUnsupported
}
