package filer

import (
	"context"

	"hob/platform/osrun"
)

// reveal needs nobody's leave, as Apple events to Finder would.
func (f *Filer) reveal(ctx context.Context, path string) error {
	_, err := osrun.Programs{Getenv: f.opt.Getenv}.Run(ctx, nil, "/usr/bin/open", "-R", path)
	return err
}
