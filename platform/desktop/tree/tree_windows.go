package tree

import (
	"context"
	"errors"
	"time"

	"hob/platform/desktop/window"
)

const wait = 25 * time.Second // a cold start of PowerShell takes seconds

func (r *Reader) read(ctx context.Context, words string) ([]Node, bool, error) {
	list, err := window.New(window.Options{Getenv: r.opt.Getenv}).List(ctx)
	if err != nil {
		return nil, false, err
	}
	return uiaRead(ctx, r.opt.Scripts, meant(list, words))
}

func (r *Reader) do(ctx context.Context, n Node) error { return uiaAct(ctx, r.opt.Scripts, n, nil) }

func (r *Reader) fill(ctx context.Context, n Node, text string) error {
	return uiaAct(ctx, r.opt.Scripts, n, &text)
}

// ready returns ErrUnsupported: only a slow read shows whether access works.
func (r *Reader) ready(context.Context) error { return errors.ErrUnsupported }
