//go:build !linux

package system

import (
	"errors"
	"fmt"
)

func clientBelow(string, []int) (bool, error) {
	return false, fmt.Errorf("find the process behind a connection: %w", errors.ErrUnsupported)
}
