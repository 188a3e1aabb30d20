package filer

import (
	"context"

	"hob/platform/osrun"
)

// reveal uses open(1), which needs no permission, unlike Apple events to Finder.
func (f *Filer) reveal(ctx context.Context, path string) error {
	_, err := osrun.Programs{Getenv: f.opt.Getenv}.Run(ctx, nil, "/usr/bin/open", "-R", path)
	return err
}
