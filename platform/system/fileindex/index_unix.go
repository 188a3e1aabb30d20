//go:build !darwin && !windows

package fileindex

import "hob/platform/osrun"

func newBackend(o Options) backend { return unix{osrun.Programs{Getenv: o.Getenv}} }
