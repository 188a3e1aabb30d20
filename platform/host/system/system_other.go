//go:build !linux

package system

import (
	"context"
	"errors"
)

// ReleaseProgramPages does nothing: other systems release mapped pages themselves when memory is short.
func ReleaseProgramPages() {}

func isTreeRunning(Tree) (bool, error) { return true, errors.ErrUnsupported }

// keychainThere returns nil: the keychain is part of the system.
func keychainThere(func(string) string) error { return nil }

// keychainState returns false: the state is known only after reading a secret.
func keychainState(context.Context, func(string) string) (known bool, err error) {
	return false, nil
}
