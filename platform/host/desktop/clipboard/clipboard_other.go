//go:build !linux && !darwin && !windows

package clipboard

import (
	"context"
	"errors"
)

func newBackend(Options) backend { return missingClipboard{} }

type missingClipboard struct{}

func (missingClipboard) close() {}
func (missingClipboard) readClipboard(context.Context) (Content, error) {
	return Content{}, errors.ErrUnsupported
}
func (missingClipboard) writeText(context.Context, string) error { return errors.ErrUnsupported }
