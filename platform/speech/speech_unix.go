//go:build !darwin && !windows

package speech

import "hob/platform/osrun"

func newBackend(o Options) backend { return unix{osrun.Programs{Getenv: o.Getenv}} }
