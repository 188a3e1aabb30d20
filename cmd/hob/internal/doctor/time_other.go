//go:build !linux

package doctor

import "errors"

// kernelSynced reports that this system has no second local source for the time.
func kernelSynced() (synced bool, by string, err error) { return false, "", errors.ErrUnsupported }
