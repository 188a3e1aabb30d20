//go:build !linux

package doctor

import "errors"

// kernelSynced reports that this system has no local second opinion about its clock.
func kernelSynced() (synced bool, by string, err error) { return false, "", errors.ErrUnsupported }
