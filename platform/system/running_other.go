//go:build !linux

package system

import "errors"

func running(Tree) (bool, error) { return true, errors.ErrUnsupported }
