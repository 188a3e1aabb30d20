//go:build !linux && !darwin && !windows

package a11y

import (
	"context"
	"errors"
	"time"
)

const wait = 8 * time.Second

func (r *Reader) readElements(context.Context, string) ([]Node, bool, error) {
	return nil, false, errors.ErrUnsupported
}

func (r *Reader) performAction(context.Context, Node) error { return errors.ErrUnsupported }

func (r *Reader) checkReady(context.Context) error            { return errors.ErrUnsupported }
func (r *Reader) setText(context.Context, Node, string) error { return errors.ErrUnsupported }
