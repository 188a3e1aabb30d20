//go:build !linux && !darwin && !windows

package apps

import (
	"context"
	"errors"
)

func (f *Finder) list(context.Context) ([]App, error) { return nil, errors.ErrUnsupported }

func (f *Finder) start(context.Context, App, string) error { return errors.ErrUnsupported }
