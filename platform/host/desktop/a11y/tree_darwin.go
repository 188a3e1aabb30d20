package a11y

import (
	"context"
	"errors"
	"time"
)

const wait = 20 * time.Second

func (r *Reader) readElements(ctx context.Context, words string) ([]Node, bool, error) {
	return macRead(ctx, r.opt.Scripts, words)
}

func (r *Reader) performAction(ctx context.Context, n Node) error {
	return macAct(ctx, r.opt.Scripts, n, nil)
}

func (r *Reader) setText(ctx context.Context, n Node, text string) error {
	return macAct(ctx, r.opt.Scripts, n, &text)
}

// checkReady returns ErrUnsupported, because only a slow read shows whether access works.
func (r *Reader) checkReady(context.Context) error { return errors.ErrUnsupported }
