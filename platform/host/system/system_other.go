//go:build !linux

package system

import (
	"context"
	"errors"
)

// ReleaseProgramPages does nothing, because other systems release mapped pages themselves when
// memory is low.
func ReleaseProgramPages() {}

func isTreeRunning(Tree) (bool, error) { return true, errors.ErrUnsupported }

// keychainThere returns nil, because the keychain is part of the system.
func keychainThere(func(string) string) error { return nil }

// keychainState returns false, because the state is known only after a secret was read.
func keychainState(context.Context, func(string) string) (known bool, err error) {
	return false, nil
}
