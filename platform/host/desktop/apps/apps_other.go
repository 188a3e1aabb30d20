//go:build !linux && !darwin && !windows

package apps

import (
	"context"
	"errors"
)

func (f *Finder) listApps(context.Context) ([]App, error) { return nil, errors.ErrUnsupported }

func (f *Finder) launchApp(context.Context, App, string) error { return errors.ErrUnsupported }
