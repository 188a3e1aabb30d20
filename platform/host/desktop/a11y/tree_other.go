//go:build !linux && !darwin && !windows

package a11y

import (
	"context"
	"errors"
	"time"
)

const wait = 8 * time.Second

func (r *Reader) read(context.Context, string) ([]Node, bool, error) {
	return nil, false, errors.ErrUnsupported
}

func (r *Reader) do(context.Context, Node) error { return errors.ErrUnsupported }

func (r *Reader) ready(context.Context) error              { return errors.ErrUnsupported }
func (r *Reader) fill(context.Context, Node, string) error { return errors.ErrUnsupported }
