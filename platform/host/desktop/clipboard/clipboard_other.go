//go:build !linux && !darwin && !windows

package clipboard

import (
	"context"
	"errors"
)

func newBackend(Options) backend { return desk{} }

type desk struct{}

func (desk) close()                                {}
func (desk) read(context.Context) (Content, error) { return Content{}, errors.ErrUnsupported }
func (desk) write(context.Context, string) error   { return errors.ErrUnsupported }
