//go:build !linux && !darwin && !windows

package sound

import "hob/platform/osrun"

// Other Unixes have the same programs, where they are installed.
func newBackend(o Options) backend { return newFirst(osrun.Programs{Getenv: o.Getenv}) }
