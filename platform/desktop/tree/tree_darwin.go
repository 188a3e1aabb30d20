package tree

import (
	"context"
	"errors"
	"time"
)

const wait = 20 * time.Second

func (r *Reader) read(ctx context.Context, words string) ([]Node, bool, error) {
	return macRead(ctx, r.opt.Scripts, words)
}

func (r *Reader) do(ctx context.Context, n Node) error { return macAct(ctx, r.opt.Scripts, n, nil) }

func (r *Reader) fill(ctx context.Context, n Node, text string) error {
	return macAct(ctx, r.opt.Scripts, n, &text)
}

// ready returns ErrUnsupported: only a slow read shows whether access works.
func (r *Reader) ready(context.Context) error { return errors.ErrUnsupported }
