//go:build !linux && !darwin && !windows

package sound

import "hob/platform/host/osrun"

// Other Unix systems may have the same programs.
func newBackend(o Options) backend { return newFirst(osrun.Programs{Getenv: o.Getenv}) }
