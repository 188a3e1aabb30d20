//go:build !darwin && !windows

package speech

import "hob/platform/host/osrun"

func newBackend(o Options) backend { return unixVoice{osrun.Programs{Getenv: o.Getenv}} }
