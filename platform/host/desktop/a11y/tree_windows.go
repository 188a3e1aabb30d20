package a11y

import (
	"context"
	"errors"
	"time"

	"hob/platform/host/desktop/window"
)

const wait = 25 * time.Second // a cold start of PowerShell takes seconds

func (r *Reader) readElements(ctx context.Context, words string) ([]Node, bool, error) {
	list, err := window.New(window.Options{Getenv: r.opt.Getenv}).List(ctx)
	if err != nil {
		return nil, false, err
	}
	return uiaRead(ctx, r.opt.Scripts, matchWindows(list, words))
}

func (r *Reader) performAction(ctx context.Context, n Node) error {
	return uiaAct(ctx, r.opt.Scripts, n, nil)
}

func (r *Reader) setText(ctx context.Context, n Node, text string) error {
	return uiaAct(ctx, r.opt.Scripts, n, &text)
}

// checkReady returns ErrUnsupported, because only a slow read shows whether access works.
func (r *Reader) checkReady(context.Context) error { return errors.ErrUnsupported }
