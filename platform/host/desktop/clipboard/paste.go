package clipboard

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"

	"hob/platform/host/osrun"
)

//go:embed paste.js
var pasteText string

// pasteScript returns the script that reads the pasteboard of macOS.
func pasteScript() osrun.Script { return osrun.NewScript("desktop/clipboard/paste.js", pasteText) }

// pasteAnswer is the answer of the script.
type pasteAnswer struct {
	Text   *string  `json:"text"`
	Types  []string `json:"types"`
	Hidden bool     `json:"hidden"`
}

// readPasteboard reads the pasteboard.
func readPasteboard(ctx context.Context, r osrun.Runner, o Options) (Content, error) {
	var a pasteAnswer
	if err := r.Run(ctx, osrun.Call{Script: pasteScript(), In: struct{}{}, Wait: o.Wait}, &a); err != nil {
		if e, ok := errors.AsType[*osrun.Error](err); ok && e.Kind == osrun.Timeout {
			return Content{}, fmt.Errorf("%w: %w", ErrBusy, err)
		}
		return Content{}, err
	}
	if a.Text == nil {
		return Content{Hidden: a.Hidden, Formats: a.Types[:min(8, len(a.Types))]}, nil
	}
	return Content{Text: *a.Text, Hidden: a.Hidden}, nil
}

// markBusy marks the error of a program that was killed before it answered.
func markBusy(ctx context.Context, err error) error { //nolint:unused // on macOS it is
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}
