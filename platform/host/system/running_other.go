//go:build !linux

package system

import "errors"

func isTreeRunning(Tree) (bool, error) { return true, errors.ErrUnsupported }
