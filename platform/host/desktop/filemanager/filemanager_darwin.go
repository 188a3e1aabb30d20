package filemanager

import (
	"context"

	"hob/platform/host/osrun"
)

// revealPath uses open(1), which needs no permission, unlike Apple events to Finder.
func (f *Manager) revealPath(ctx context.Context, path string) error {
	_, err := osrun.Programs{Getenv: f.opt.Getenv}.Run(ctx, nil, "/usr/bin/open", "-R", path)
	return err
}
