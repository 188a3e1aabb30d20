//go:build !linux

package command

import "errors"

// becomeService fails, because these systems have no sandbox that a process applies to itself.
func becomeService(string) error {
	return errors.New("a program that confines itself is supported only on Linux")
}
