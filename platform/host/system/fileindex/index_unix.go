//go:build !darwin && !windows

package fileindex

import "hob/platform/host/osrun"

func newBackend(o Options) backend { return unixIndex{osrun.Programs{Getenv: o.Getenv}} }
